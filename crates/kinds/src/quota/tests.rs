//! The tables were written by the real server's own quota code, from random objects and quotas.

use serde_json::json;

use super::*;
use crate::{
    read::{get, list, text},
    resource_list::to_object,
};

const USAGE: &str = include_str!("../../testdata/quotas/usage.jsonl");
const CHECK: &str = include_str!("../../testdata/quotas/check.jsonl");
const STATUS: &str = include_str!("../../testdata/quotas/status.jsonl");

fn cases(table: &str) -> impl Iterator<Item = Value> {
    table.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn change(case: &Value) -> Change<'_> {
    Change {
        group: text(case, "group"),
        plural: text(case, "plural"),
        subresource: text(case, "subresource"),
        operation: case
            .get("old")
            .map_or(Operation::Create, |old| Operation::Update { old }),
        object: get(case, "object"),
        now: now(),
    }
}

#[test]
fn objects_count_what_the_real_server_counts() {
    for case in cases(USAGE) {
        let used = usage(
            text(&case, "group"),
            text(&case, "plural"),
            get(&case, "object"),
            now(),
        );
        assert_eq!(json!(to_object(used)), case["expected"], "for {case}");
    }
}

#[test]
fn changes_are_charged_or_refused_as_on_the_real_server() {
    for case in cases(CHECK) {
        let answer = match check(list(&case, "quotas"), &change(&case)) {
            Ok(charges) => {
                let used = charges
                    .into_iter()
                    .map(|charge| (charge.quota_name.to_owned(), charge.new_used.into()));
                json!({"used": used.collect::<serde_json::Map<_, _>>()})
            }
            Err(error) => json!({"error": error.to_string()}),
        };
        assert_eq!(answer, case["expected"], "for {case}");
    }
}

#[test]
fn usage_is_recalculated_as_on_the_real_server() {
    for case in cases(STATUS) {
        let objects_of = |group, plural| {
            let objects = list(&case, "objects").iter();
            let objects =
                objects.filter(move |it| text(it, "Group") == group && text(it, "Plural") == plural);
            objects.map(|it| get(it, "Object"))
        };
        let quota = get(&case, "quota");
        // The table was made on a server without widgets.
        let collections = watched(quota)
            .into_iter()
            .filter(|(_, plural)| *plural != "widgets");
        let collections = collections.map(|(group, plural)| (group, plural, objects_of(group, plural)));
        assert_eq!(
            recalculate(quota, collections, now()),
            case["expected"],
            "for {case}"
        );
    }
}

fn quota(hard: &Value, used: &Value) -> Value {
    json!({"metadata": {"name": "q"}, "spec": {"hard": hard}, "status": {"hard": hard, "used": used}})
}

fn pod(containers: &Value) -> Value {
    json!({"metadata": {"name": "p"}, "spec": {"containers": containers}})
}

#[track_caller]
fn refuses(quota: &Value, object: &Value, expected: &str) {
    let change = Change {
        group: "",
        plural: "pods",
        subresource: "",
        operation: Operation::Create,
        object,
        now: now(),
    };
    assert_eq!(check([quota], &change).unwrap_err().to_string(), expected);
}

#[test]
fn a_pod_too_many_is_refused() {
    refuses(
        &quota(
            &json!({"pods": "2", "requests.cpu": "4"}),
            &json!({"pods": "2", "requests.cpu": "1"}),
        ),
        &pod(&json!([{"name": "c", "resources": {"requests": {"cpu": "1"}}}])),
        "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2",
    );
}

#[test]
fn containers_have_to_name_what_is_limited() {
    refuses(
        &quota(&json!({"limits.cpu": "2", "requests.memory": "1Gi"}), &json!({})),
        &pod(&json!([
            {"name": "c2", "resources": {"limits": {"cpu": "1"}}},
            {"name": "c1", "resources": {"requests": {"memory": "1Mi"}}},
        ])),
        "failed quota: q: must specify limits.cpu for: c1; requests.memory for: c2",
    );
}

#[test]
fn nothing_is_admitted_before_it_is_counted() {
    refuses(
        &quota(&json!({"pods": "2", "count/pods": "2"}), &json!({"pods": "0"})),
        &pod(&json!([])),
        "status unknown for quota: q, resources: count/pods,pods",
    );
}

#[test]
fn events_are_never_counted() {
    let quota = quota(&json!({"count/events": "0"}), &json!({"count/events": "0"}));
    assert!(watched(&quota).is_empty());
    assert!(usage("", "events", &json!({}), now()).is_empty());
}

#[test]
fn a_quota_watches_what_it_limits() {
    let names = [
        "count/jobs.batch",
        "count/pods",
        "limits.memory",
        "requests.nvidia.com/gpu",
        "gold.storageclass.storage.k8s.io/requests.storage",
        "gpu.deviceclass.resource.k8s.io/devices",
        "services.nodeports",
        "secrets",
        "count/widgets.example.com",
        "nonsense",
    ];
    let hard: Value = names
        .iter()
        .map(|name| ((*name).to_owned(), json!("1")))
        .collect();
    let quota = quota(&hard, &json!({}));
    let expected = [
        ("", "persistentvolumeclaims"),
        ("", "pods"),
        ("", "secrets"),
        ("", "services"),
        ("batch", "jobs"),
        ("example.com", "widgets"),
        ("resource.k8s.io", "resourceclaims"),
    ];
    assert_eq!(Vec::from_iter(watched(&quota)), expected);
}

#[test]
fn a_status_is_only_written_when_amounts_change() {
    let quota = quota(&json!({"pods": "1k"}), &json!({"pods": "1"}));
    assert!(!needs_update(
        &quota,
        &json!({"hard": {"pods": "1000"}, "used": {"pods": "1"}})
    ));
    assert!(needs_update(
        &quota,
        &json!({"hard": {"pods": "1k"}, "used": {"pods": "2"}})
    ));
    assert!(needs_update(
        &quota,
        &json!({"hard": {"pods": "2k"}, "used": {"pods": "1"}})
    ));
}

#[test]
fn quotas_are_counted_again_when_an_update_may_have_freed_something() {
    let running = json!({"status": {"phase": "Running"}});
    let ended = json!({"status": {"phase": "Failed"}});
    let bounded = json!({"spec": {"activeDeadlineSeconds": 5}, "status": {"phase": "Running"}});
    let cases = [
        ("pods", &running, &ended, true),
        ("pods", &ended, &running, false),
        ("pods", &running, &running, false),
        ("pods", &running, &bounded, true),
        (
            "services",
            &json!({"spec": {"type": "NodePort"}}),
            &json!({"spec": {"type": "ClusterIP"}}),
            true,
        ),
        (
            "services",
            &json!({"spec": {"type": "ExternalName"}}),
            &json!({"spec": {"type": "ClusterIP"}}),
            false,
        ),
        ("configmaps", &json!({}), &json!({"data": {}}), false),
    ];
    for (plural, old, new, expected) in cases {
        assert_eq!(
            replenishes("", plural, old, new, now()),
            expected,
            "for {plural} {old} {new}"
        );
    }
}
