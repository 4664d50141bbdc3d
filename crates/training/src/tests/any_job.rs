//! Jobs to tell stories of.

use proptest::prelude::*;

use super::job;

/// A job of any kind, with any policies.
pub(super) fn manifest() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        ("TFJob", "Chief:1 Worker:2 PS:1"),
        ("TFJob", "Worker:2"),
        ("PyTorchJob", "Master:1 Worker:2"),
        ("PyTorchJob", "Worker:3"),
        ("XGBoostJob", "Master:1 Worker:2"),
        ("PaddleJob", "Master:1 Worker:2"),
        ("JAXJob", "Worker:3"),
        ("MXJob", "Scheduler:1 Server:1 Worker:2"),
        ("v1", "Launcher:1 Worker:2"),
        ("v1alpha2", "Launcher:1 Worker:2"),
        ("v2beta1", "Launcher:1 Worker:2"),
        ("v2beta1 as worker", "Launcher:1 Worker:2"),
        ("mxnet.mlkube.io", ""),
        ("mlkube.io", ""),
    ]);
    let number = |most: i64| prop::option::of(0..most);
    let policy = prop::sample::select(vec!["Always", "OnFailure", "Never", "ExitCode"]);
    let clean = prop::sample::select(vec!["All", "Running", "None"]);
    let numbers = (number(5), number(300), number(900));
    (kind, policy, clean, numbers, any::<bool>()).prop_map(|((kind, roles), policy, clean, numbers, gang)| {
        if roles.is_empty() {
            return standalone(kind);
        }
        let (limit, ttl, deadline) = numbers;
        let field = |name: &str, value: Option<i64>| value.map(|value| format!(", {name}: {value}"));
        let fields = [
            field("backoffLimit", limit),
            field("ttlSecondsAfterFinished", ttl),
            field("activeDeadlineSeconds", deadline),
        ];
        let fields: String = fields.into_iter().flatten().collect();
        let run_policy = format!("  runPolicy: {{cleanPodPolicy: {clean}{fields}}}\n");
        // The originals of v2beta1 know two of the policies.
        let policy = match (kind, policy) {
            ("v2beta1" | "v2beta1 as worker", "Always" | "ExitCode") => "OnFailure",
            (_, policy) => policy,
        };
        let roles: Vec<String> = roles
            .split_whitespace()
            .map(|role| format!("{role}:{policy}"))
            .collect();
        let yaml = written(kind, &roles.join(" "), &run_policy);
        if gang {
            let annotated = "{name: j, annotations: {trainyard.dev/gang-restart: \"true\"}}";
            return yaml.replace("{name: j}", annotated);
        }
        yaml
    })
}

fn written(kind: &str, roles: &str, policy: &str) -> String {
    match kind {
        "TFJob" => super::tensorflow(roles, policy),
        "PyTorchJob" => super::pytorch(roles, policy),
        "JAXJob" => super::jax(roles, policy),
        "XGBoostJob" => job(kind, "xgbReplicaSpecs", "xgboost", roles, policy),
        "PaddleJob" => job(kind, "paddleReplicaSpecs", "paddle", roles, policy),
        "MXJob" => {
            let policy = format!("  jobMode: MXTrain\n{policy}");
            job(kind, "mxReplicaSpecs", "mxnet", roles, &policy)
        }
        "v2beta1 as worker" => {
            let policy = format!("  runLauncherAsWorker: true\n{policy}");
            written("v2beta1", roles, &policy)
        }
        version => job("MPIJob", "mpiReplicaSpecs", "mpi", roles, policy)
            .replace("kubeflow.org/v1", &format!("kubeflow.org/{version}")),
    }
}

fn standalone(group: &str) -> String {
    let replica = |role: &str, count: u32| {
        format!(
            "  - {{replicas: {count}, mxReplicaType: {role}, template: {{spec: {{restartPolicy: OnFailure, containers: [{{name: mxnet, image: i}}]}}}}}}\n"
        )
    };
    format!(
        "apiVersion: {group}/v1beta1\nkind: MxJob\nmetadata: {{name: j}}\nspec:\n  jobMode: dist\n  replicaSpecs:\n{}{}{}",
        replica("SCHEDULER", 1),
        replica("SERVER", 1),
        replica("WORKER", 2)
    )
}
