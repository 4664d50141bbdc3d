//! What a pod gets from the cluster rather than from its kind: its priority, and patience with nodes
//! that go away.

use kinds::read::{flag, get, int, list, text};
use serde_json::{Value, json};
use store::Collection;

use crate::{
    call::Call,
    derived::{self, Parsed},
    error::{ApiError, Result},
    object,
};

pub(crate) fn admit(call: &Call, pod: &mut Value) -> Result<()> {
    if !call.kind.is("", "Pod") {
        return Ok(());
    }
    set_priority(call, pod)?;
    add_tolerations(&mut pod["spec"]);
    Ok(())
}

/// What an update leaves out stays; validation looks at what it changes.
pub(crate) fn keep(call: &Call, pod: &mut Value, old: &Value) {
    if !call.kind.is("", "Pod") {
        return;
    }
    for field in ["priority", "preemptionPolicy"] {
        let kept = get(get(old, "spec"), field);
        if get(&pod["spec"], field).is_null() && !kept.is_null() {
            pod["spec"][field] = kept.clone();
        }
    }
    add_tolerations(&mut pod["spec"]);
}

/// What a priority class, or the lack of one, gives a pod.
struct Priority {
    class: String,
    value: i64,
    policy: String,
}

impl Priority {
    fn of(class: &Value) -> Self {
        Self {
            class: object::name(class).to_owned(),
            value: int(class, "value").unwrap_or_default(),
            policy: text(class, "preemptionPolicy").to_owned(),
        }
    }

    /// That of a pod without a class in a cluster without a default.
    fn of_no_class() -> Self {
        Self {
            class: String::new(),
            value: 0,
            policy: "PreemptLowerPriority".to_owned(),
        }
    }
}

fn set_priority(call: &Call, pod: &mut Value) -> Result<()> {
    let refused = |pod: &Value, why: &str| ApiError::forbidden(call.kind.qualified(), object::name(pod), why);
    let priority = match text(&pod["spec"], "priorityClassName") {
        "" => default_priority(call)?,
        name => named_priority(call, name)?
            .ok_or_else(|| refused(pod, &format!("no PriorityClass with name {name} was found")))?,
    };
    if let Some(why) = contradiction(&pod["spec"], &priority) {
        return Err(refused(pod, &why));
    }
    let Priority { class, value, policy } = priority;
    let spec = &mut pod["spec"];
    if !class.is_empty() {
        spec["priorityClassName"] = class.into();
    }
    spec["priority"] = value.into();
    if !policy.is_empty() {
        spec["preemptionPolicy"] = policy.into();
    }
    Ok(())
}

fn classes() -> Collection {
    Collection::new("scheduling.k8s.io", "priorityclasses")
}

fn named_priority(call: &Call, name: &str) -> Result<Option<Priority>> {
    let stored = call.api.store.get(&classes(), "", name);
    stored
        .map(|stored| Ok(Priority::of(&*derived::parsed(&stored)?)))
        .transpose()
}

fn default_priority(call: &Call) -> Result<Priority> {
    let class = default_class(call)?;
    Ok(class.map_or_else(Priority::of_no_class, |class| Priority::of(&class)))
}

/// The class of pods that name none. Where there are several, the lowest counts.
pub(super) fn default_class(call: &Call) -> Result<Option<Parsed>> {
    let all = call.api.store.list(&classes(), None, None, None).items;
    let all = all.iter().map(|stored| derived::parsed(stored));
    let all = all.collect::<Result<Vec<_>>>()?;
    let defaults = all.into_iter().filter(|class| flag(class, "globalDefault"));
    Ok(defaults.min_by_key(|class| int(class, "value").unwrap_or_default()))
}

/// What a pod says of its priority beside its class, where the class says otherwise.
fn contradiction(spec: &Value, computed: &Priority) -> Option<String> {
    let (value, policy) = (computed.value, &computed.policy);
    if let Some(asked) = int(spec, "priority").filter(|asked| *asked != value) {
        return Some(format!(
            "the integer value of priority ({asked}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
        ));
    }
    let asked = text(spec, "preemptionPolicy");
    let differs = !asked.is_empty() && !policy.is_empty() && asked != policy;
    differs.then(|| format!(
        "the string value of PreemptionPolicy ({asked}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
    ))
}

/// A pod stays five minutes on a node that stopped answering, unless it says otherwise.
fn add_tolerations(spec: &mut Value) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = list(spec, "tolerations").iter().any(|toleration| {
            let (own_key, effect) = (text(toleration, "key"), text(toleration, "effect"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_tolerates_its_node_for_a_while_once() {
        let mut spec =
            json!({"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]});
        add_tolerations(&mut spec);
        add_tolerations(&mut spec);
        let keys: Vec<&str> = list(&spec, "tolerations")
            .iter()
            .map(|toleration| text(toleration, "key"))
            .collect();
        assert_eq!(
            keys,
            ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
        );
    }

    #[test]
    fn a_pod_may_repeat_what_its_class_says_and_nothing_else() {
        let class = Priority {
            class: "high".to_owned(),
            value: 7,
            policy: "Never".to_owned(),
        };
        assert_eq!(
            contradiction(&json!({"priority": 7, "preemptionPolicy": "Never"}), &class),
            None
        );
        let why = contradiction(&json!({"preemptionPolicy": "PreemptLowerPriority"}), &class);
        assert_eq!(
            why.as_deref(),
            Some(
                "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never from the given PriorityClass name"
            )
        );
        assert!(contradiction(&json!({"priority": 8}), &class).is_some());
    }
}
