//! What a pod gets from the cluster rather than from its kind: its priority, and patience with nodes
//! that go away.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};
use store::Collection;

use crate::{
    call::Call,
    derived,
    error::{ApiError, Result},
};

pub(crate) fn admit(call: &Call, object: &mut Value) -> Result<()> {
    if !call.kind.is("", "Pod") {
        return Ok(());
    }
    set_priority(call, object)?;
    add_tolerations(&mut object["spec"]);
    Ok(())
}

fn set_priority(call: &Call, pod: &mut Value) -> Result<()> {
    let name = kinds::read::text(&pod["spec"], "priorityClassName").to_owned();
    let classes = Collection::new("scheduling.k8s.io", "priorityclasses");
    let class = if name.is_empty() {
        let all = call.api.store.list(&classes, None, None, None).items;
        all.iter()
            .map(|stored| derived::parsed(stored))
            .filter(|class| kinds::read::flag(class, "globalDefault"))
            .min_by_key(|class| kinds::read::int(class, "value"))
    } else {
        let stored = call.api.store.get(&classes, "", &name).ok_or_else(|| {
            ApiError::forbidden(
                call.kind.qualified(),
                crate::object::name(pod),
                &format!("no PriorityClass with name {name} was found"),
            )
        })?;
        Some(derived::parsed(&stored))
    };
    let value = class
        .as_deref()
        .and_then(|class| kinds::read::int(class, "value"))
        .unwrap_or(0);
    let policy = class
        .as_deref()
        .map_or("", |class| kinds::read::text(class, "preemptionPolicy"));
    let policy = if policy.is_empty() {
        "PreemptLowerPriority"
    } else {
        policy
    };
    if let Some(asked) = kinds::read::int(&pod["spec"], "priority").filter(|asked| *asked != value) {
        return Err(ApiError::forbidden(
            call.kind.qualified(),
            crate::object::name(pod),
            &format!(
                "the integer value of priority ({asked}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
            ),
        ));
    }
    let asked_policy = kinds::read::text(&pod["spec"], "preemptionPolicy");
    if !asked_policy.is_empty() && asked_policy != policy {
        return Err(ApiError::invalid(
            "",
            "Pod",
            crate::object::name(pod),
            &[FieldError::invalid(
                &Path::new("spec").child("preemptionPolicy"),
                &json!(asked_policy),
                "must be the one of the PriorityClass",
            )],
        ));
    }
    let policy = policy.to_owned();
    if let Some(class) = &class {
        pod["spec"]["priorityClassName"] = crate::object::name(class).into();
    }
    pod["spec"]["priority"] = value.into();
    pod["spec"]["preemptionPolicy"] = policy.into();
    Ok(())
}

/// A pod stays five minutes on a node that stopped answering, unless it says otherwise.
fn add_tolerations(spec: &mut Value) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = kinds::read::list(spec, "tolerations").iter().any(|toleration| {
            let (own_key, effect) = (
                kinds::read::text(toleration, "key"),
                kinds::read::text(toleration, "effect"),
            );
            (own_key == key || own_key.is_empty()) && (effect == "NoExecute" || effect.is_empty())
        });
        if tolerated {
            continue;
        }
        let toleration =
            json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
        match spec.get_mut("tolerations").and_then(Value::as_array_mut) {
            Some(list) => list.push(toleration),
            None => spec["tolerations"] = Value::Array(vec![toleration]),
        }
    }
}
