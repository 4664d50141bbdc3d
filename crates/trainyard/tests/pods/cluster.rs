//! A cluster of its own for one test.

use std::{
    fmt::Debug,
    fs::{self, File},
    future::Future,
    io::{BufRead as _, BufReader},
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{Event, Pod},
};
use kube::{
    Api, Client, Config, Resource, ResourceExt as _,
    api::{ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Nothing takes longer, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(90);
const NOBODY: u32 = 65_534;

/// As whom the cluster runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// Whoever runs the tests.
    Us,
    /// Somebody without any rights.
    Nobody,
}

pub(crate) struct Cluster {
    home: TempDir,
    program: PathBuf,
    who: Who,
    /// Further arguments of `trainyard up`.
    arguments: Vec<String>,
    server: Option<Child>,
    client: Client,
}

/// What a command printed.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) is_success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a test as every user it can be run as.
pub(crate) async fn as_everybody<F: Future<Output = ()>>(test: impl Fn(Cluster) -> F) {
    as_everybody_with(&[], test).await;
}

/// The same, with further arguments of `trainyard up`.
pub(crate) async fn as_everybody_with<F: Future<Output = ()>>(
    arguments: &[&str],
    test: impl Fn(Cluster) -> F,
) {
    test(Cluster::start_with(Who::Us, arguments).await).await;
    if rustix::process::geteuid().is_root() {
        test(Cluster::start_with(Who::Nobody, arguments).await).await;
    }
}

impl Cluster {
    pub(crate) async fn start_with(who: Who, arguments: &[&str]) -> Self {
        Self::start_from(Path::new(env!("CARGO_BIN_EXE_trainyard")), who, arguments).await
    }

    /// The same, by a program that is found somewhere else.
    pub(crate) async fn start_from(program: &Path, who: Who, arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        if who == Who::Nobody {
            chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let server = Some(serve(program, home.path(), who, &arguments));
        let client = client(home.path()).await;
        let cluster = Self {
            home,
            program: program.to_owned(),
            who,
            arguments,
            server,
            client,
        };
        cluster.wait_for_account().await;
        cluster
    }

    pub(crate) fn who(&self) -> Who {
        self.who
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        data_dir(self.home.path())
    }

    /// Ends the server as a power cut would; pods go on.
    pub(crate) fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    pub(crate) async fn start_again(&mut self) {
        self.server = Some(serve(&self.program, self.home.path(), self.who, &self.arguments));
        self.client = client(self.home.path()).await;
    }

    /// Whether the cluster has all rights of this machine.
    pub(crate) fn is_root(&self) -> bool {
        self.who == Who::Us && rustix::process::geteuid().is_root()
    }

    /// Runs `trainyard ARGUMENTS --data-dir …` as the user of the cluster.
    pub(crate) fn trainyard(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainyard"));
        command.args(arguments).arg("--data-dir").arg(self.data_dir());
        if self.who == Who::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        Output {
            is_success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The real kubectl, ready to be given arguments; `None` is a reason to skip.
    pub(crate) fn kubectl(&self) -> Option<Command> {
        let program = client_tests::needed(client_tests::kubectl(client_tests::Release::Ours))?;
        let mut command = Command::new(program);
        command.env("KUBECONFIG", self.data_dir().join("kubeconfig"));
        Some(command)
    }

    /// `trainyard down`.
    pub(crate) fn down(&mut self) {
        let down = self.trainyard(&["down"]);
        assert!(down.is_success, "{down:?}");
        if let Some(mut server) = self.server.take() {
            server.wait().unwrap();
        }
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), "default")
    }

    pub(crate) async fn create<K>(&self, object: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Serialize,
    {
        let object = serde_json::from_value(object).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap()
    }

    /// A pod of one container `main` that runs a script on the host's file system.
    pub(crate) async fn run(&self, name: &str, script: &str, further: Value) -> Pod {
        let mut spec = json!({
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "host", "command": ["sh", "-c", script]}],
        });
        merge(&mut spec, further);
        self.create(json!({ "metadata": { "name": name }, "spec": spec }))
            .await
    }

    pub(crate) async fn pod(&self, name: &str) -> Pod {
        self.api().get(name).await.unwrap()
    }

    pub(crate) async fn until(&self, name: &str, what: &str, holds: impl Fn(&Pod) -> bool) -> Pod {
        let mut last = None;
        let wait = async {
            loop {
                let pod = self.pod(name).await;
                if holds(&pod) {
                    return pod;
                }
                last = pod.status;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(pod) => pod,
            Err(elapsed) => panic!(
                "{name} is never {what} ({elapsed}): {}\n{}",
                json!(last),
                self.log()
            ),
        }
    }

    pub(crate) async fn until_phase(&self, name: &str, phase: &str) -> Pod {
        self.until(name, phase, |pod| self::phase(pod) == phase).await
    }

    pub(crate) async fn until_gone<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = self.api();
        eventually(&format!("{name} is gone"), async || {
            api.get_opt(name).await.unwrap().is_none()
        })
        .await;
    }

    /// What a container has written, without times and marks.
    pub(crate) fn text(&self, pod: &Pod, container: &str, attempt: u32) -> String {
        let raw = fs::read_to_string(self.log_file(pod, container, attempt)).unwrap_or_default();
        let lines = raw.lines().filter_map(|line| line.splitn(4, ' ').nth(3));
        lines.map(|line| format!("{line}\n")).collect()
    }

    pub(crate) fn log_file(&self, pod: &Pod, container: &str, attempt: u32) -> PathBuf {
        let folder = format!(
            "{}_{}_{}",
            pod.namespace().unwrap_or_default(),
            pod.name_any(),
            pod.uid().unwrap_or_default()
        );
        let logs = self.data_dir().join("logs").join(folder);
        logs.join(container).join(format!("{attempt}.log"))
    }

    pub(crate) async fn until_text(&self, pod: &Pod, wanted: &str) {
        eventually(&format!("{} says {wanted:?}", pod.name_any()), async || {
            self.text(pod, "main", 0).contains(wanted)
        })
        .await;
    }

    /// Waits until an event about a pod has told of something.
    pub(crate) async fn until_event(&self, pod: &str, reason: &str) {
        self.until_event_says(pod, reason, "").await;
    }

    /// The same, where the event must use these words.
    pub(crate) async fn until_event_says(&self, pod: &str, reason: &str, words: &str) {
        let events: Api<Event> = self.api();
        let about = ListParams::default().fields(&format!("involvedObject.name={pod}"));
        let says = |event: &Event| {
            let message = event.message.as_deref().unwrap_or_default();
            event.reason.as_deref() == Some(reason) && message.contains(words)
        };
        eventually(
            &format!("an event says {reason} {words:?} about {pod}"),
            async || events.list(&about).await.unwrap().iter().any(says),
        )
        .await;
    }

    /// The events of a reason about a pod.
    pub(crate) async fn events(&self, pod: &str, reason: &str) -> Vec<Event> {
        let about = ListParams::default().fields(&format!("involvedObject.name={pod}"));
        let mut events = self.api::<Event>().list(&about).await.unwrap().items;
        events.retain(|event| event.reason.as_deref() == Some(reason));
        events
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("server.log")).unwrap_or_default()
    }

    /// A namespace's pods need an account to run as, which comes a moment after the namespace.
    async fn wait_for_account(&self) {
        let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> = self.api();
        eventually("the namespace has an account", async || {
            accounts.get_opt("default").await.unwrap().is_some()
        })
        .await;
    }
}

