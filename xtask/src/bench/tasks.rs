//! The task service beside one of the same shape in Python: Flask, Jinja2, PyYAML and the Kubernetes client. Both
//! store into the same API server, which has no controllers, so that submissions are all that happens.

mod callbacks;
mod http;
mod python;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use self::http::Client;
use super::{
    Arguments,
    measures::{Samples, TASKS},
    report::Report,
    work::Work,
};
use crate::{
    processes::{Background, wait_until},
    servers::{Side, free_ports, subfolder},
};

const CLIENTS: usize = 8;
const PATIENCE: Duration = Duration::from_mins(1);
/// Submissions that each side is measured by in a round.
const SUBMISSIONS: usize = 1000;
const RENDERS: usize = 2000;
const LISTS: usize = 1000;
/// Tasks of somebody among all that are stored.
const OF_BOB: usize = 10;

/// What both make of values; the shape of a task that counts down.
const TEMPLATE: &str = r#"apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ global.release }}"
  labels:
    taskDef: "{{ global.taskDef }}"
    release: "{{ global.release }}"
    application: "{{ global.application }}"
    creator: "{{ global.creator }}"
spec:
  backoffLimit: 0
  template:
    metadata:
      labels:
        release: "{{ global.release }}"
    spec:
      restartPolicy: Never
      containers:
        - name: counter
          image: "{{ image.repository }}:{{ image.tag }}"
          imagePullPolicy: "{{ image.pullPolicy or 'Always' }}"
          env:
            - name: NUMBER
              value: "{{ process.train.number }}"
          command: ["/bin/sh", "-c", "seq $NUMBER -1 1"]
          {% if resources is defined and resources %}
          resources:
            limits:
              cpu: "{{ resources.get('cpu') or '500m' }}"
              memory: "{{ resources.get('memory') or '512Mi' }}"
          {% endif %}
"#;

pub(super) fn run(arguments: &Arguments) -> Result<Report> {
    let binaries = arguments.binaries(&[])?;
    let python = match arguments.only {
        Some(Side::Ours) => None,
        _ => Some(python::environment()?),
    };
    let work = Work::new(arguments.keep)?;
    let mut samples = Samples::default();
    for round in 0..arguments.rounds() {
        eprintln!("round {} of {}", round + 1, arguments.rounds());
        let folder = subfolder(&work.path, &format!("round-{round}"))?;
        let bench = Bench::start(&binaries, &folder)?;
        if arguments.only != Some(Side::Real) {
            Bench::measure("ours", &bench.service, &mut samples)?;
        }
        if let Some(python) = &python {
            let (process, service) = python::serve(python, &bench.kubeconfig, TEMPLATE, &folder)?;
            Bench::measure("real", &service, &mut samples)?;
            process.stop()?;
            let renders = python::renders(python, TEMPLATE, &values("bench", 1), RENDERS, &folder)?;
            samples.add("renders", "real", renders);
            samples.add("renders_alone", "real", renders);
        }
        if arguments.only != Some(Side::Real) {
            bench.measure_renders("renders", CLIENTS, &mut samples)?;
            bench.measure_renders("renders_alone", 1, &mut samples)?;
            // What is stored is stored once: filling takes longer than all the rest.
            if round == 0 {
                bench.measure_stored(arguments.tasks as usize, &mut samples)?;
            }
        }
        bench.stop()?;
        if arguments.only != Some(Side::Real) {
            callbacks::measure(&binaries, &subfolder(&folder, "callbacks")?, &mut samples)?;
        }
    }
    let note = "`real` is Flask with Jinja2, PyYAML and the Kubernetes client, in one process of 8 threads, which stores a Job and checks nothing but that values are there; its renders are a loop of one thread without HTTP, and it has no callbacks";
    Ok(Report::new(TASKS, samples, arguments.rounds()).with_note(note))
}

/// Values of a task.
fn values(definition: &str, number: usize) -> Value {
    json!({
        "taskDef": definition,
        "name": "demo",
        "creator": "ada",
        "description": "counts down",
        "process": {"train": {"number": number}},
        "resources": {"cpu": "200m", "memory": "512Mi"},
    })
}

