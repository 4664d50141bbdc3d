//! The task service as its users meet it: curl, the command line, receivers of callbacks, a tool that tries
//! everything its OpenAPI document allows.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

mod audit;
mod bad_input;
mod commands;
mod contract;
mod curl;
mod documented;
mod idempotency;
mod injection;
mod kept_logs;
mod limits;
mod local_templates;
mod pages;
mod previews;
mod replicas;
mod secrets;
mod starting;
mod streams;
mod tokens;
mod versions;
mod walkthrough;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use client_tests::{Server, User, binary, is_real};
use serde_json::{Value, json};

use curl::Reply;

/// Nothing here takes longer, on however busy a machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// A cluster with its task service, and the token of its admin.
pub(crate) struct Service {
    server: Server,
    /// The processes of a cluster that has none of its own.
    processes: Vec<Child>,
    address: String,
    token: String,
}

impl Service {
    /// Every image is this machine's file system, and there is the storage that the templates ask for.
    #[track_caller]
    pub(crate) fn start() -> Self {
        if is_real() {
            return Self::beside(Server::start_with_simulated_nodes());
        }
        let options = [
            "--images",
            "host",
            "--storage-class",
            "aws-efs",
            "--service-rate",
            "0",
        ];
        let server = Server::start_with_options(User::Us, &options);
        Self {
            address: address(&server),
            token: admin_token(&server),
            server,
            processes: Vec::new(),
        }
    }

    /// A service, and who carries out what it writes, as processes beside a cluster.
    #[track_caller]
    fn beside(server: Server) -> Self {
        let mut operator = Command::new(binary());
        operator.args(["operator", "--install-definitions", "--leader-elect=false"]);
        operator.args(["--metrics-bind-address=0", "--health-probe-bind-address=0"]);
        // The receivers of these tests are on this machine.
        operator.args(["--callbacks-to", "127.0.0.0/8"]);
        let (operator, _) = start(&mut operator, &server, "");
        let mut service = Self::process(server, &[]);
        service.processes.push(operator);
        // The operator brings them, this one last; nobody waits for it but who is told to.
        until("the templates that come with the program", || {
            let found = service.get("/v1/templates/single-gpu-task");
            (found.status == 200).then_some(()).ok_or(found.body)
        });
        service
    }

    /// A service as a process beside a cluster.
    #[track_caller]
    pub(crate) fn process(server: Server, options: &[&str]) -> Self {
        let (service, address) = start_service(&server, options);
        Self {
            address,
            token: fs::read_to_string(server.home().join("service-token"))
                .expect("there is a token")
                .trim()
                .to_owned(),
            server,
            processes: vec![service],
        }
    }

    /// Ends the service as a power cut would, and starts it again on what it left.
    #[track_caller]
    pub(crate) fn restart(&mut self) {
        if is_real() {
            let mut service = self.processes.remove(0);
            let _ = service.kill();
            let _ = service.wait();
            let (process, address) = start_service(&self.server, &[]);
            self.processes.insert(0, process);
            self.address = address;
        } else {
            self.server.start_again();
            self.address = address(&self.server);
        }
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.server.data_dir()
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.curl(&["-X", "GET"], path, None)
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.curl(&["-X", "POST"], path, Some(&body.to_string()))
    }

    /// Asks with the token of the admin.
    #[track_caller]
    pub(crate) fn curl(&self, arguments: &[&str], path: &str, body: Option<&str>) -> Reply {
        let authorization = format!("Authorization: Bearer {}", self.token);
        let mut all = vec!["-H", authorization.as_str()];
        all.extend(arguments);
        curl::ask(&format!("{}{path}", self.address), &all, body)
    }

    /// Asks with another token.
    #[track_caller]
    pub(crate) fn curl_as(&self, token: &str, arguments: &[&str], path: &str, body: Option<&Value>) -> Reply {
        let authorization = format!("Authorization: Bearer {token}");
        let mut all = vec!["-H", authorization.as_str()];
        all.extend(arguments);
        let body = body.map(Value::to_string);
        curl::ask(&format!("{}{path}", self.address), &all, body.as_deref())
    }

    /// Registers a definition that counts down from `number` in its values.
    #[track_caller]
    pub(crate) fn register_countdown(&self, name: &str) -> Value {
        // Beside a cluster of others nobody says when the templates are there.
        until("the template", || {
            let found = self.get("/v1/templates/countdown-task");
            (found.status == 200).then_some(()).ok_or(found.body)
        });
        let definition = json!({
            "creator": "admin",
            "name": name,
            "task_template_name": "countdown-task",
            "description": "counts down",
            "user_values_description":
                "taskDef: (Required) Task definition name\r\nname: (Required) Application name\r\ncreator: (Required) Creator Id\r\nendpoints:\r\n  -\r\n    endpoint: (Optional) A callback endpoint\r\n    type: (Optional) event\r\nprocess:\r\n  train:\r\n    number: (Required) Upperbound number to countdown\r\n",
            "user_values_example":
                "taskDef: countdown\r\nname: demo\r\ncreator: ducta\r\nendpoints:\r\n  -\r\n    endpoint: http://localhost:8080/v1/callback\r\n    type: event\r\nprocess:\r\n  train:\r\n    number: 3\r\n",
            "system_values": "image:\r\n  repository: registry.example/base\r\n  tag: latest",
            "application": "Production",
            "append_uuid": 0,
        });
        self.post("/v1/definitions", &definition).expect(201)
    }

