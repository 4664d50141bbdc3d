//! What is there and is no longer what is wanted: the least that has to be written over it.
//!
//! Neither who wrote a field first nor by which program counts: what the operator says of an object is all there is
//! of those fields, as with the originals. Labels, annotations and fields of other names are left to whoever put them
//! there.

use serde_json::{Map, Value, json};

use crate::{Child, Existing};

/// The merge patch that makes an object hold what is wanted of it; nothing where it does.
pub(super) fn mend(existing: &Existing, wanted: &Child) -> Option<Child> {
    let (content, object) = (&existing.content, &wanted.object);
    let fields = match wanted.kind() {
        "ConfigMap" => json!({"data": replaced(content, &object["data"])?}),
        "Role" if *content != object["rules"] => json!({"rules": object["rules"]}),
        // More or fewer replicas; what else a user asks of a group holds from its start.
        "PodGroup" if *content != object["spec"]["minMember"] => json!({"spec": object["spec"]}),
        "HorizontalPodAutoscaler" if *content != limits(&object["spec"]) => json!({"spec": object["spec"]}),
        _ => return None,
    };
    Some(patch(object, &existing.uid, fields))
}

/// The numbers an autoscaler stays between. How it decides may come back in other words than it was written in.
pub(crate) fn limits(spec: &Value) -> Value {
    let least = spec["minReplicas"].as_i64().unwrap_or(1);
    json!([least, spec["maxReplicas"]])
}

/// A patch of these fields for the object of this uid: one that has taken its name since is not touched.
pub(super) fn patch(object: &Value, uid: &str, mut fields: Value) -> Child {
    fields["apiVersion"] = object["apiVersion"].clone();
    fields["kind"] = object["kind"].clone();
    fields["metadata"] = json!({"name": object["metadata"]["name"], "uid": uid});
    Child::patch(fields)
}

/// All keys that are wanted and other than they are, and nothing for each that is not wanted.
fn replaced(there: &Value, wanted: &Value) -> Option<Map<String, Value>> {
    let nothing = Map::new();
    let there = there.as_object().unwrap_or(&nothing);
    let wanted = wanted.as_object().unwrap_or(&nothing);
    let dropped = there.keys().filter(|key| !wanted.contains_key(*key));
    let mut changes: Map<String, Value> = dropped.map(|key| (key.clone(), Value::Null)).collect();
    let changed = wanted
        .iter()
        .filter(|(key, value)| there.get(*key) != Some(value));
    changes.extend(changed.map(|(key, value)| (key.clone(), value.clone())));
    (!changes.is_empty()).then_some(changes)
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
    fn an_autoscaler_follows_the_limits_of_its_job() {
        let autoscaler =
            |spec: Value| Child::create(json!({"kind": "HorizontalPodAutoscaler", "spec": spec}));
        let wanted = autoscaler(json!({"minReplicas": null, "maxReplicas": 3, "metrics": []}));
        assert_eq!(mend(&there(json!([1, 3])), &wanted), None);
        let mended = mend(&there(json!([1, 2])), &wanted).unwrap();
        assert_eq!(mended.object["spec"], wanted.object["spec"]);
    }
}
