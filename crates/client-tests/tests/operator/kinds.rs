//! A job of every kind to its end. The test plays the kubelet and the Job controller, so that the same runs
//! on a server without nodes, ours and the real one (`TRAINYARD_TESTS_AGAINST=real`).

use client_tests::Shell;

use crate::{apply, process::Operator, until, with_server};

/// A kind, what its specification says, the pod or batch Job that decides, and the kind of that.
struct Case {
    resource: &'static str,
    api_version: &'static str,
    kind: &'static str,
    spec: &'static str,
    decides: &'static str,
}

const CASES: [Case; 9] = [
    Case {
        resource: "tfjobs.kubeflow.org",
        api_version: "kubeflow.org/v1",
        kind: "TFJob",
        spec: "{tfReplicaSpecs: {Chief: {replicas: 1, template: {spec: {containers: [{name: tensorflow, image: i}]}}}, PS: {replicas: 1, template: {spec: {containers: [{name: tensorflow, image: i}]}}}}}",
        decides: "pod/j-chief-0",
    },
    Case {
        resource: "pytorchjobs.kubeflow.org",
        api_version: "kubeflow.org/v1",
        kind: "PyTorchJob",
        spec: "{pytorchReplicaSpecs: {Master: {replicas: 1, restartPolicy: Never, template: {spec: {containers: [{name: pytorch, image: i}]}}}, Worker: {replicas: 2, restartPolicy: Never, template: {spec: {containers: [{name: pytorch, image: i}]}}}}}",
        decides: "pod/j-master-0",
    },
    Case {
        resource: "mxjobs.kubeflow.org",
        api_version: "kubeflow.org/v1",
        kind: "MXJob",
        spec: "{jobMode: MXTrain, mxReplicaSpecs: {Scheduler: {replicas: 1, template: {spec: {containers: [{name: mxnet, image: i}]}}}, Server: {replicas: 1, template: {spec: {containers: [{name: mxnet, image: i}]}}}, Worker: {replicas: 1, template: {spec: {containers: [{name: mxnet, image: i}]}}}}}",
        decides: "pod/j-scheduler-0",
    },
    Case {
        resource: "xgboostjobs.kubeflow.org",
        api_version: "kubeflow.org/v1",
        kind: "XGBoostJob",
        spec: "{xgbReplicaSpecs: {Master: {replicas: 1, template: {spec: {containers: [{name: xgboost, image: i}]}}}, Worker: {replicas: 1, template: {spec: {containers: [{name: xgboost, image: i}]}}}}}",
        decides: "pod/j-master-0",
    },
    Case {
        resource: "paddlejobs.kubeflow.org",
        api_version: "kubeflow.org/v1",
        kind: "PaddleJob",
        spec: "{paddleReplicaSpecs: {Worker: {replicas: 1, restartPolicy: Never, template: {spec: {containers: [{name: paddle, image: i}]}}}}}",
        decides: "pod/j-worker-0",
    },
    Case {
        resource: "jaxjobs.kubeflow.org",
        api_version: "kubeflow.org/v1",
        kind: "JAXJob",
        spec: "{jaxReplicaSpecs: {Worker: {replicas: 1, template: {spec: {containers: [{name: jax, image: i}]}}}}}",
        decides: "pod/j-worker-0",
    },
    Case {
        resource: "mpijobs.kubeflow.org",
        api_version: "kubeflow.org/v1",
        kind: "MPIJob",
        spec: "{slotsPerWorker: 1, cleanPodPolicy: Running, mpiReplicaSpecs: {Launcher: {replicas: 1, template: {spec: {containers: [{name: mpi, image: i}]}}}, Worker: {replicas: 2, template: {spec: {containers: [{name: mpi, image: i}]}}}}}",
        decides: "pod/j-launcher",
    },
    Case {
        resource: "mpijobs.kubeflow.org",
        api_version: "kubeflow.org/v2beta1",
        kind: "MPIJob",
        spec: "{slotsPerWorker: 1, mpiImplementation: OpenMPI, mpiReplicaSpecs: {Launcher: {replicas: 1, template: {spec: {containers: [{name: mpi, image: i}]}}}, Worker: {replicas: 2, template: {spec: {containers: [{name: mpi, image: i, command: [/usr/sbin/sshd]}]}}}}}",
        decides: "job/j-launcher",
    },
    Case {
        resource: "mxjobs.mxnet.mlkube.io",
        api_version: "mxnet.mlkube.io/v1beta1",
        kind: "MxJob",
        spec: "{RuntimeId: abcd, jobMode: local, replicaSpecs: [{mxReplicaType: WORKER, template: {spec: {containers: [{name: mxnet, image: i}], restartPolicy: Never}}}]}",
        decides: "job/j-worker-abcd-0",
    },
];

const SUCCEEDED_JOB: &str = r#"{"status":{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:01:00Z","succeeded":1,"conditions":[{"type":"SuccessCriteriaMet","status":"True","reason":"CompletionsReached","lastTransitionTime":"2026-01-01T00:01:00Z"},{"type":"Complete","status":"True","reason":"CompletionsReached","lastTransitionTime":"2026-01-01T00:01:00Z"}]}}"#;
const FAILED_JOB: &str = r#"{"status":{"startTime":"2026-01-01T00:00:00Z","failed":1,"conditions":[{"type":"FailureTarget","status":"True","reason":"BackoffLimitExceeded","message":"Job has reached the specified backoff limit","lastTransitionTime":"2026-01-01T00:01:00Z"},{"type":"Failed","status":"True","reason":"BackoffLimitExceeded","message":"Job has reached the specified backoff limit","lastTransitionTime":"2026-01-01T00:01:00Z"}]}}"#;

#[test]
fn a_job_of_every_kind_comes_to_the_end_its_replicas_come_to() {
    with_server(|server, shell| {
        let operator = Operator::start(server, &["--install-definitions"]);
        operator.says("leading as");
        for (number, case) in CASES.iter().enumerate() {
            until("the kind is served", || {
                shell.run(&format!("kubectl get {}", case.resource)).code == 0
            });
            for end in ["Succeeded", "Failed"] {
                // A batch Job of an MxJob that failed says nothing of why; its pods would.
                if case.kind != "MxJob" || end == "Succeeded" {
                    play(shell, case, &format!("case-{number}-{}", end.to_lowercase()), end);
                }
            }
        }
    });
}

#[track_caller]
fn play(shell: &Shell<'_>, case: &Case, namespace: &str, end: &str) {
    shell.ok(&format!("kubectl create namespace {namespace}"));
    let Case {
        resource,
        api_version,
        kind,
        spec,
        decides,
    } = case;
    let job = format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: j}}\nspec: {spec}\n");
    apply(shell, namespace, &job);
    until(&format!("{decides} of {kind} is made"), || {
        shell.run(&format!("kubectl get -n {namespace} {decides}")).code == 0
    });
    let status = match (decides.starts_with("job/"), end) {
        (true, "Succeeded") => SUCCEEDED_JOB.to_owned(),
        (true, _) => FAILED_JOB.to_owned(),
        (false, phase) => format!("{{\"status\":{{\"phase\":\"{phase}\"}}}}"),
    };
    shell.ok(&format!(
        "kubectl patch -n {namespace} {decides} --subresource=status --type=merge -p '{status}'"
    ));
    let path = if *kind == "MxJob" {
        "{.status.state}"
    } else {
        "{.status.conditions[-1:].type}"
    };
    let state = format!("kubectl get -n {namespace} {resource} j -o jsonpath='{path}'");
    until(&format!("{kind} of {api_version} has {end}"), || {
        shell.ok(&state) == end
    });
}