/// An API server and the task service, as processes of their own.
struct Bench {
    server: Background,
    process: Background,
    service: Client,
    kubeconfig: PathBuf,
}

impl Bench {
    fn start(binaries: &Path, folder: &Path) -> Result<Self> {
        let program = binaries.join("trainyard");
        let data = folder.join("data");
        let kubeconfig = data.join("kubeconfig");
        let mut up = Command::new(&program);
        up.args(["up", "--api-only", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(&data);
        let mut server = Background::start("server", &mut up, folder)?;
        wait_until("the API server", PATIENCE, || {
            server.check_alive()?;
            Ok(data.join("instance.json").exists())
        })?;
        install(&program, &kubeconfig)?;
        let [port] = free_ports()?;
        let token = folder.join("token");
        let mut serve = Command::new(&program);
        serve
            .args(["service", "--writes-per-second", "0", "--reads-per-second", "0"])
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .arg("--admin-token-file")
            .arg(&token)
            .env("KUBECONFIG", &kubeconfig);
        let mut process = Background::start("service", &mut serve, folder)?;
        wait_until("the task service", PATIENCE, || {
            process.check_alive()?;
            let client = Client::new(port, "");
            Ok(client.get("/readyz").is_ok_and(|answer| answer.status == 200))
        })?;
        let service = Client::new(port, fs::read_to_string(&token)?.trim());
        service.expect(
            201,
            "POST",
            "/v1/templates",
            &json!({"name": "bench", "template": TEMPLATE}),
        )?;
        service.expect(201, "POST", "/v1/definitions", &definition())?;
        Ok(Self {
            server,
            process,
            service,
            kubeconfig,
        })
    }

    fn stop(self) -> Result<()> {
        self.process.stop()?;
        self.server.stop()
    }

    /// Submissions of several clients at once.
    fn measure(side: &str, service: &Client, samples: &mut Samples) -> Result<()> {
        eprintln!("{side}: {SUBMISSIONS} submissions");
        // Whoever has just started may be slow once.
        submit(service, "ada", 50)?;
        let begun = Instant::now();
        let mut took = submit(service, "ada", SUBMISSIONS)?;
        let total = begun.elapsed();
        samples.add("submissions", side, took.len() as f64 / total.as_secs_f64());
        samples.add("submission_p50", side, percentile(&mut took, 50));
        samples.add("submission_p99", side, percentile(&mut took, 99));
        Ok(())
    }

    fn measure_renders(&self, name: &'static str, clients: usize, samples: &mut Samples) -> Result<()> {
        eprintln!("ours: {RENDERS} renders, {clients} clients");
        let body = json!({
            "values": values("bench", 1),
            "system_values": {"image": {"repository": "registry/base", "tag": "1"}},
        });
        let render = |service: &Client| {
            service
                .expect(200, "POST", "/v1/templates/bench/render", &body)
                .map(drop)
        };
        render(&self.service)?;
        let begun = Instant::now();
        together(&self.service, clients, RENDERS, |service, _| render(service))?;
        samples.add(name, "ours", RENDERS as f64 / begun.elapsed().as_secs_f64());
        Ok(())
    }

    /// The service as somebody else asks it: the creator of a task is who submits it.
    fn of_bob(&self) -> Result<Client> {
        let grants = json!([{"role": "submitter", "namespace": "default"}]);
        let body = json!({"name": "bob", "grants": grants});
        let made: Value = serde_json::from_slice(&self.service.expect(201, "POST", "/v1/tokens", &body)?)?;
        let token = made["token"].as_str().context("a token has a text")?;
        Ok(self.service.with_token(token))
    }

    /// Lists and memory with many tasks.
    fn measure_stored(&self, tasks: usize, samples: &mut Samples) -> Result<()> {
        eprintln!("ours: {tasks} tasks to store");
        // The oldest of all, so that a list of them looks at every task.
        submit(&self.of_bob()?, "bob", OF_BOB)?;
        submit(&self.service, "ada", tasks)?;
        // Storing took so long that the server has closed the idle connection.
        let service = self.service.another();
        let lists = |path: &str| -> Result<f64> {
            let mut took = Vec::with_capacity(LISTS);
            for _ in 0..LISTS {
                let begun = Instant::now();
                let answer = service.get(path)?;
                ensure!(answer.status == 200, "{path}: {}", answer.status);
                took.push(begun.elapsed());
            }
            Ok(percentile(&mut took, 99))
        };
        samples.add("list_p99", "ours", lists("/v1/tasks?limit=50")?);
        samples.add(
            "list_filtered_p99",
            "ours",
            lists("/v1/tasks?limit=50&creator=bob")?,
        );
        let found: Value = serde_json::from_slice(&service.get("/v1/tasks?limit=50&creator=bob")?.body)?;
        let found = found["items"].as_array().map_or(0, Vec::len);
        ensure!(found == OF_BOB, "{found} of the tasks of somebody are found");
        samples.add("service_memory", "ours", memory(self.process.pid())?);
        samples.add("server_memory", "ours", memory(self.server.pid())?);
        Ok(())
    }
}

fn definition() -> Value {
    json!({
        "name": "bench",
        "task_template_name": "bench",
        "user_values_description": "taskDef: (Required) Task definition name\nname: (Required) Application name\ncreator: (Required) Creator Id\ndescription: (Optional) Description\nprocess:\n  train:\n    number: (Required) Number to count down from\nresources:\n  cpu: (Optional) CPU resource default `500m`\n  memory: (Optional) Memory resource default `512Mi`\n",
        "user_values_example": "taskDef: bench\nname: demo\ncreator: ada\nprocess:\n  train:\n    number: 3\n",
        "system_values": "image:\n  repository: registry/base\n  tag: \"1\"\n",
    })
}

/// The kinds and everything else that the service needs.
fn install(program: &Path, kubeconfig: &Path) -> Result<()> {
    let manifests = Command::new(program)
        .args(["service", "--print-manifests"])
        .output()
        .context("cannot print the manifests of the service")?;
    let mut apply = Command::new(program)
        .args(["apply", "-f", "-"])
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot apply the manifests of the service")?;
    std::io::copy(
        &mut manifests.stdout.as_slice(),
        &mut apply.stdin.take().context("no input")?,
    )?;
    ensure!(
        apply.wait()?.success(),
        "the manifests of the service cannot be applied"
    );
    Ok(())
}

/// Submits so many tasks from several clients; how long each took.
fn submit(service: &Client, creator: &str, count: usize) -> Result<Vec<Duration>> {
    let took: Vec<_> = (0..CLIENTS).map(|_| std::sync::Mutex::new(Vec::new())).collect();
    together(service, CLIENTS, count, |service, client| {
        let mut values = values("bench", 3);
        values["creator"] = json!(creator);
        let begun = Instant::now();
        service.expect(201, "POST", "/v1/tasks", &values)?;
        if let Ok(mut took) = took[client].lock() {
            took.push(begun.elapsed());
        }
        Ok(())
    })?;
    Ok(took
        .into_iter()
        .flat_map(|took| took.into_inner().unwrap_or_default())
        .collect())
}

/// Does something so many times, by several clients with a connection each.
fn together(
    service: &Client,
    clients: usize,
    count: usize,
    work: impl Fn(&Client, usize) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|number| {
                let (client, next, work) = (service.another(), &next, &work);
                scope.spawn(move || -> Result<()> {
                    while next.fetch_add(1, Ordering::Relaxed) < count {
                        work(&client, number)?;
                    }
                    Ok(())
                })
            })
            .collect();
        for thread in threads {
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        Ok(())
    })
}

/// In milliseconds.
fn percentile(took: &mut [Duration], percent: usize) -> f64 {
    took.sort();
    let place = (took.len() * percent / 100).min(took.len().saturating_sub(1));
    took.get(place)
        .map_or(f64::NAN, |took| took.as_secs_f64() * 1000.0)
}

/// Resident memory of a process in megabytes.
fn memory(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("no VmRSS")?;
    let kilobytes: f64 = line.split_whitespace().next().context("no VmRSS")?.parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}
