//! Nothing waits without a word: what keeps pods from starting is named within seconds, whatever it is.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a panic is how a test fails, and its output explains the failure"
)]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use client_tests::{Output, Server, Shell, User, binary, get, run};
use serde_json::Value;

use crate::{until, with_clusters};

/// How long a reason may take on a machine that has other things to do; it is there after two or three seconds.
const LIMIT: Duration = Duration::from_mins(1);

/// A data directory of this test's own, and the cluster in it, which is stopped in the end.
struct Home {
    folder: tempfile::TempDir,
    is_mounted: bool,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        Self {
            folder,
            is_mounted: false,
        }
    }

    /// The same on a disk of a few megabytes; `None` where this user may not mount one.
    fn on_small_disk() -> Option<Self> {
        let mut home = Self::new();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=24m,mode=700", "small"])
            .arg(home.data());
        home.is_mounted = mount.output().is_ok_and(|output| output.status.success());
        if !home.is_mounted {
            println!("skipped: only root may mount a small disk");
            return None;
        }
        Some(home)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(binary());
        command
            .args(line.split(' '))
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("TRAINYARD_DATA_DIR", self.data())
            .env_remove("KUBECONFIG");
        command
    }

    fn trainyard(&self, line: &str) -> Output {
        run(&mut self.command(line), "")
    }

    fn up(&self, options: &str) {
        let up = self.trainyard(&format!("up --detach --listen 127.0.0.1:0{options}"));
        assert_eq!(up.code, 0, "{up:?}");
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.trainyard("status -o json").success()).unwrap()
    }

    /// What is wrong with the cluster, as `status` tells it.
    fn problems(&self) -> String {
        let status = self.status();
        let problems = status["problems"].as_array().unwrap().iter();
        let told: Vec<&str> = problems
            .map(|problem| problem["message"].as_str().unwrap())
            .collect();
        told.join("; ")
    }

    /// Asks until the problems have these words.
    #[track_caller]
    fn await_problem(&self, words: &str) -> String {
        let deadline = Instant::now() + LIMIT;
        loop {
            let problems = self.problems();
            if problems.contains(words) {
                return problems;
            }
            assert!(Instant::now() < deadline, "`{words}` is not among: {problems}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Starts a command, and ends it by Ctrl-C when it has said something. How long that took, and all it said.
    #[track_caller]
    fn told(&self, line: &str, words: &str) -> (Duration, String) {
        let mut child = self
            .command(line)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let began = Instant::now();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, heard) = mpsc::channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut all = String::new();
        let mut took = None;
        while let Ok(line) = heard.recv_timeout(LIMIT.saturating_sub(began.elapsed())) {
            all += &(line + "\n");
            if took.is_none() && all.contains(words) {
                took = Some(began.elapsed());
                run(Command::new("kill").args(["-INT", &child.id().to_string()]), "");
            }
        }
        let _ = child.kill();
        let _ = child.wait();
        let took = took.unwrap_or_else(|| panic!("$ trainyard {line}\n`{words}` was not said:\n{all}"));
        println!("`{words}` was said after {took:.1?}");
        (took, all)
    }

    fn get(&self, path: &str) -> Value {
        let text = fs::read_to_string(self.data().join("kubeconfig")).unwrap();
        let entry = |name: &str| {
            let mut lines = text.lines();
            let line = lines.find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
            line.unwrap().to_owned()
        };
        let answer = get(&entry("server"), path, Some(&entry("token")));
        serde_json::from_str(&answer.body).unwrap()
    }

    /// The pid of the network process.
    fn network(&self) -> Option<u64> {
        network(&self.data())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if thread::panicking() {
            let log = fs::read_to_string(self.data().join("server.log")).unwrap_or_default();
            println!("--- the server's log\n{log}");
        }
        self.trainyard("down");
        if self.is_mounted {
            run(Command::new("umount").arg("--lazy").arg(self.data()), "");
        }
    }
}

fn network(data: &Path) -> Option<u64> {
    let state = fs::read_to_string(data.join("network/state.json")).ok()?;
    let state: Value = serde_json::from_str(&state).ok()?;
    state["pid"].as_u64()
}

fn name_of_a_job(home: &Home) -> String {
    let jobs: Value = serde_json::from_str(&home.trainyard("ps -a -o json").success()).unwrap();
    jobs[0]["name"].as_str().unwrap().to_owned()
}

#[test]
fn a_network_that_dies_at_once_is_named_by_every_command() {
    let home = Home::new();
    // The process cannot write down its state, and ends.
    fs::create_dir_all(home.data().join("network/state.json.new")).unwrap();
    let demo = home.trainyard("demo --workers 2");
    assert_eq!(demo.code, 2, "{demo:?}");
    for words in [
        "waiting: ",
        "the network process ended at once",
        "cannot write down what was handed out",
        "hint: ",
        "error: the workers cannot start: ",
    ] {
        assert!(
            demo.stderr.contains(words),
            "`{words}` is not in: {}",
            demo.stderr
        );
    }
    assert_ne!(
        home.trainyard("status").code,
        0,
        "the demo stops what it has started"
    );

    home.up("");
    home.await_problem("the network process ended at once");
    home.told("run -- true", "the network process");
    let why = home.trainyard(&format!("why {}", name_of_a_job(&home)));
    assert_eq!(why.code, 1, "{why:?}");
    assert!(why.stdout.contains("the network process"), "{}", why.stdout);
    assert!(!why.stdout.contains("taint"), "{}", why.stdout);

    home.await_problem("the network process died 3 times in the last 10 minutes");
    let status = home.trainyard("status");
    let first = status.stdout.lines().next().unwrap();
    assert!(
        first.starts_with("Trainyard is running, but the network process died"),
        "{first}"
    );
    let nodes = home.get("/api/v1/nodes");
    let conditions = nodes["items"][0]["status"]["conditions"].as_array().unwrap();
    let condition = |kind: &str| {
        conditions
            .iter()
            .find(|condition| condition["type"] == kind)
            .unwrap()
    };
    assert_eq!(
        condition("ClusterPartFailing")["status"],
        "True",
        "{conditions:?}"
    );
    assert_eq!(
        condition("NetworkUnavailable")["status"],
        "True",
        "{conditions:?}"
    );
    let events = home.get("/api/v1/namespaces/default/events?fieldSelector=reason%3DClusterPartDied");
    let event = &events["items"][0];
    assert_eq!(event["involvedObject"]["kind"], "Node", "{events}");
    assert_eq!(event["type"], "Warning", "{events}");
}

#[test]
fn a_network_that_is_killed_again_and_again_is_told_of_though_it_runs() {
    let home = Home::new();
    home.up("");
    let deadline = Instant::now() + LIMIT;
    let mut before = None;
    for _ in 0..3 {
        let pid = loop {
            match home.network() {
                pid @ Some(_) if pid != before => break pid,
                _ => assert!(Instant::now() < deadline, "the network is not started again"),
            }
            thread::sleep(Duration::from_millis(20));
        };
        run(
            Command::new("kill").args(["-KILL", &pid.unwrap().to_string()]),
            "",
        );
        before = pid;
    }
    let told = home.await_problem("the network process died 3 times in the last 10 minutes");
    assert!(told.contains("signal"), "{told}");
    let ran = home.trainyard("run -- echo it goes on");
    assert_eq!((ran.code, ran.stdout.trim()), (0, "it goes on"), "{ran:?}");
}

#[test]
fn the_network_of_a_build_without_optimisation_lives() {
    with_clusters(|server, shell| {
        let before = network(&server.data_dir()).expect("there is a network");
        let run = shell.run("trainyard run --nodes 2 --all -- sh -c 'echo $MASTER_ADDR'");
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(network(&server.data_dir()), Some(before), "it was started once");
        assert_eq!(server.status()["problems"], Value::Array(Vec::new()));
        let events = "/api/v1/namespaces/default/events?fieldSelector=reason%3DClusterPartDied";
        let events = get(&server.address(), events, Some(&server.token()));
        let events: Value = serde_json::from_str(&events.body).unwrap();
        assert_eq!(events["items"], Value::Array(Vec::new()), "no part has died");
    });
}

#[test]
fn a_full_disk_is_named_by_every_command() {
    let Some(home) = Home::on_small_disk() else { return };
    home.up("");
    let held = home.trainyard("run --detach --wait --cpus 4000 --name held -- true");
    assert_eq!(held.code, 0, "{held:?}");
    let filling = home.data().join("filling");
    let filled = format!("dd if=/dev/zero of={} bs=64k", filling.display());
    run(Command::new("sh").args(["-c", &filled]), "");

    let full = "data` is full: ";
    assert!(home.problems().contains(full), "{}", home.problems());
    let first = home.trainyard("status").stdout;
    assert!(
        first.starts_with("Trainyard is running, but the disk of"),
        "{first}"
    );
    let why = home.trainyard("why held");
    assert_eq!(why.code, 1, "{why:?}");
    assert!(
        why.stdout.contains(full) && why.stdout.contains("hint: free some space"),
        "{}",
        why.stdout
    );
    for line in ["run -- true", "demo"] {
        let output = home.trainyard(line);
        assert_ne!(output.code, 0, "{output:?}");
        assert!(output.stderr.contains(full), "{line}: {}", output.stderr);
        assert!(
            output.stderr.contains("hint: free some space"),
            "{line}: {}",
            output.stderr
        );
    }
    home.told("logs -f held", full);

    home.trainyard("down");
    run(Command::new("sh").args(["-c", &filled]), "");
    for line in ["up --detach --listen 127.0.0.1:0", "demo"] {
        let output = home.trainyard(line);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(full), "{line}: {}", output.stderr);
    }
    fs::remove_file(filling).unwrap();
    home.up("");
    assert_eq!(home.problems(), "");
}

