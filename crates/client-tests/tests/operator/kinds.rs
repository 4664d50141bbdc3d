//! A job of every kind and version to its end: all of its replicas run, one decides, and the job says so.

use client_tests::team::{Team, names, state};
use serde_json::Value;

use crate::simulation::{SIMULATED, end, play};

/// A kind in one of its versions.
struct Case {
    name: &'static str,
    api_version: &'static str,
    kind: &'static str,
    /// `TEMPLATE` stands for the template of a pod whose container is called by the name behind it.
    spec: &'static str,
    /// The pods that run, without the name of the job before them.
    pods: &'static [&'static str],
    decides: Decides,
    /// What else is made, as `resource/name`, `JOB` being the name of the job.
    others: &'static [&'static str],
}

/// Whose end is the end of the job.
enum Decides {
    Pod(&'static str),
    /// The batch Job whose name begins so.
    BatchJob(&'static str),
}

const CASES: [Case; 12] = [
    Case {
        name: "tfjob",
        api_version: "kubeflow.org/v1",
        kind: "TFJob",
        spec: "{tfReplicaSpecs: {Chief: {replicas: 1, restartPolicy: Never, TEMPLATE tensorflow}, PS: {replicas: 1, TEMPLATE tensorflow}, Worker: {replicas: 2, TEMPLATE tensorflow}, Evaluator: {replicas: 1, TEMPLATE tensorflow}}}",
        pods: &["chief-0", "evaluator-0", "ps-0", "worker-0", "worker-1"],
        decides: Decides::Pod("chief-0"),
        others: &["services/JOB-chief-0", "services/JOB-ps-0"],
    },
    Case {
        name: "pytorchjob",
        api_version: "kubeflow.org/v1",
        kind: "PyTorchJob",
        spec: "{pytorchReplicaSpecs: {Master: {replicas: 1, restartPolicy: Never, TEMPLATE pytorch}, Worker: {replicas: 2, TEMPLATE pytorch}}}",
        pods: &["master-0", "worker-0", "worker-1"],
        decides: Decides::Pod("master-0"),
        others: &["services/JOB-master-0"],
    },
    Case {
        name: "pytorchjob-elastic",
        api_version: "kubeflow.org/v1",
        kind: "PyTorchJob",
        spec: "{elasticPolicy: {rdzvBackend: c10d, minReplicas: 1, maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}, pytorchReplicaSpecs: {Worker: {replicas: 2, restartPolicy: Never, TEMPLATE pytorch}}}",
        pods: &["worker-0", "worker-1"],
        decides: Decides::Pod("worker-0"),
        others: &["horizontalpodautoscalers/JOB", "services/JOB-worker-0"],
    },
    Case {
        name: "mxjob",
        api_version: "kubeflow.org/v1",
        kind: "MXJob",
        spec: "{jobMode: MXTrain, mxReplicaSpecs: {Scheduler: {replicas: 1, restartPolicy: Never, TEMPLATE mxnet}, Server: {replicas: 1, TEMPLATE mxnet}, Worker: {replicas: 1, TEMPLATE mxnet}}}",
        pods: &["scheduler-0", "server-0", "worker-0"],
        decides: Decides::Pod("scheduler-0"),
        others: &["services/JOB-scheduler-0"],
    },
    Case {
        name: "xgboostjob",
        api_version: "kubeflow.org/v1",
        kind: "XGBoostJob",
        spec: "{xgbReplicaSpecs: {Master: {replicas: 1, restartPolicy: Never, TEMPLATE xgboost}, Worker: {replicas: 2, TEMPLATE xgboost}}}",
        pods: &["master-0", "worker-0", "worker-1"],
        decides: Decides::Pod("master-0"),
        others: &["services/JOB-master-0"],
    },
    Case {
        name: "paddlejob",
        api_version: "kubeflow.org/v1",
        kind: "PaddleJob",
        spec: "{paddleReplicaSpecs: {Master: {replicas: 1, restartPolicy: Never, TEMPLATE paddle}, Worker: {replicas: 2, TEMPLATE paddle}}}",
        pods: &["master-0", "worker-0", "worker-1"],
        decides: Decides::Pod("master-0"),
        others: &["services/JOB-worker-0"],
    },
    Case {
        name: "jaxjob",
        api_version: "kubeflow.org/v1",
        kind: "JAXJob",
        spec: "{jaxReplicaSpecs: {Worker: {replicas: 1, restartPolicy: Never, TEMPLATE jax}}}",
        pods: &["worker-0"],
        decides: Decides::Pod("worker-0"),
        others: &["services/JOB-worker-0"],
    },
    Case {
        name: "mpijob-v1",
        api_version: "kubeflow.org/v1",
        kind: "MPIJob",
        spec: "{slotsPerWorker: 1, mpiReplicaSpecs: {Launcher: {replicas: 1, restartPolicy: Never, TEMPLATE mpi}, Worker: {replicas: 2, TEMPLATE mpi}}}",
        pods: &["launcher", "worker-0", "worker-1"],
        decides: Decides::Pod("launcher"),
        others: &[
            "configmaps/JOB-config",
            "serviceaccounts/JOB-launcher",
            "roles/JOB-launcher",
            "rolebindings/JOB-launcher",
        ],
    },
    Case {
        name: "mpijob-v1alpha2",
        api_version: "kubeflow.org/v1alpha2",
        kind: "MPIJob",
        spec: "{slotsPerWorker: 1, backoffLimit: 0, mpiReplicaSpecs: {Launcher: {replicas: 1, TEMPLATE mpi}, Worker: {replicas: 2, TEMPLATE mpi}}}",
        pods: &["worker-0", "worker-1"],
        decides: Decides::BatchJob("launcher"),
        others: &[
            "configmaps/JOB-config",
            "serviceaccounts/JOB-launcher",
            "roles/JOB-launcher",
            "rolebindings/JOB-launcher",
        ],
    },
    Case {
        name: "mpijob-v2beta1",
        api_version: "kubeflow.org/v2beta1",
        kind: "MPIJob",
        spec: "{slotsPerWorker: 1, runPolicy: {backoffLimit: 0}, mpiReplicaSpecs: {Launcher: {replicas: 1, TEMPLATE mpi}, Worker: {replicas: 2, TEMPLATE mpi}}}",
        pods: &["worker-0", "worker-1"],
        decides: Decides::BatchJob("launcher"),
        others: &["configmaps/JOB-config", "services/JOB"],
    },
    Case {
        name: "mxjob-mlkube",
        api_version: "mxnet.mlkube.io/v1beta1",
        kind: "MxJob",
        spec: "{jobMode: dist, replicaSpecs: [{mxReplicaType: SCHEDULER, PsRootPort: 9091, replicas: 1, TEMPLATE mxnet}, {mxReplicaType: SERVER, replicas: 1, TEMPLATE mxnet}, {mxReplicaType: WORKER, replicas: 2, TEMPLATE mxnet}]}",
        pods: &[],
        decides: Decides::BatchJob("scheduler"),
        others: &[],
    },
    Case {
        name: "mxjob-readme",
        api_version: "mlkube.io/v1beta1",
        kind: "MxJob",
        spec: "{replica_specs: [{mxReplicaType: MASTER, PsRootPort: 9091, replicas: 1, TEMPLATE mxnet}]}",
        pods: &[],
        decides: Decides::BatchJob(""),
        others: &[],
    },
];

#[test]
fn a_job_of_every_kind_and_version_comes_to_the_end_its_replicas_come_to() {
    let scenarios = CASES.each_ref().map(|case| {
        let play = move |team: &Team<'_>| {
            for (job, code) in [("good", 0), ("bad", 1)] {
                case.submit(team, job);
                case.play(team, job, code);
            }
        };
        (case.name, play)
    });
    play(&scenarios);
}

impl Case {
    fn submit(&self, team: &Team<'_>, job: &str) {
        let template = |container: &str| {
            // Pods of batch Jobs would come to an end by themselves.
            format!(
                "template: {{metadata: {{annotations: {{trainyard.dev/simulated-duration: \"86400\"}}}}, \
                 spec: {{restartPolicy: Never, {SIMULATED}, containers: [{{name: {container}, image: none, command: [train]}}]}}}}"
            )
        };
        let containers = [
            "tensorflow",
            "pytorch",
            "mxnet",
            "xgboost",
            "paddle",
            "jax",
            "mpi",
        ];
        let spec = containers.iter().fold(self.spec.to_owned(), |spec, container| {
            spec.replace(&format!("TEMPLATE {container}"), &template(container))
        });
        let Self {
            api_version, kind, ..
        } = self;
        team.apply(&format!(
            "{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: {job}}}, spec: {spec}}}"
        ));
    }

