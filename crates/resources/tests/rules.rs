//! What the definitions say to objects that are made and changed.

use resources::{Kind, definitions, kinds};
use schemas::Structural;
use serde_json::{Value, json};

fn schema(kind: &Kind) -> Structural {
    let definition = definitions::definition(kind);
    Structural::new(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
}

fn job(kind: &Kind, name: &str, role: &str, replicas: u32) -> Value {
    let container = match kind.container {
        "" => "c",
        container => container,
    };
    let template = json!({"spec": {"containers": [{"name": container, "image": "i"}]}});
    let mut roles = json!({role: {"replicas": replicas, "template": template}});
    if kind.kind == "MPIJob" {
        roles["Launcher"] = json!({"replicas": 1, "template": template});
    }
    json!({
        "apiVersion": format!("{}/{}", kind.group, kind.versions[0]),
        "kind": kind.kind,
        "metadata": {"name": name},
        "spec": {kind.replicas_field: roles},
    })
}

fn said(errors: Vec<manifests::field::FieldError>) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn on_create(kind: &Kind, object: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    schemas::validate(object, &schema(kind), &mut errors);
    said(errors)
}

fn on_update(kind: &Kind, old: &Value, new: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    schemas::validate_update(new, old, &schema(kind), &mut errors);
    said(errors)
}

#[test]
fn who_manages_a_job_stays_also_when_its_run_policy_comes_or_goes() {
    let bare = job(&kinds::TF_JOB, "j", "Worker", 1);
    let mut managed = bare.clone();
    managed["spec"]["runPolicy"] = json!({"managedBy": "kueue.x-k8s.io/multikueue"});
    let refused = ["spec.runPolicy.managedBy: Invalid value: \"object\": field is immutable"];
    assert_eq!(on_update(&kinds::TF_JOB, &bare, &managed), refused);
    assert_eq!(on_update(&kinds::TF_JOB, &managed, &bare), refused);
    assert!(on_update(&kinds::TF_JOB, &managed, &managed).is_empty());
    let mut kept = bare.clone();
    kept["spec"]["runPolicy"] = json!({"backoffLimit": 1});
    assert!(on_update(&kinds::TF_JOB, &bare, &kept).is_empty());
}

#[test]
fn a_job_stays_in_its_queue_unless_it_is_an_mpi_job() {
    let queued = |kind: &Kind, queue: &str| {
        let mut job = job(kind, "j", "Worker", 1);
        job["spec"]["runPolicy"] = json!({"schedulingPolicy": {"queue": queue}});
        job
    };
    let change = |kind: &Kind| on_update(kind, &queued(kind, "a"), &queued(kind, "b"));
    assert_eq!(
        change(&kinds::PYTORCH_JOB),
        [
            "spec.runPolicy.schedulingPolicy.queue: Invalid value: \"string\": spec.runPolicy.schedulingPolicy.queue is immutable"
        ]
    );
    assert!(change(&kinds::MPI_JOB).is_empty());
}

#[test]
fn a_name_leaves_room_for_those_of_the_pods() {
    let name = |length: usize| "n".repeat(length);
    let refused = [format!(
        "metadata.name: Invalid value: \"object\": {}",
        resources::TOO_LONG
    )];
    let check = |kind: &Kind, length: usize, replicas: u32| {
        on_create(kind, &job(kind, &name(length), "Worker", replicas))
    };
    // `-worker-9` and `-launcher` have 9 characters, `-worker-10` has 10.
    for kind in [&kinds::TF_JOB, &kinds::PYTORCH_JOB, &kinds::MPI_JOB] {
        assert!(check(kind, 54, 10).is_empty(), "{}", kind.kind);
        assert_eq!(check(kind, 54, 11), refused, "{}", kind.kind);
        assert!(check(kind, 50, 10_000).is_empty(), "{}", kind.kind);
    }
    assert_eq!(check(&kinds::JAX_JOB, 63, 1), refused);
    let launcher = job(&kinds::MPI_JOB, &name(55), "Launcher", 1);
    assert_eq!(on_create(&kinds::MPI_JOB, &launcher), refused);
    let mut mxnet = json!({
        "apiVersion": "mxnet.mlkube.io/v1beta1", "kind": "MxJob", "metadata": {"name": name(46)},
        "spec": {"jobMode": "dist", "replicaSpecs": []},
    });
    assert!(on_create(&kinds::MX_JOB, &mxnet).is_empty());
    mxnet["spec"]["RuntimeId"] = json!("abcde");
    assert_eq!(on_create(&kinds::MX_JOB, &mxnet).len(), 1);
}

#[test]
fn roles_are_known_in_any_spelling() {
    let roles = |kind: &Kind, roles: &[(&str, u32)]| {
        let mut object = job(kind, "j", "Worker", 1);
        let replica = object["spec"][kind.replicas_field]["Worker"].take();
        object["spec"][kind.replicas_field] = json!({});
        for (role, replicas) in roles {
            let mut replica = replica.clone();
            replica["replicas"] = json!(replicas);
            object["spec"][kind.replicas_field][*role] = replica;
        }
        on_create(kind, &object)
    };
    assert!(roles(&kinds::MPI_JOB, &[("launcher", 1), ("WORKER", 2)]).is_empty());
    assert_eq!(
        roles(&kinds::MPI_JOB, &[("launcher", 2)]),
        ["spec.mpiReplicaSpecs: Forbidden: Launcher replicas must be 1"]
    );
    assert_eq!(
        roles(&kinds::MPI_JOB, &[("worker", 2)]),
        ["spec.mpiReplicaSpecs: Required value: must have Launcher replica spec"]
    );
    assert!(roles(&kinds::XGBOOST_JOB, &[("MASTER", 1)]).is_empty());
    assert_eq!(
        roles(&kinds::PYTORCH_JOB, &[("master", 1), ("worker", 0)]),
        ["spec.pytorchReplicaSpecs: Forbidden: Worker replicas must be at least 1"]
    );
    let leaders = "spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role";
    assert_eq!(roles(&kinds::TF_JOB, &[("chief", 1), ("master", 1)]), [leaders]);
    assert_eq!(roles(&kinds::TF_JOB, &[("chief", 2)]), [leaders]);
    assert!(roles(&kinds::TF_JOB, &[("chief", 0), ("Master", 1), ("ps", 3)]).is_empty());
    let mut long = job(&kinds::MPI_JOB, &"n".repeat(54), "launcher", 1);
    long["spec"]["mpiReplicaSpecs"]
        .as_object_mut()
        .unwrap()
        .remove("Launcher");
    assert!(
        on_create(&kinds::MPI_JOB, &long).is_empty(),
        "`-launcher` has 9 characters"
    );
}

#[test]
fn a_job_with_a_long_name_that_was_stored_before_may_still_change() {
    let mut old = job(&kinds::TF_JOB, &"n".repeat(60), "Worker", 1);
    let mut new = old.clone();
    new["status"] = json!({"conditions": [{"type": "Failed", "status": "True"}]});
    let mut errors = Vec::new();
    schemas::validate_status_update(&new, &old, &schema(&kinds::TF_JOB), &mut errors);
    assert!(errors.is_empty(), "{errors:?}");
    old["metadata"]["finalizers"] = json!(["a/b"]);
    old["status"] = new["status"].clone();
    assert!(on_update(&kinds::TF_JOB, &old, &new).is_empty());
}

#[test]
fn a_word_that_was_stored_before_it_was_known_to_be_wrong_may_stay() {
    let mut old = job(&kinds::TF_JOB, "j", "Worker", 1);
    old["spec"]["runPolicy"] = json!({"cleanPodPolicy": "running"});
    let mut new = old.clone();
    new["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = json!(2);
    assert!(on_update(&kinds::TF_JOB, &old, &new).is_empty());
    new["spec"]["runPolicy"]["cleanPodPolicy"] = json!("all");
    let errors = on_update(&kinds::TF_JOB, &old, &new);
    assert!(
        errors[0].starts_with("spec.runPolicy.cleanPodPolicy: Unsupported value: \"all\""),
        "{errors:?}"
    );
}

/// Every field that any of the three versions has.
#[test]
fn an_mpi_job_goes_through_all_its_versions_without_losing_a_field() {
    let template = json!({
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i", "securityContext": {"runAsUser": 1}}], "hostIPC": true},
    });
    let replica = |restart: &str| json!({"replicas": 1, "restartPolicy": restart, "template": template});
    let spec = json!({
        "slotsPerWorker": 2,
        "runPolicy": {
            "cleanPodPolicy": "All", "ttlSecondsAfterFinished": 3, "activeDeadlineSeconds": 4, "backoffLimit": 5,
            "suspend": true, "managedBy": "kubeflow.org/mpi-operator",
            "schedulingPolicy": {
                "minAvailable": 1, "queue": "q", "minResources": {"cpu": "1"}, "priorityClass": "p",
                "scheduleTimeoutSeconds": 6,
            },
        },
        "mpiReplicaSpecs": {"Launcher": replica("Never"), "Worker": replica("OnFailure")},
        "mainContainer": "c", "cleanPodPolicy": "Running", "backoffLimit": 7, "activeDeadlineSeconds": 8,
        "ttlSecondsAfterFinished": 9, "schedulingPolicy": {"queue": "q"}, "mpiDistribution": "IntelMPI", "MPIDistribution": "IntelMPI",
        "sshAuthMountPath": "/keys", "launcherCreationPolicy": "WaitForWorkersReady", "mpiImplementation": "Intel",
        "runLauncherAsWorker": true,
    });
    let definition = definitions::definition(&kinds::MPI_JOB);
    let versions = definition["spec"]["versions"].as_array().unwrap();
    let known = versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].as_object();
    for field in known.unwrap().keys() {
        assert!(!spec[field].is_null(), "{field} is left out here");
    }
    let mut job = json!({"metadata": {"name": "j"}, "kind": "MPIJob", "spec": spec});
    for name in ["v1alpha2", "v1", "v2beta1", "v1alpha2"] {
        let version = versions.iter().find(|version| version["name"] == name).unwrap();
        let schema = Structural::new(&version["schema"]["openAPIV3Schema"]);
        job["apiVersion"] = json!(format!("kubeflow.org/{name}"));
        let pruned = schemas::prune(&mut job, &schema);
        schemas::default(&mut job, &schema);
        let mut errors = Vec::new();
        schemas::validate(&job, &schema, &mut errors);
        assert!(
            pruned.is_empty() && errors.is_empty(),
            "{name}: {pruned:?} {errors:?}"
        );
        assert_eq!(job["spec"], spec, "{name}");
    }
}
