//! Scenarios that share a cluster: each has a namespace of its own, and all are played at once.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{Output, Release, Server, Shell, User, get, kubectl, needed};

/// Nothing here takes as long on a machine that does nothing else; a busy one is slower.
const PATIENCE: Duration = Duration::from_secs(150);

pub type Scenario = (&'static str, fn(&Team<'_>));

/// Somebody with a namespace.
#[derive(Debug)]
pub struct Team<'a> {
    pub server: &'a Server,
    pub shell: &'a Shell<'a>,
    pub user: User,
    pub namespace: &'a str,
}

/// Plays scenarios on a cluster of everybody who can run one.
#[track_caller]
pub fn play(scenarios: &[Scenario]) {
    for user in User::all() {
        play_as(user, scenarios);
    }
}

#[track_caller]
pub fn play_as(user: User, scenarios: &[Scenario]) {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let server = Server::start_with_pods(user);
    let shell = Shell::new(&server, &[("kubectl", &kubectl)]);
    ready(&shell);
    play_on(&server, &shell, user, scenarios);
}

/// Plays scenarios on a cluster that somebody else looks after.
#[track_caller]
pub fn play_on<Play: Fn(&Team<'_>) + Sync>(
    server: &Server,
    shell: &Shell<'_>,
    user: User,
    scenarios: &[(&str, Play)],
) {
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (name, scenario) in scenarios {
            let failed = &failed;
            scope.spawn(move || {
                let namespace = &name.replace(' ', "-");
                shell.ok(&format!("kubectl create namespace {namespace}"));
                let team = Team {
                    server,
                    shell,
                    user,
                    namespace,
                };
                if panic::catch_unwind(AssertUnwindSafe(|| scenario(&team))).is_err() {
                    let situation = format!("{name}\n{}", team.situation());
                    failed
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(situation);
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(failed.is_empty(), "run by {user:?}: {}", failed.join("\n"));
}

/// The node is there, and so are the kinds of jobs.
pub fn ready(shell: &Shell<'_>) {
    let kinds = "tfjobs,pytorchjobs,xgboostjobs,paddlejobs,jaxjobs,mpijobs,mxjobs.kubeflow.org,\
                 mxjobs.mxnet.mlkube.io,mxjobs.mlkube.io";
    let line = format!(
        "timeout 60 sh -c 'until kubectl wait --for=condition=Ready node --all && kubectl get {kinds}; do sleep 0.1; done'"
    );
    shell.ok(&line);
}

impl Team<'_> {
    /// `kubectl` with these arguments in the team's namespace.
    pub fn run(&self, arguments: &str) -> Output {
        self.shell
            .run(&format!("kubectl --namespace {} {arguments}", self.namespace))
    }

    /// The output of `kubectl`, which must succeed.
    #[track_caller]
    pub fn ok(&self, arguments: &str) -> String {
        self.shell
            .ok(&format!("kubectl --namespace {} {arguments}", self.namespace))
    }

    #[track_caller]
    pub fn apply(&self, manifest: &str) {
        self.ok(&format!("apply -f - <<'END'\n{manifest}\nEND"));
    }

    /// What the API says of a manifest that it does not take.
    #[track_caller]
    pub fn refusal(&self, manifest: &str) -> String {
        let output = self.run(&format!("apply -f - <<'END'\n{manifest}\nEND"));
        assert!(output.code != 0, "it was accepted: {manifest}");
        output.stderr
    }

    /// An object by `resource/name`, or a list by `resource`; nothing where it is not there.
    pub fn find(&self, what: &str) -> Value {
        let (resource, name) = what.split_once('/').unwrap_or((what, ""));
        let (group, plural) = match resource {
            "jobs" => ("apis/batch/v1", resource),
            "horizontalpodautoscalers" => ("apis/autoscaling/v2", resource),
            "roles" | "rolebindings" => ("apis/rbac.authorization.k8s.io/v1", resource),
            "mpijobs" => ("apis/kubeflow.org/v2beta1", resource),
            "tasks" | "taskdefinitions" | "callbackdeliveries" => ("apis/trainyard.dev/v1alpha1", resource),
            "workflows" | "cronworkflows" => ("apis/argoproj.io/v1alpha1", resource),
            "controllerrevisions" | "deployments" => ("apis/apps/v1", resource),
            "mxjobs.mxnet.mlkube.io" => ("apis/mxnet.mlkube.io/v1beta1", "mxjobs"),
            "mxjobs.mlkube.io" => ("apis/mlkube.io/v1beta1", "mxjobs"),
            resource if resource.ends_with("jobs") => ("apis/kubeflow.org/v1", resource),
            _ => ("api/v1", resource),
        };
        let path = format!("/{group}/namespaces/{}/{plural}/{name}", self.namespace);
        let path = path.trim_end_matches('/');
        let answer = get(&self.server.address(), path, Some(&self.server.token()));
        if answer.status == 404 {
            return Value::Null;
        }
        serde_json::from_str(&answer.body).expect("the answer is JSON")
    }

    /// The object when it has become what it should; fails with what it is.
    #[track_caller]
    pub fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let object = self.find(what);
            if is_so(&object) {
                return object;
            }
            assert!(
                Instant::now() < deadline,
                "{what} does not become what it should: {object:#}"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The job when the last of its conditions is this one.
    #[track_caller]
    pub fn until_is(&self, job: &str, state: &str) -> Value {
        self.until(job, |job| self::state(job) == state)
    }

    /// The job when its latest message has this text.
    #[track_caller]
    pub fn until_says(&self, job: &str, text: &str) -> Value {
        self.until(job, |job| message(job).contains(text))
    }

    /// The names of the pods that are there, in order.
    pub fn pods(&self) -> Vec<String> {
        names(&self.find("pods"))
    }

    #[track_caller]
    pub fn uid(&self, what: &str) -> String {
        let object = self.find(what);
        let uid = object["metadata"]["uid"].as_str();
        uid.unwrap_or_else(|| panic!("there is no {what}")).to_owned()
    }

    /// What somebody would want to see who looks for a mistake.
    fn situation(&self) -> String {
        let jobs = "tfjobs,pytorchjobs,xgboostjobs,paddlejobs,jaxjobs,mpijobs,mxjobs.kubeflow.org,mxjobs.mxnet.mlkube.io";
        let columns = "custom-columns=NAME:.metadata.name,MESSAGE:.status.conditions[-1:].message";
        let parts = [
            self.run("get pods,jobs -o wide"),
            self.run(&format!("get {jobs} -o '{columns}'")),
            self.run("get events"),
        ];
        parts.map(|part| part.stdout + &part.stderr).join("\n")
    }
}

pub fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().into_iter().flatten();
    let mut names: Vec<String> = items
        .filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned))
        .collect();
    names.sort_unstable();
    names
}

/// The type of the last condition: what `kubectl get` shows as the state.
pub fn state(job: &Value) -> &str {
    last(job)["type"].as_str().unwrap_or_default()
}

pub fn message(job: &Value) -> &str {
    last(job)["message"].as_str().unwrap_or_default()
}

fn last(job: &Value) -> &Value {
    let conditions = job["status"]["conditions"].as_array();
    conditions
        .and_then(|conditions| conditions.last())
        .unwrap_or(&Value::Null)
}

/// `Created Running -Suspended`: the types of conditions in their order, those that are not true marked.
pub fn conditions(job: &Value) -> String {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    let shown = conditions.map(|condition| {
        let sign = if condition["status"] == "True" { "" } else { "-" };
        format!("{sign}{}", condition["type"].as_str().unwrap_or_default())
    });
    shown.collect::<Vec<_>>().join(" ")
}