    /// `resource/name` of a job, in the version it is looked at.
    fn path(&self, job: &str) -> String {
        match self.api_version.strip_suffix("/v1beta1") {
            Some(group) => format!("mxjobs.{group}/{job}"),
            None => format!("{}s/{job}", self.kind.to_lowercase()),
        }
    }

    fn play(&self, team: &Team<'_>, job: &str, code: i32) {
        let path = self.path(job);
        team.until(&path, |job| self.is(job, "Running"));
        let made = |list: &Value| {
            let names = names(list);
            let wanted = self.pods.iter().map(|pod| format!("{job}-{pod}"));
            wanted.into_iter().all(|pod| names.contains(&pod))
        };
        team.until("pods", made);
        for other in self.others {
            team.until(&other.replace("JOB", job), Value::is_object);
        }
        end(team, &self.decider(team, job), code);
        let wanted = if code == 0 { "Succeeded" } else { "Failed" };
        let ended = team.until(&path, |job| self.is(job, wanted));
        if self.kind != "MxJob" {
            assert!(
                !ended["status"]["completionTime"].is_null(),
                "{}",
                ended["status"]
            );
            assert_eq!(ended["status"]["observedGeneration"], 1);
        }
    }

    fn is(&self, job: &Value, wanted: &str) -> bool {
        match (self.kind, wanted) {
            ("MxJob", "Running") => job["status"]["phase"] == "Running",
            ("MxJob", end) => job["status"]["state"] == end,
            _ => state(job) == wanted,
        }
    }

    /// The pod whose end is the end of the job.
    fn decider(&self, team: &Team<'_>, job: &str) -> String {
        let prefix = match self.decides {
            Decides::Pod(pod) => return format!("{job}-{pod}"),
            Decides::BatchJob(prefix) => format!("{job}-{prefix}"),
        };
        let is_of_it = |pod: &&Value| {
            let owner = &pod["metadata"]["ownerReferences"][0];
            let name = owner["name"].as_str().unwrap_or_default();
            owner["kind"] == "Job" && name.starts_with(&prefix)
        };
        let pods = team.until("pods", |pods| {
            pods["items"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|pod| is_of_it(&pod))
        });
        let found = pods["items"].as_array().into_iter().flatten().find(is_of_it);
        let name = found.and_then(|pod| pod["metadata"]["name"].as_str());
        name.unwrap_or_default().to_owned()
    }
}
