//! What a pod gets from its RuntimeClass: the overhead of running it that way, and where it may run.

use serde_json::{Map, Value};
use store::Collection;

use crate::{
    call::Call,
    derived,
    error::{ApiError, Result},
    object,
};

pub(crate) fn admit(call: &Call, pod: &mut Value) -> Result<()> {
    if !call.kind.is("", "Pod") {
        return Ok(());
    }
    let name = kinds::read::text(&pod["spec"], "runtimeClassName").to_owned();
    let refused = |pod: &Value, why: &str| {
        let why = format!("pod rejected: {why}");
        Err(ApiError::forbidden(
            call.kind.qualified(),
            object::name(pod),
            &why,
        ))
    };
    if name.is_empty() {
        if overhead(&pod["spec"]).is_some() {
            return refused(
                pod,
                "Pod Overhead set without corresponding RuntimeClass defined Overhead",
            );
        }
        return Ok(());
    }
    let classes = Collection::new("node.k8s.io", "runtimeclasses");
    let Some(stored) = call.api.store.get(&classes, "", &name) else {
        return refused(pod, &format!("RuntimeClass \"{name}\" not found"));
    };
    let class = derived::parsed(&stored)?;
    let fixed = class
        .pointer("/overhead/podFixed")
        .filter(|fixed| fixed.is_object());
    match (overhead(&pod["spec"]), fixed) {
        (Some(_), None) => {
            return refused(
                pod,
                "Pod Overhead set without corresponding RuntimeClass defined Overhead",
            );
        }
        (Some(asked), Some(fixed)) if asked != fixed => {
            return refused(
                pod,
                "Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            );
        }
        (None, Some(fixed)) => pod["spec"]["overhead"] = fixed.clone(),
        _ => {}
    }
    if let Err(why) = schedule(&mut pod["spec"], kinds::read::get(&class, "scheduling")) {
        return refused(pod, &why);
    }
    call.kind.complete(pod);
    Ok(())
}

fn overhead(spec: &Value) -> Option<&Value> {
    let overhead = spec.get("overhead")?;
    overhead.as_object().filter(|set| !set.is_empty())?;
    Some(overhead)
}

/// Adds the class's node selector and tolerations to the pod's own.
fn schedule(spec: &mut Value, scheduling: &Value) -> Result<(), String> {
    if let Some(selector) = scheduling.get("nodeSelector").and_then(Value::as_object) {
        let own = &mut spec["nodeSelector"];
        if !own.is_object() {
            *own = Value::Object(Map::new());
        }
        for (label, value) in selector {
            match own.get(label) {
                Some(known) if known != value => {
                    return Err(format!(
                        "conflict: runtimeClass.scheduling.nodeSelector[{label}] = {}; pod.spec.nodeSelector[{label}] = {}",
                        value.as_str().unwrap_or_default(),
                        known.as_str().unwrap_or_default()
                    ));
                }
                _ => own[label.as_str()] = value.clone(),
            }
        }
    }
    let missing: Vec<Value> = kinds::read::list(scheduling, "tolerations")
        .iter()
        .filter(|toleration| !kinds::read::list(spec, "tolerations").contains(toleration))
        .cloned()
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    match spec.get_mut("tolerations").and_then(Value::as_array_mut) {
        Some(own) => own.extend(missing),
        None => spec["tolerations"] = Value::Array(missing),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_class_adds_where_its_pods_may_run_but_overrules_nothing() {
        let scheduling = json!({
            "nodeSelector": { "gvisor": "yes" },
            "tolerations": [{ "key": "gvisor", "operator": "Exists" }],
        });
        let mut spec = json!({ "nodeSelector": { "disk": "ssd" } });
        schedule(&mut spec, &scheduling).unwrap();
        assert_eq!(spec["nodeSelector"], json!({ "disk": "ssd", "gvisor": "yes" }));
        assert_eq!(spec["tolerations"], scheduling["tolerations"]);
        schedule(&mut spec, &scheduling).unwrap();
        assert_eq!(spec["tolerations"].as_array().unwrap().len(), 1);
        let mut other = json!({ "nodeSelector": { "gvisor": "no" } });
        assert!(
            schedule(&mut other, &scheduling)
                .unwrap_err()
                .starts_with("conflict: ")
        );
    }
}