impl Drop for Cluster {
    /// A failed test leaves nothing behind.
    fn drop(&mut self) {
        self.kill();
        let _ = Command::new(env!("CARGO_BIN_EXE_trainyard"))
            .args(["down", "--data-dir"])
            .arg(self.data_dir())
            .output();
        if std::thread::panicking() {
            println!("--- the server's log\n{}", self.log());
        }
    }
}

fn data_dir(home: &Path) -> PathBuf {
    home.join("data")
}

fn serve(program: &Path, home: &Path, who: Who, arguments: &[String]) -> Child {
    let log = File::options()
        .append(true)
        .create(true)
        .open(home.join("server.log"))
        .unwrap();
    let mut command = Command::new(program);
    command
        .args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(data_dir(home))
        .args(arguments)
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log);
    if who == Who::Nobody {
        command.uid(NOBODY).gid(NOBODY);
    }
    let mut server = command.spawn().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let mut first = String::new();
    output.read_line(&mut first).unwrap();
    assert_eq!(first, "Trainyard is ready\n");
    server
}

async fn client(home: &Path) -> Client {
    let file = Kubeconfig::read_from(data_dir(home).join("kubeconfig")).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

pub(crate) async fn eventually(what: &str, holds: impl AsyncFn() -> bool) {
    eventually_or(what, holds, String::new).await;
}

/// The same, with more to say when it does not come true.
pub(crate) async fn eventually_or(
    what: &str,
    holds: impl AsyncFn() -> bool,
    otherwise: impl FnOnce() -> String,
) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let came = tokio::time::timeout(PATIENCE, wait).await;
    assert!(came.is_ok(), "it never comes true that {what}\n{}", otherwise());
}

pub(crate) fn phase(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status
        .and_then(|status| status.phase.as_deref())
        .unwrap_or_default()
}

/// The status of a container, as JSON.
pub(crate) fn container(pod: &Pod, name: &str) -> Value {
    let status = json!(pod.status);
    let lists = [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ];
    let mut all = lists
        .iter()
        .flat_map(|list| status[list].as_array().into_iter().flatten());
    all.find(|status| status["name"] == name)
        .cloned()
        .unwrap_or_default()
}

pub(crate) fn condition(pod: &Pod, kind: &str) -> String {
    let conditions = pod
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let mut found = conditions.filter(|condition| condition.type_ == kind);
    found
        .next()
        .map(|condition| condition.status.clone())
        .unwrap_or_default()
}

/// Puts the fields of one object into another.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(from)) => {
            let known = into.len();
            for (index, value) in from.into_iter().enumerate() {
                if index < known {
                    merge(&mut into[index], value);
                } else {
                    into.push(value);
                }
            }
        }
        (into, from) => *into = from,
    }
}

/// A folder of the host that pods of any user may write to.
pub(crate) fn shared_folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    folder
}