    /// Submits a task that does not begin, and so does not end; its name.
    #[track_caller]
    pub(crate) fn endless(&self) -> String {
        let text = "\
apiVersion: batch/v1
kind: Job
metadata: {name: \"{{ global.release }}\"}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: none}]}}
";
        let template = json!({"name": "endless", "template": text, "description": "waits"});
        self.post("/v1/templates", &template).expect(201);
        let definition = json!({
            "creator": "admin", "name": "endless", "task_template_name": "endless", "description": "waits",
            "user_values_description": "taskDef: (Required) name", "user_values_example": "taskDef: endless",
            "system_values": "", "application": "Test",
        });
        self.post("/v1/definitions", &definition).expect(201);
        let task = self.post("/v1/tasks", &json!({"taskDef": "endless"})).expect(201);
        task["name"].as_str().unwrap().to_owned()
    }

    /// Submits a countdown; its name.
    #[track_caller]
    pub(crate) fn countdown(&self, definition: &str, number: u32) -> String {
        let task = self.post("/v1/tasks", &countdown(definition, number)).expect(201);
        task["name"].as_str().unwrap().to_owned()
    }

    /// The task in one of these phases, however long that takes.
    #[track_caller]
    pub(crate) fn wait_for(&self, task: &str, phases: &[&str]) -> Value {
        let mut last = Value::Null;
        until(&format!("{task} to be one of {phases:?}"), || {
            last = self.get(&format!("/v1/tasks/{task}")).expect(200);
            let phase = last["phase"].as_str().unwrap().to_owned();
            phases
                .contains(&phase.as_str())
                .then_some(())
                .ok_or(last.to_string())
        });
        last
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Values of a countdown.
pub(crate) fn countdown(definition: &str, number: u32) -> Value {
    json!({
        "taskDef": definition,
        "name": "demo",
        "creator": "ducta",
        "process": {"train": {"number": number}},
    })
}

/// Where the service of an embedded cluster is, once it is ready: a machine that has no time for it says so.
#[track_caller]
pub(crate) fn address(server: &Server) -> String {
    let status = server.status();
    let address = status["service"].as_str();
    let address = address.expect("`status` says where the service is");
    until("the service to be ready", || {
        let ready = curl::ask(&format!("{address}/readyz"), &[], None);
        (ready.status == 200).then_some(()).ok_or(ready.body)
    });
    address.to_owned()
}

/// The token of its admin, as soon as it is written.
#[track_caller]
pub(crate) fn admin_token(server: &Server) -> String {
    let mut token = String::new();
    until("the token of the admin", || {
        let text = fs::read_to_string(server.data_dir().join("service-token"));
        text.map(|text| text.trim().clone_into(&mut token))
            .map_err(|error| error.to_string())
    });
    token
}

/// Starts the service beside a cluster; where it answers.
#[track_caller]
fn start_service(server: &Server, options: &[&str]) -> (Child, String) {
    let mut service = Command::new(binary());
    service
        .args(["service", "--listen", "127.0.0.1:0"])
        .args(["--writes-per-second", "0", "--reads-per-second", "0"])
        .args(options)
        .arg("--admin-token-file")
        .arg(server.home().join("service-token"));
    let (service, line) = start(&mut service, server, " answers on ");
    let (_, address) = line.rsplit_once(' ').expect("the line ends with the address");
    (service, address.to_owned())
}

/// Starts a process and waits until it says something.
#[track_caller]
fn start(command: &mut Command, server: &Server, words: &str) -> (Child, String) {
    let mut child = command
        .env("KUBECONFIG", server.kubeconfig())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("trainyard can be started");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines
        .by_ref()
        .map_while(Result::ok)
        .find(|line| line.contains(words));
    // Somebody has to read on, or the process would wait for it some time.
    std::thread::spawn(move || lines.for_each(drop));
    (child, line.expect("the process says that it is ready"))
}

/// Looks again and again until it is as it should be; what was found instead is told in the end.
#[track_caller]
pub(crate) fn until(what: &str, mut look: impl FnMut() -> Result<(), String>) {
    let deadline = Instant::now() + PATIENCE;
    while let Err(found) = look() {
        assert!(Instant::now() < deadline, "gave up waiting for {what}: {found}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
