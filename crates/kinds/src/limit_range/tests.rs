//! The table was written by the real server's own limit range code, from random objects and ranges.

use serde_json::json;

use super::*;
use crate::read::text;

const LIMITS: &str = include_str!("../../testdata/limit_ranges/limits.jsonl");

fn created(plural: &str) -> Target<'_> {
    Target {
        group: "",
        plural,
        subresource: "",
        old: None,
    }
}

fn resources(pod: &Value) -> Value {
    let spec = get(pod, "spec");
    let containers = list(spec, "containers")
        .iter()
        .chain(list(spec, "initContainers"));
    let list = |container, field| match get(get(container, "resources"), field) {
        Value::Null => json!({}),
        amounts => amounts.clone(),
    };
    containers
        .map(|it| json!({"requests": list(it, "requests"), "limits": list(it, "limits")}))
        .collect()
}

#[test]
fn objects_are_completed_and_refused_as_on_the_real_server() {
    for line in LIMITS.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let target = created(text(&case, "plural"));
        let (mut object, ranges) = (case["object"].clone(), list(&case, "ranges"));
        admit(ranges, &target, &mut object);
        let mut errors = validate(ranges, &target, &object)
            .err()
            .map_or(Vec::new(), |violation| violation.0);
        errors.sort();
        let mut answer = json!({"errors": errors});
        if target.plural == "pods" {
            let annotations = get(get(&object, "metadata"), "annotations");
            answer["annotation"] = text(annotations, "kubernetes.io/limit-ranger").into();
            answer["resources"] = resources(&object);
        }
        assert_eq!(answer, case["expected"], "for {line}");
    }
}

fn range(limit: &Value) -> Value {
    json!({"metadata": {"name": "r"}, "spec": {"limits": [limit]}})
}

fn pod(resources: &[Value]) -> Value {
    let containers = resources.iter().enumerate();
    let containers =
        containers.map(|(index, resources)| json!({"name": format!("c{index}"), "resources": resources}));
    json!({"metadata": {"name": "p"}, "spec": {"containers": containers.collect::<Value>()}})
}

#[track_caller]
fn refuses(plural: &str, object: &Value, limit: &Value, expected: &str) {
    let violation = validate([&range(limit)], &created(plural), object).unwrap_err();
    assert_eq!(violation.to_string(), expected);
}

#[test]
fn several_complaints_stand_in_brackets_each_once() {
    let two_gi = json!({"limits": {"memory": "2Gi"}});
    let limit = json!({"type": "Container", "max": {"memory": "1Gi"}, "min": {"cpu": "1"}});
    refuses(
        "pods",
        &pod(&[two_gi.clone(), two_gi]),
        &limit,
        "[minimum cpu usage per Container is 1.  No request is specified, \
         maximum memory usage per Container is 1Gi, but limit is 2Gi]",
    );
}

#[test]
fn one_complaint_stands_alone() {
    let twice = json!({"limits": {"cpu": "2"}, "requests": {"cpu": "500m"}});
    refuses(
        "pods",
        &pod(&[twice]),
        &json!({"type": "Pod", "maxLimitRequestRatio": {"cpu": "3"}}),
        "cpu max limit to request ratio per Pod is 3, but provided ratio is 4.000000",
    );
    refuses(
        "persistentvolumeclaims",
        &json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}}),
        &json!({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}),
        "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi",
    );
}

#[test]
fn pods_are_looked_at_when_created_or_resized() {
    let (old, deleted) = (
        json!({}),
        json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    );
    let cases = [
        ("pods", "", None, true),
        ("pods", "", Some(&old), false),
        ("pods", "resize", Some(&old), true),
        ("pods", "resize", Some(&deleted), false),
        ("pods", "status", Some(&old), false),
        ("persistentvolumeclaims", "", Some(&old), true),
        ("persistentvolumeclaims", "status", Some(&old), false),
        ("services", "", None, false),
    ];
    for (plural, subresource, old, expected) in cases {
        let target = Target {
            group: "",
            plural,
            subresource,
            old,
        };
        assert_eq!(target.is_limited(), expected, "for {target:?}");
    }
}
