//! Kueue itself, which knows nothing of us: jobs of every kind that it knows wait for quota, run, give way to others
//! and end, with it as it is released. `cargo xtask frameworks kueue` tries it.

mod installation;

use client_tests::{
    Output, User, binary, kueue,
    manifests::Job,
    needed,
    team::{Team, conditions, names, play_on},
};
use serde_json::Value;

use crate::simulation::{end, start, until_active, with_nodes};
use installation::Running;

/// A kind of jobs with two replicas.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    version: &'static str,
    roles: [(&'static str, u32, &'static str); 2],
    /// The beginnings of the names of pods whose success is the job's, after that of the job.
    deciding: &'static [&'static str],
}

const MASTER: [(&str, u32, &str); 2] = [("Master", 1, ""), ("Worker", 1, "")];
const LAUNCHER: [(&str, u32, &str); 2] = [("Launcher", 1, ""), ("Worker", 1, "")];
const KINDS: [Kind; 7] = [
    kind("PyTorchJob", "v1", MASTER, &["master-0"]),
    kind("TFJob", "v1", [("Chief", 1, ""), ("Worker", 1, "")], &["chief-0"]),
    kind("XGBoostJob", "v1", MASTER, &["master-0"]),
    kind("PaddleJob", "v1", MASTER, &["master-0", "worker-0"]),
    kind(
        "JAXJob",
        "v1",
        [("Worker", 2, ""), ("", 0, "")],
        &["worker-0", "worker-1"],
    ),
    kind("MPIJob", "v2beta1", LAUNCHER, &["launcher"]),
    // Kueue asks for another version than its users write.
    kind("MPIJob", "v1", LAUNCHER, &["launcher"]),
];

const fn kind(
    name: &'static str,
    version: &'static str,
    roles: [(&'static str, u32, &'static str); 2],
    deciding: &'static [&'static str],
) -> Kind {
    Kind {
        name,
        version,
        roles,
        deciding,
    }
}