#[test]
fn a_cluster_without_a_node_is_told_of_by_every_command() {
    let home = Home::new();
    home.up(" --api-only");
    let words = "the cluster has no node: it was started with `--api-only`";
    for (line, code) in [("run -- true", 125), ("run --detach -- true", 125), ("demo", 2)] {
        let output = home.trainyard(line);
        assert_eq!(output.code, code, "{output:?}");
        assert!(output.stderr.contains(words), "{line}: {}", output.stderr);
        assert!(output.stderr.contains("hint: "), "{line}: {}", output.stderr);
    }
    let first = home.trainyard("status").stdout;
    assert!(
        first.starts_with(&format!("Trainyard is running, but {words}")),
        "{first}"
    );
    assert!(home.problems().contains(words), "{}", home.problems());
}

#[test]
fn a_node_that_was_removed_comes_back() {
    let server = Server::start_with_pods(User::Us);
    let shell = Shell::new(&server, &[("trainyard", binary())]);
    let nodes = || -> Value {
        let answer = get(&server.address(), "/api/v1/nodes", Some(&server.token()));
        serde_json::from_str(&answer.body).unwrap()
    };
    let deadline = Instant::now() + LIMIT;
    while nodes()["items"].as_array().unwrap().is_empty() {
        assert!(Instant::now() < deadline, "there is no node");
        thread::sleep(Duration::from_millis(50));
    }
    let name = nodes()["items"][0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let node = format!("apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n");
    fs::write(server.home().join("node.yaml"), node).unwrap();
    shell.ok("trainyard delete -f node.yaml");
    let ran = shell.run("trainyard run -- echo here");
    assert_eq!((ran.code, ran.stdout.trim()), (0, "here"), "{ran:?}");
}

#[test]
fn what_can_never_run_here_is_refused_and_leaves_no_job() {
    with_clusters(|server, shell| {
        for (options, words) in [
            (
                "--cpus 4000",
                "a pod asks for 4k CPU, and no node of the cluster has more than",
            ),
            (
                "--memory 900Ti",
                "a pod asks for 900Ti of memory, and no node of the cluster has more than",
            ),
            ("--nodes 2 --gpus 1024", "and no node of the cluster has"),
        ] {
            for more in ["", " --detach"] {
                let line = format!("trainyard run {options}{more} -- true");
                let output = shell.run(&line);
                assert_eq!(output.code, 125, "{line}: {output:?}");
                assert!(
                    output.stderr.contains("error: the job can never run here: "),
                    "{}",
                    output.stderr
                );
                assert!(output.stderr.contains(words), "{line}: {}", output.stderr);
                assert!(
                    output.stderr.contains("`--wait` submits it all the same"),
                    "{}",
                    output.stderr
                );
            }
        }
        let absent = shell.run("trainyard run -n nowhere -- true");
        assert_eq!(absent.code, 125);
        assert!(
            absent.stderr.contains("there is no namespace `nowhere`"),
            "{}",
            absent.stderr
        );
        assert_eq!(
            shell.ok("trainyard ps -a -A -o json").trim(),
            "[]",
            "nothing was made"
        );

        shell.ok("trainyard run --wait --detach --name large --cpus 4000 -- true");
        // The event may be there before the condition of the pod, which says more.
        let more = "no node of the cluster has more than";
        let large = until(shell, "trainyard why large", more);
        assert!(!large.stdout.contains("wait for others"), "{}", large.stdout);
        assert!(server.status()["problems"].as_array().unwrap().is_empty());
    });
}

#[test]
fn reasons_of_pods_are_told_once_with_what_to_do() {
    let home = Home::new();
    home.up("");
    let manifest = home.folder.path().join("job.yaml");
    let job = r#"
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: stuck}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers: [{name: pytorch, image: host, command: ["true"], volumeMounts: [{name: gone, mountPath: /gone}]}]
          volumes: [{name: gone, hostPath: {path: /no/such/file, type: File}}]
    Worker:
      replicas: 2
      template:
        spec:
          containers: [{name: pytorch, image: "nowhere.invalid/app:1", command: ["true"]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: aws-efs, resources: {requests: {storage: 1Gi}}}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: claims}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers: [{name: pytorch, image: host, command: ["true"], volumeMounts: [{name: data, mountPath: /data}]}]
          volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"#;
    fs::write(&manifest, job).unwrap();
    home.trainyard("apply -f job.yaml").success();
    let (_, all) = home.told(
        "logs -f stuck",
        "hostPath type check failed: /no/such/file is not a file",
    );
    for words in [
        "waiting: worker-0, worker-1: the image `nowhere.invalid/app:1` cannot be pulled",
        "waiting: master-0: FailedMount: ",
    ] {
        assert_eq!(all.matches(words).count(), 1, "{all}");
    }
    let (_, all) = home.told(
        "logs -f claims",
        "asks for StorageClass `aws-efs`, which the cluster does not have",
    );
    assert!(all.contains("(it has `standard`)"), "{all}");
    let why = home.trainyard("why persistentvolumeclaim/data");
    assert!(
        why.stdout
            .contains("--storage-class standard --storage-class aws-efs"),
        "{}",
        why.stdout
    );
    let quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: small}\nspec: {hard: {pods: 0}}\n";
    fs::write(manifest, quota).unwrap();
    home.trainyard("apply -f job.yaml").success();
    let (_, all) = home.told("run -- true", "the quota of the namespace is used up");
    assert!(all.contains("hint: wait for others to end"), "{all}");
}
