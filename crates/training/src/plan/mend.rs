//! What is there and is no longer what is wanted: the least that has to be written over it.
//!
//! Neither who wrote a field first nor by which program counts: what the operator says of an object is all there is
//! of those fields, as with the originals. Labels, annotations and fields of other names are left to whoever put them
//! there.

use kinds::{decode, types};
use serde_json::{Map, Value, json};

use crate::{Child, Existing};

/// The merge patch that makes an object hold what is wanted of it; nothing where it does.
pub(crate) fn mend(existing: &Existing, wanted: &Child) -> Option<Child> {
    let (content, object) = (&existing.content, &wanted.object);
    let fields = match wanted.kind() {
        "ConfigMap" => json!({"data": replaced(content, &object["data"])?}),
        "Role" if *content != object["rules"] => json!({"rules": object["rules"]}),
        "PodGroup" => json!({"spec": difference(content, &demand(&object["spec"]))?}),
        "HorizontalPodAutoscaler" if *content != scaling(&object["spec"]) => json!({"spec": object["spec"]}),
        _ => return None,
    };
    Some(patch(object, &existing.uid, fields))
}

/// What more or fewer replicas change of a group; what else a user asks of it holds from its start.
pub(crate) fn demand(group: &Value) -> Value {
    let fields = ["minMember", "minResources"].into_iter();
    let fields = fields.filter(|field| !group[field].is_null());
    fields
        .map(|field| (field.to_owned(), group[field].clone()))
        .collect()
}

/// What an autoscaler scales, between which numbers and by which metrics, as the API server would put it: it writes
/// quantities in its own way, and servers differ in the order of metrics.
pub(crate) fn scaling(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(ty) = types::by_name("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec") {
        // What is no specification is refused when it is made.
        let _ = decode::normalize(ty, &mut spec);
    }
    let least = spec["minReplicas"].as_i64().unwrap_or(1);
    let mut metrics: Vec<String> = spec["metrics"]
        .as_array()
        .into_iter()
        .flatten()
        .map(Value::to_string)
        .collect();
    metrics.sort_unstable();
    json!([spec["scaleTargetRef"], least, spec["maxReplicas"], metrics])
}

/// A patch of these fields for the object of this uid: one that has taken its name since is not touched.
pub(super) fn patch(object: &Value, uid: &str, mut fields: Value) -> Child {
    fields["apiVersion"] = object["apiVersion"].clone();
    fields["kind"] = object["kind"].clone();
    fields["metadata"] = json!({"name": object["metadata"]["name"], "uid": uid});
    Child::patch(fields)
}

/// All keys that are wanted and other than they are, and nothing for each that is not wanted.
fn replaced(there: &Value, wanted: &Value) -> Option<Value> {
    let map = |value: &Value| {
        if value.is_object() {
            value.clone()
        } else {
            json!({})
        }
    };
    difference(&map(there), &map(wanted))
}

/// The merge patch (RFC 7396) that makes the one of the other; nothing where they are the same.
pub(super) fn difference(there: &Value, wanted: &Value) -> Option<Value> {
    if there == wanted {
        return None;
    }
    let (Value::Object(there), Value::Object(wanted)) = (there, wanted) else {
        return Some(wanted.clone());
    };
    let dropped = there.keys().filter(|key| !wanted.contains_key(*key));
    let mut changes: Map<String, Value> = dropped.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in wanted {
        let before = there.get(key).unwrap_or(&Value::Null);
        changes.extend(difference(before, value).map(|change| (key.clone(), change)));
    }
    Some(Value::Object(changes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(content: Value) -> Existing {
        Existing {
            uid: "u".to_owned(),
            content,
            ..Existing::default()
        }
    }

    fn config_map(data: Value) -> Child {
        Child::create(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j-config", "labels": {"app": "j"}}, "data": data,
        }))
    }

    #[test]
    fn keys_that_are_not_wanted_are_taken_out() {
        let wanted = config_map(json!({"hostfile": "a\n", "discover_hosts.sh": "#!/bin/sh\n"}));
        let content = json!({"hostfile": "a\nb\n", "discover_hosts.sh": "#!/bin/sh\n", "kubexec.sh": "old"});
        let mended = mend(&there(content), &wanted).unwrap();
        let expected = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j-config", "uid": "u"},
            "data": {"hostfile": "a\n", "kubexec.sh": null},
        });
        assert_eq!(mended, Child::patch(expected));
    }

    #[test]
    fn what_is_as_wanted_is_left_alone() {
        let data = json!({"hostfile": "a\n"});
        assert_eq!(mend(&there(data.clone()), &config_map(data)), None);
        let secret = Child::create(json!({"kind": "Secret", "data": {"key": "other"}}));
        assert_eq!(mend(&there(Value::Null), &secret), None);
    }

    #[test]
    fn a_group_asks_for_what_its_pods_need_now_and_nothing_else() {
        let group = |spec: Value| Child::create(json!({"kind": "PodGroup", "spec": spec}));
        let spec =
            json!({"minMember": 2, "minResources": {"cpu": "2", "nvidia.com/gpu": "8"}, "queue": "research"});
        let wanted = group(json!({"minMember": 3, "minResources": {"cpu": "2"}, "queue": "default"}));
        let mended = mend(&there(demand(&spec)), &wanted).unwrap();
        assert_eq!(
            mended.object["spec"],
            json!({"minMember": 3, "minResources": {"nvidia.com/gpu": null}})
        );
        assert_eq!(mend(&there(demand(&spec)), &group(spec)), None);
    }

    fn autoscaler(spec: &Value) -> Child {
        Child::create(json!({"kind": "HorizontalPodAutoscaler", "spec": spec}))
    }

    fn metric(name: &str, target: Value) -> Value {
        json!({"type": "Resource", "resource": {"name": name, "target": target}})
    }

    #[test]
    fn an_autoscaler_follows_the_limits_and_metrics_of_its_job() {
        let load = metric("cpu", json!({"type": "Utilization", "averageUtilization": 80}));
        let spec = json!({"minReplicas": null, "maxReplicas": 3, "metrics": [load]});
        let wanted = autoscaler(&spec);
        assert_eq!(mend(&there(scaling(&spec)), &wanted), None);
        let mut fewer = spec.clone();
        fewer["maxReplicas"] = json!(2);
        let mut sooner = spec.clone();
        sooner["metrics"][0]["resource"]["target"]["averageUtilization"] = json!(50);
        for before in [fewer, sooner] {
            let mended = mend(&there(scaling(&before)), &wanted).unwrap();
            assert_eq!(mended.object["spec"], wanted.object["spec"]);
        }
    }

    #[test]
    fn metrics_in_other_words_are_the_same() {
        let least = |value: Value| metric("memory", json!({"type": "AverageValue", "averageValue": value}));
        let load = metric("cpu", json!({"type": "Utilization", "averageUtilization": 80}));
        let wanted = json!({"maxReplicas": 3, "metrics": [load, least(json!("0.5"))]});
        let stored = json!({"minReplicas": 1, "maxReplicas": 3, "metrics": [least(json!("500m")), load]});
        assert_eq!(mend(&there(scaling(&stored)), &autoscaler(&wanted)), None);
    }
}
