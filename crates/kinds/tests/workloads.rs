//! Pods and workloads against what the real server (v1.34.4) says of the same objects. A case is a
//! good object (`bases.json`) with some fields set (`"a/b/0/c"` is a path, `+` appends, null removes;
//! `~1` is a slash in a key); `old` is set before `set` and makes the object that is changed.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a broken case should fail its test"
)]

use kinds::{checks, pods, strategy::Strategy, workloads};
use manifests::field::FieldError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

type Prepare = fn(&mut Value, &Value);
type Validate = fn(&Value, &Value, &mut Vec<FieldError>);

const UID: &str = "6d8f1a52-0b6e-4a57-9a0e-1f2d3c4b5a69";

#[derive(Deserialize)]
struct Case {
    name: String,
    kind: String,
    op: String,
    #[serde(default)]
    old: Map<String, Value>,
    #[serde(default)]
    set: Map<String, Value>,
    #[serde(default)]
    errors: Vec<String>,
    #[serde(default)]
    warnings: Vec<String>,
    /// The object as it is stored, for a few cases.
    prepared: Option<Value>,
}

#[test]
fn new_pods_are_judged_as_the_real_server_judges_them() {
    check(include_str!("workloads/pods.json"));
}

#[test]
fn changed_pods_are_judged_as_the_real_server_judges_them() {
    check(include_str!("workloads/pod_updates.json"));
}

#[test]
fn pods_are_filled_in_as_the_real_server_fills_them_in() {
    check(include_str!("workloads/pod_defaults.json"));
}

#[test]
fn applications_are_judged_as_the_real_server_judges_them() {
    check(include_str!("workloads/apps.json"));
}

#[test]
fn jobs_are_judged_as_the_real_server_judges_them() {
    check(include_str!("workloads/jobs.json"));
}

#[test]
fn annotations_together_have_a_limit() {
    let mut errors = Vec::new();
    let pod = json!({"metadata": {"name": "web", "namespace": "default", "annotations": {"big": "x".repeat(1 << 18)}}});
    (pods::POD.validate)(&pod, &mut errors);
    assert_eq!(
        errors[0].to_string(),
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    );
}

#[track_caller]
fn check(cases: &str) {
    let bases: Value = serde_json::from_str(include_str!("workloads/bases.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(cases).unwrap();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| difference(case, &bases[&case.kind]))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} cases differ:\n\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n\n")
    );
}

fn difference(case: &Case, base: &Value) -> Option<String> {
    let (object, errors, warnings) = judged(case, base);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let warnings = if errors.is_empty() { warnings } else { Vec::new() };
    let as_expected = case
        .prepared
        .as_ref()
        .is_none_or(|prepared| checks::same(prepared, &object));
    (errors != case.errors || warnings != case.warnings || !as_expected).then(|| {
        format!(
            "{} ({} {})\n  expected {:#?} {:#?}\n  found {errors:#?} {warnings:#?}{}",
            case.name,
            case.op,
            case.kind,
            case.errors,
            case.warnings,
            if as_expected {
                String::new()
            } else {
                format!("\n  stored {object:#}")
            },
        )
    })
}

fn judged(case: &Case, base: &Value) -> (Value, Vec<FieldError>, Vec<String>) {
    let mut errors = Vec::new();
    if case.kind == "Binding" {
        let binding = with(base, &case.set);
        pods::validate_binding(&binding, &mut errors);
        return (binding, errors, Vec::new());
    }
    let strategy = strategy(&case.kind);
    if case.op == "create" {
        let mut object = with(base, &case.set);
        (strategy.default)(&mut object);
        (strategy.prepare_for_create)(&mut object);
        (strategy.validate)(&object, &mut errors);
        let warnings = (strategy.warnings_on_create)(&object);
        return (object, errors, warnings);
    }
    let mut old = existing(with(base, &case.old));
    let mut new = with(&old, &case.set);
    (strategy.default)(&mut old);
    (strategy.default)(&mut new);
    let (prepare, validate): (Prepare, Validate) = match case.op.as_str() {
        "update" => (strategy.prepare_for_update, strategy.validate_update),
        "status" => (
            strategy.prepare_for_status_update,
            strategy.validate_status_update,
        ),
        "ephemeralcontainers" => (
            pods::ephemeral_containers::prepare_for_update,
            pods::ephemeral_containers::validate_update,
        ),
        "resize" => (pods::resize::prepare_for_update, pods::resize::validate_update),
        other => panic!("no such operation: {other}"),
    };
    prepare(&mut new, &old);
    validate(&new, &old, &mut errors);
    let warnings = if case.op == "update" {
        (strategy.warnings_on_update)(&new, &old)
    } else {
        Vec::new()
    };
    (new, errors, warnings)
}

/// What the server has added to an object by the time it is changed.
fn existing(mut object: Value) -> Value {
    object["metadata"]["resourceVersion"] = json!("1");
    object["metadata"]["uid"] = json!(UID);
    if object["kind"] == "Pod" && object["status"]["qosClass"].is_null() {
        object["status"]["qosClass"] = json!("BestEffort");
    }
    if object["kind"] == "Job" {
        let name = object["metadata"]["name"].clone();
        let labels = &mut object["spec"]["template"]["metadata"]["labels"];
        for (key, value) in [
            ("job-name", &name),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", &json!(UID)),
            ("batch.kubernetes.io/controller-uid", &json!(UID)),
        ] {
            labels[key] = value.clone();
        }
        object["spec"]["selector"] = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": UID}});
    }
    object
}

fn strategy(kind: &str) -> &'static Strategy {
    match kind {
        "Pod" => &pods::POD,
        "PodTemplate" => &workloads::pod_template::POD_TEMPLATE,
        "ReplicationController" => &workloads::replication_controller::REPLICATION_CONTROLLER,
        "Deployment" => &workloads::deployment::DEPLOYMENT,
        "ReplicaSet" => &workloads::replica_set::REPLICA_SET,
        "StatefulSet" => &workloads::stateful_set::STATEFUL_SET,
        "DaemonSet" => &workloads::daemon_set::DAEMON_SET,
        "ControllerRevision" => &workloads::controller_revision::CONTROLLER_REVISION,
        "Job" => &workloads::job::JOB,
        "CronJob" => &workloads::cron_job::CRON_JOB,
        other => panic!("no such kind: {other}"),
    }
}

fn with(base: &Value, changes: &Map<String, Value>) -> Value {
    let mut object = base.clone();
    for (path, value) in changes {
        let keys: Vec<String> = path.split('/').map(|key| key.replace("~1", "/")).collect();
        set(&mut object, &keys, value);
    }
    object
}

fn set(target: &mut Value, keys: &[String], value: &Value) {
    let (key, rest) = keys.split_first().unwrap();
    if target.is_null() {
        *target = if key == "+" || key == "0" {
            json!([])
        } else {
            json!({})
        };
    }
    match target {
        Value::Array(items) if key == "+" => items.push(value.clone()),
        Value::Array(items) => set_or_go_on(&mut items[key.parse::<usize>().unwrap()], rest, value),
        Value::Object(fields) if rest.is_empty() && value.is_null() => {
            fields.remove(key);
        }
        Value::Object(fields) => set_or_go_on(fields.entry(key).or_insert(Value::Null), rest, value),
        other => panic!("cannot set {key} of {other}"),
    }
}

fn set_or_go_on(target: &mut Value, rest: &[String], value: &Value) {
    if rest.is_empty() {
        *target = value.clone();
    } else {
        set(target, rest, value);
    }
}