#[test]
#[ignore = "large: cargo xtask frameworks kueue"]
fn jobs_of_every_kind_wait_run_give_way_and_end() {
    let Some(kueue) = needed(kueue()) else { return };
    with_nodes(|server, shell| {
        let _operator = start(server, shell);
        let _kueue = Running::start(&kueue, server, shell);
        shell.ok(&format!("kubectl apply -f - <<'END'\n{HIGH}\nEND"));
        let scenarios: Vec<_> = KINDS
            .into_iter()
            .flat_map(|kind| {
                let name = |what: &str| format!("{} {} {what}", kind.name, kind.version).to_lowercase();
                let waits: Box<dyn Fn(&Team<'_>) + Sync> = Box::new(move |team| waits(team, kind));
                let gives_way: Box<dyn Fn(&Team<'_>) + Sync> = Box::new(move |team| gives_way(team, kind));
                [(name("waits"), waits), (name("gives-way"), gives_way)]
            })
            .collect();
        let scenarios: Vec<_> = scenarios
            .iter()
            .map(|(name, play)| (name.as_str(), play))
            .collect();
        play_on(server, shell, User::Us, &scenarios);
    });
}

const HIGH: &str =
    "{apiVersion: kueue.x-k8s.io/v1beta1, kind: WorkloadPriorityClass, metadata: {name: high}, value: 1000}";

/// A queue with room for one job.
fn queue(team: &Team<'_>) {
    let name = team.namespace;
    team.apply(&format!(
        "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {{name: {name}}}, spec: {{\
         namespaceSelector: {{}}, preemption: {{withinClusterQueue: LowerPriority}}, \
         resourceGroups: [{{coveredResources: [cpu], flavors: [{{name: simulated, resources: \
         [{{name: cpu, nominalQuota: 3}}]}}]}}]}}}}"
    ));
    // The older of the versions that Kueue serves, which its own program converts.
    team.apply(&format!(
        "{{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, metadata: {{name: queue}}, spec: {{clusterQueue: {name}}}}}"
    ));
}

impl Kind {
    /// Where the team finds it.
    fn path(self, job: &str) -> String {
        format!("{}s/{job}", self.name.to_lowercase())
    }

    /// As the command line takes it.
    fn reference(self, job: &str) -> String {
        format!("{}/{job}", self.name.to_lowercase())
    }

    fn submit(self, team: &Team<'_>, name: &str, labels: &str) {
        let roles: Vec<_> = self
            .roles
            .into_iter()
            .filter(|(_, count, _)| *count > 0)
            .collect();
        let job = Job {
            kind: self.name,
            name,
            roles: &roles,
            container: "resources: {requests: {cpu: 1}}",
            // Somebody else's words about where its pods go must not be lost.
            pod: "nodeSelector: {kubernetes.io/os: linux}",
            ..Job::default()
        };
        let manifest = job
            .manifest()
            .replacen(
                &format!("metadata: {{name: {name},"),
                &format!("metadata: {{name: {name}, labels: {{kueue.x-k8s.io/queue-name: queue{labels}}},"),
                1,
            )
            // Pods of Jobs run for a second on simulated nodes unless they say more.
            .replace(
                "template: {spec",
                "template: {metadata: {annotations: {trainyard.dev/simulated-duration: \"3600\"}}, spec",
            )
            .replacen("kubeflow.org/v1,", &format!("kubeflow.org/{},", self.version), 1);
        team.apply(&manifest);
    }

    /// The job when all of it runs where its queue has room.
    fn until_runs(self, team: &Team<'_>, job: &str) {
        for (role, count, _) in self.roles.into_iter().filter(|(_, count, _)| *count > 0) {
            until_active(team, &self.path(job), role, count);
        }
        let pods = of(team, job);
        assert_eq!(pods.len(), 2, "{pods:#?}");
        for pod in pods {
            let nodes = &pod["spec"]["nodeSelector"];
            assert_eq!(nodes["trainyard.dev/simulated"], "true", "{nodes}");
            assert_eq!(nodes["kubernetes.io/os"], "linux", "{nodes}");
        }
    }

    fn succeed(self, team: &Team<'_>, job: &str) {
        for deciding in self.deciding {
            let beginning = format!("{job}-{deciding}");
            let pods = team.pods();
            let pod = pods.iter().find(|pod| pod.starts_with(&beginning)).unwrap();
            end(team, pod, 0);
        }
        let ended = team.until_is(&self.path(job), "Succeeded");
        assert!(ended["status"]["restarts"].is_null(), "{ended:#}");
        let workload = until_workload(team, job, |workload| is(workload, "Finished"));
        assert_eq!(
            condition(&workload, "Finished")["reason"],
            "Succeeded",
            "{workload:#}"
        );
    }
}

/// The pods of a job.
fn of(team: &Team<'_>, job: &str) -> Vec<Value> {
    let mut pods = team.find("pods");
    let pods = pods["items"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    let is_of = |pod: &Value| pod["metadata"]["labels"]["training.kubeflow.org/job-name"] == job;
    pods.into_iter().filter(is_of).collect()
}

/// What Kueue makes of a job, when it has become what it should.
#[track_caller]
fn until_workload(team: &Team<'_>, job: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut found = Value::Null;
    crate::until(&format!("the workload of {job} in {}", team.namespace), || {
        let list = team.ok("get workloads.kueue.x-k8s.io -o json");
        let list: Value = serde_json::from_str(&list).unwrap();
        let of_job = |workload: &&Value| workload["metadata"]["ownerReferences"][0]["name"] == job;
        let workload = list["items"]
            .as_array()
            .and_then(|items| items.iter().find(of_job));
        found = workload.cloned().unwrap_or_default();
        is_so(&found)
    });
    found
}

fn condition<'v>(workload: &'v Value, name: &str) -> &'v Value {
    let conditions = workload["status"]["conditions"].as_array().into_iter().flatten();
    let mut named = conditions.filter(|condition| condition["type"] == name);
    named.next().unwrap_or(&Value::Null)
}

fn is(workload: &Value, name: &str) -> bool {
    condition(workload, name)["status"] == "True"
}

/// What the user of a team sees.
fn trainyard(team: &Team<'_>, verb: &str, job: &str) -> Output {
    let (kubeconfig, namespace) = (team.server.kubeconfig(), team.namespace);
    team.shell.run(&format!(
        "{} {verb} {job} --kubeconfig {} --namespace {namespace}",
        binary().display(),
        kubeconfig.display(),
    ))
}

/// There is room for one: the other runs when that has ended.
fn waits(team: &Team<'_>, kind: Kind) {
    queue(team);
    kind.submit(team, "first", "");
    kind.until_runs(team, "first");
    kind.submit(team, "second", "");
    let waiting = team.until_is(&kind.path("second"), "Suspended");
    assert_eq!(waiting["spec"]["runPolicy"]["suspend"], true);
    assert!(waiting["status"]["startTime"].is_null(), "{waiting:#}");
    let workload = until_workload(team, "second", |workload| {
        condition(workload, "QuotaReserved")["message"].is_string()
    });
    assert!(!is(&workload, "QuotaReserved"), "{workload:#}");
    assert!(of(team, "second").is_empty());
    let told = trainyard(team, "why", &kind.reference("second"));
    assert_eq!(told.code, 1, "{told:?}");
    assert!(
        told.stdout.contains("it waits in the queue `queue`: "),
        "{told:?}"
    );
    assert!(
        told.stdout.contains("insufficient unused quota for cpu"),
        "{told:?}"
    );
    kind.succeed(team, "first");
    kind.until_runs(team, "second");
    stopped_and_resumed(team, kind, "second");
    kind.succeed(team, "second");
}

/// Kueue starts again what somebody suspends, unless it is told.
fn stopped_and_resumed(team: &Team<'_>, kind: Kind, job: &str) {
    let stopped = trainyard(team, "stop", &kind.reference(job));
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert!(of(team, job).is_empty());
    let workload = until_workload(team, job, |workload| !is(workload, "QuotaReserved"));
    assert_eq!(workload["spec"]["active"], false, "{workload:#}");
    let told = trainyard(team, "why", &kind.reference(job));
    assert!(
        told.stdout.contains("it was taken out of the queue `queue`"),
        "{told:?}"
    );
    change(team, kind, job);
    let workload = until_workload(team, job, |workload| workload.to_string().contains("\"900m\""));
    assert_eq!(workload["spec"]["active"], false, "{workload:#}");
    let resumed = trainyard(team, "resume", &kind.reference(job));
    assert_eq!(resumed.code, 0, "{resumed:?}");
    kind.until_runs(team, job);
}

/// Makes a job that stands still ask for less.
fn change(team: &Team<'_>, kind: Kind, job: &str) {
    let object = team.find(&kind.path(job));
    let fields = object["spec"].as_object().unwrap();
    let replicas = fields.keys().find(|field| field.ends_with("ReplicaSpecs"));
    let path = format!(
        "/spec/{}/Worker/template/spec/containers/0/resources/requests/cpu",
        replicas.unwrap()
    );
    let patch = serde_json::json!([{"op": "replace", "path": path, "value": "900m"}]);
    team.ok(&format!("patch {} --type=json -p '{patch}'", kind.reference(job)));
}

/// What matters more takes the place of what runs, which goes on when that has ended.
fn gives_way(team: &Team<'_>, kind: Kind) {
    queue(team);
    kind.submit(team, "low", "");
    kind.until_runs(team, "low");
    kind.submit(team, "high", ", kueue.x-k8s.io/priority-class: high");
    kind.until_runs(team, "high");
    let waiting = team.until(&kind.path("low"), |job| {
        conditions(job).ends_with("-Running Suspended")
    });
    assert_eq!(waiting["spec"]["runPolicy"]["suspend"], true);
    // Kueue takes its own words back.
    assert!(
        !waiting["spec"]
            .to_string()
            .contains("trainyard.dev/simulated\":\"true"),
        "{waiting:#}"
    );
    let workload = until_workload(team, "low", |workload| {
        is(workload, "Preempted") || is(workload, "Evicted")
    });
    assert!(!is(&workload, "Admitted"), "{workload:#}");
    team.until("pods", |pods| {
        names(pods).iter().all(|pod| pod.starts_with("high-"))
    });
    kind.succeed(team, "high");
    kind.until_runs(team, "low");
    kind.succeed(team, "low");
}
