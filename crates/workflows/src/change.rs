//! What people ask of a workflow that is there: to go on, to try again, to be run once more. Pure: the changed
//! object, and the pods that must be gone before it is stored.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::{
    names,
    node::{Node, NodeType, Phase},
    status::Status,
};

/// Why a workflow is not changed so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotPossible(String);

/// A workflow that tries again.
#[derive(Clone, Debug, PartialEq)]
pub struct Retried {
    pub object: Value,
    /// Pods of nodes that are forgotten, by name.
    pub pods: BTreeSet<String>,
}

/// Lets a workflow that has failed go on from what has succeeded.
pub fn retry(object: &Value, now: Timestamp) -> Result<Retried, NotPossible> {
    let mut status = read(object)?;
    if !status.phase.is_failure() {
        return Err(NotPossible(format!(
            "only a workflow that has failed can be retried, and this one is {}",
            shown(status.phase)
        )));
    }
    let family = Family::of(&status.nodes);
    let forgotten = family.forgotten();
    let is_open = |node: &&Node| node.phase.is_failure() && !family.is_settled(node);
    let open: BTreeSet<String> = status
        .nodes
        .values()
        .filter(is_open)
        .map(|node| node.id.clone())
        .collect();
    let workflow = text(&object["metadata"]["name"]);
    let pods = forgotten
        .iter()
        .filter_map(|id| status.nodes.get(id))
        .filter(|node| node.r#type.has_pod())
        .map(|node| names::pod_name(&workflow, &node.name, node.template()))
        .collect();
    status.nodes.retain(|id, _| !forgotten.contains(id));
    for node in status.nodes.values_mut() {
        node.children.retain(|child| !forgotten.contains(child));
        if open.contains(&node.id) {
            node.phase = reopened(node);
            node.message = String::new();
            node.finished_at = None;
            node.outbound_nodes.clear();
        }
    }
    // A lock of the whole workflow was given back at its end, and is waited for again.
    let spec = status
        .stored_workflow_template_spec
        .as_ref()
        .unwrap_or(&object["spec"]);
    status.phase = if spec["synchronization"].is_null() {
        Phase::Running
    } else {
        Phase::Pending
    };
    status.message = String::new();
    status.started_at = Some(now);
    status.finished_at = None;
    status
        .conditions
        .retain(|condition| condition["type"] != "Completed");
    status.synchronization = Value::Null;
    if object["spec"]["volumeClaimGC"]["strategy"] == "OnWorkflowCompletion" {
        status.persistent_volume_claims.clear();
    }
    let mut object = object.clone();
    object["status"] = status.write();
    object["metadata"]["labels"][names::COMPLETED] = json!("false");
    object["metadata"]["labels"][names::PHASE] = json!(status.phase.text());
    for field in ["shutdown", "suspend"] {
        remove(&mut object["spec"], field);
    }
    Ok(Retried { object, pods })
}

/// What becomes of a node that goes on. One that counts among those that run at a time, or that runs under a lock,
/// waits for its turn as others do; otherwise all of them would go on at once.
fn reopened(node: &Node) -> Phase {
    let has_turns = matches!(node.r#type, NodeType::Steps | NodeType::Dag);
    if has_turns && !node.boundary_id.is_empty() {
        Phase::Pending
    } else {
        Phase::Running
    }
}

/// Who belongs to whom among nodes, beyond what a node itself tells.
struct Family<'n> {
    nodes: &'n BTreeMap<String, Node>,
    /// What an attempt is an attempt of, and the group a step is in, by its id.
    part_of: HashMap<&'n str, &'n Node>,
    /// What a hook is a hook of, by its id; nothing for those of the whole workflow.
    hooked: HashMap<&'n str, &'n Node>,
}

impl<'n> Family<'n> {
    fn of(nodes: &'n BTreeMap<String, Node>) -> Self {
        let (mut part_of, mut hooked) = (HashMap::new(), HashMap::new());
        for parent in nodes.values() {
            let children = parent.children.iter().filter_map(|id| nodes.get(id));
            for child in children {
                let is_part = match parent.r#type {
                    NodeType::Retry => child.is_attempt(),
                    NodeType::StepGroup => child.r#type != NodeType::StepGroup,
                    _ => false,
                };
                if is_part {
                    part_of.insert(child.id.as_str(), parent);
                }
                let rest = child.name.strip_prefix(&parent.name).unwrap_or_default();
                let is_own = rest == ".onExit" || rest.starts_with(".hooks.");
                if child.is_hook() && is_own && !child.boundary_id.is_empty() {
                    hooked.insert(child.id.as_str(), parent);
                }
            }
        }
        Self {
            nodes,
            part_of,
            hooked,
        }
    }

    /// Whether a node is inside of something that has succeeded, whatever became of itself.
    fn is_settled(&self, node: &Node) -> bool {
        let mut node = node;
        loop {
            let whole = self.part_of.get(node.id.as_str());
            if whole.is_some_and(|whole| !whole.phase.is_failure()) {
                return true;
            }
            let Some(around) = self.nodes.get(&node.boundary_id) else {
                return false;
            };
            if around.phase == Phase::Succeeded {
                return true;
            }
            node = around;
        }
    }

    /// Nodes that have to be gone through again: what failed and did something, attempts with those they belong
    /// to, what was left out because of it, and handlers of the end.
    fn forgotten(&self) -> BTreeSet<String> {
        let begun_anew = self.nodes.values().filter(|node| self.begins_anew(node));
        let mut forgotten: BTreeSet<String> = begun_anew.map(|node| node.id.clone()).collect();
        // What belongs to something that is forgotten goes with it.
        loop {
            let before = forgotten.len();
            for node in self.nodes.values() {
                let id = node.id.as_str();
                let owners = [self.part_of.get(id), self.hooked.get(id)].into_iter().flatten();
                let mut owners = owners.map(|owner| &owner.id).chain([&node.boundary_id]);
                if owners.any(|owner| forgotten.contains(owner)) {
                    forgotten.insert(node.id.clone());
                }
            }
            if forgotten.len() == before {
                return forgotten;
            }
        }
    }

    fn begins_anew(&self, node: &Node) -> bool {
        if node.is_attempt() || self.is_settled(node) {
            return false;
        }
        if node.is_hook() {
            // What was done at the end of a step that has succeeded is done.
            let owner = self.hooked.get(node.id.as_str());
            return owner.is_none_or(|owner| owner.phase.is_failure()) || node.phase.is_failure();
        }
        let is_group = matches!(
            node.r#type,
            NodeType::Steps | NodeType::StepGroup | NodeType::Dag | NodeType::TaskGroup
        );
        node.phase == Phase::Omitted || (node.phase.is_failure() && !is_group)
    }
}

/// Lets a suspended workflow, or its steps that wait for somebody, go on. `values` are what somebody supplies.
pub fn resume(
    object: &Value,
    values: &BTreeMap<String, String>,
    now: Timestamp,
) -> Result<Value, NotPossible> {
    let mut status = read(object)?;
    if status.phase.is_completed() {
        return Err(NotPossible(format!(
            "it has ended already: it is {}",
            shown(status.phase)
        )));
    }
    let mut known = BTreeSet::new();
    let mut is_waiting = object["spec"]["suspend"] == true;
    for node in status
        .nodes
        .values_mut()
        .filter(|node| node.is_waiting_for_somebody())
    {
        is_waiting = true;
        for parameter in node
            .outputs
            .iter_mut()
            .flat_map(|outputs| &mut outputs.parameters)
        {
            known.insert(parameter.name.clone());
            let default = parameter.value_from.take().and_then(|source| source.default);
            if let Some(value) = values.get(&parameter.name) {
                parameter.value = Some(value.clone().into());
            } else if parameter.value.is_none() {
                parameter.value = default;
            }
            if parameter.value.is_none() {
                return Err(NotPossible(format!(
                    "`{}` waits for the value of `{}`",
                    node.display_name, parameter.name
                )));
            }
        }
        node.phase = Phase::Succeeded;
        node.finished_at = Some(now);
    }
    if let Some(name) = values.keys().find(|name| !known.contains(*name)) {
        return Err(NotPossible(format!("nobody waits for a value of `{name}`")));
    }
    if !is_waiting {
        return Err(NotPossible(
            "it is not suspended, and none of its steps waits for somebody".to_owned(),
        ));
    }
    let mut object = object.clone();
    if !object["status"].is_null() {
        object["status"] = status.write();
    }
    remove(&mut object["spec"], "suspend");
    Ok(object)
}

/// The same workflow once more, from its beginning.
pub fn resubmit(object: &Value) -> Value {
    let meta = &object["metadata"];
    let name = text(&meta["name"]);
    let own = |key: &str| !key.starts_with("workflows.argoproj.io/");
    let kept = |field: &str| -> Map<String, Value> {
        let all = meta[field].as_object().cloned().unwrap_or_default();
        all.into_iter()
            .filter(|(key, _)| own(key) && !key.starts_with("kubectl.kubernetes.io/"))
            .collect()
    };
    let mut labels = kept("labels");
    labels.insert(names::RESUBMITTED_FROM.to_owned(), json!(name));
    let start = match meta["generateName"].as_str() {
        Some(start) => start.to_owned(),
        None => format!("{name}-"),
    };
    let mut spec = object["spec"].clone();
    for field in ["shutdown", "suspend"] {
        remove(&mut spec, field);
    }
    json!({
        "apiVersion": names::API_VERSION,
        "kind": "Workflow",
        "metadata": {
            "generateName": start,
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": kept("annotations"),
        },
        "spec": spec,
    })
}

fn read(object: &Value) -> Result<Status, NotPossible> {
    Status::read(object).map_err(|error| NotPossible(error.to_string()))
}

fn shown(phase: Phase) -> &'static str {
    match phase {
        Phase::Unknown => "just beginning",
        phase => phase.text(),
    }
}

fn remove(value: &mut Value, field: &str) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove(field);
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Timestamp {
        "2026-01-01T00:01:00Z".parse().unwrap()
    }

    fn node(name: &str, kind: &str, phase: &str, boundary: &str, children: &[&str]) -> (String, Value) {
        let id = names::node_id("w", name);
        let children: Vec<String> = children.iter().map(|child| names::node_id("w", child)).collect();
        let boundary = if boundary.is_empty() {
            String::new()
        } else {
            names::node_id("w", boundary)
        };
        let node = json!({
            "id": id, "name": name, "displayName": name, "type": kind, "phase": phase, "templateName": "t",
            "boundaryID": boundary, "children": children, "startedAt": "2026-01-01T00:00:00Z", "finishedAt": null,
        });
        (id, node)
    }

    fn failed(nodes: impl IntoIterator<Item = (String, Value)>) -> Value {
        let nodes: Map<String, Value> = nodes.into_iter().collect();
        json!({
            "metadata": {"name": "w", "labels": {names::COMPLETED: "true", names::PHASE: "Failed"}},
            "spec": {"shutdown": "Stop"},
            "status": {"phase": "Failed", "message": "child failed", "finishedAt": "2026-01-01T00:00:09Z", "nodes": nodes},
        })
    }

    #[test]
    fn what_failed_is_forgotten_and_what_succeeded_stays() {
        let object = failed([
            node("w", "DAG", "Failed", "", &["w.a"]),
            node("w.a", "Pod", "Succeeded", "w", &["w.b"]),
            node("w.b", "Pod", "Failed", "w", &["w.c"]),
            node("w.c", "Skipped", "Omitted", "w", &[]),
        ]);
        let Retried { object, pods } = retry(&object, at()).unwrap();
        assert_eq!(pods, [names::pod_name("w", "w.b", "t")].into());
        let status = Status::read(&object).unwrap();
        let left: Vec<(&str, Phase)> = status
            .nodes
            .values()
            .map(|node| (node.name.as_str(), node.phase))
            .collect();
        assert_eq!(left, [("w", Phase::Running), ("w.a", Phase::Succeeded)]);
        assert!(status.nodes.values().all(|node| node.children.len() < 2));
        assert_eq!(status.phase, Phase::Running);
        assert_eq!(status.finished_at, None);
        assert_eq!(object["metadata"]["labels"][names::COMPLETED], "false");
        assert_eq!(object["spec"], json!({}));
    }

    #[test]
    fn attempts_go_with_what_they_were_attempts_of() {
        let (id, mut attempt) = node("w(0)", "Pod", "Failed", "", &[]);
        attempt["nodeFlag"] = json!({"retried": true});
        let object = failed([node("w", "Retry", "Failed", "", &["w(0)"]), (id, attempt)]);
        let Retried { object, pods } = retry(&object, at()).unwrap();
        assert!(Status::read(&object).unwrap().nodes.is_empty());
        assert_eq!(pods.len(), 1);
    }

    #[test]
    fn what_failed_inside_of_a_success_stays_as_it_was() {
        let (id, mut attempt) = node("w.a(0)", "Steps", "Failed", "w", &[]);
        attempt["nodeFlag"] = json!({"retried": true});
        let object = failed([
            node("w", "DAG", "Failed", "", &["w.a", "w.b"]),
            node("w.a", "Retry", "Succeeded", "w", &["w.a(0)"]),
            (id, attempt),
            node("w.a(0).x", "Pod", "Failed", "w.a(0)", &[]),
            node("w.b", "Pod", "Failed", "w", &[]),
        ]);
        let Retried { object, pods } = retry(&object, at()).unwrap();
        assert_eq!(pods, [names::pod_name("w", "w.b", "t")].into());
        let status = Status::read(&object).unwrap();
        let phase = |name: &str| status.nodes[&names::node_id("w", name)].phase;
        assert_eq!(phase("w.a(0)"), Phase::Failed);
        assert_eq!(phase("w.a(0).x"), Phase::Failed);
        assert_eq!(phase("w"), Phase::Running);
    }

    #[test]
    fn a_step_that_was_allowed_to_fail_stays_as_it_was() {
        let object = failed([
            node("w", "Steps", "Failed", "", &["w[0]"]),
            node("w[0]", "StepGroup", "Succeeded", "w", &["w[0].a"]),
            node("w[0].a", "Pod", "Failed", "w", &["w[1]"]),
            node("w[1]", "StepGroup", "Failed", "w", &["w[1].b"]),
            node("w[1].b", "Pod", "Failed", "w", &[]),
        ]);
        let Retried { object, pods } = retry(&object, at()).unwrap();
        assert_eq!(pods, [names::pod_name("w", "w[1].b", "t")].into());
        let status = Status::read(&object).unwrap();
        let phase = |name: &str| status.nodes[&names::node_id("w", name)].phase;
        assert_eq!(phase("w[0].a"), Phase::Failed);
        assert_eq!(phase("w[1]"), Phase::Running);
    }

    #[test]
    fn a_workflow_that_ran_under_a_lock_waits_for_it_again() {
        let mut object = failed([node("w", "Pod", "Failed", "", &[])]);
        object["spec"]["synchronization"] = json!({"mutex": {"name": "m"}});
        let Retried { object, .. } = retry(&object, at()).unwrap();
        assert_eq!(Status::read(&object).unwrap().phase, Phase::Pending);
        assert_eq!(object["metadata"]["labels"][names::PHASE], "Pending");
    }

    #[test]
    fn the_handler_of_a_step_that_succeeded_does_not_run_again() {
        let hooked = |(id, mut node): (String, Value)| {
            node["nodeFlag"] = json!({"hooked": true});
            (id, node)
        };
        let object = failed([
            node("w", "DAG", "Failed", "", &["w.a", "w.b"]),
            node("w.a", "Pod", "Succeeded", "w", &["w.a.onExit"]),
            hooked(node("w.a.onExit", "Pod", "Succeeded", "w", &[])),
            node("w.b", "Pod", "Failed", "w", &["w.b.onExit"]),
            hooked(node("w.b.onExit", "Steps", "Succeeded", "w", &[])),
            node("w.b.onExit[0]", "StepGroup", "Succeeded", "w.b.onExit", &[]),
            hooked(node("w.onExit", "Pod", "Succeeded", "", &[])),
        ]);
        let Retried { object, .. } = retry(&object, at()).unwrap();
        let status = Status::read(&object).unwrap();
        let mut left: Vec<&str> = status.nodes.values().map(|node| node.name.as_str()).collect();
        left.sort_unstable();
        assert_eq!(left, ["w", "w.a", "w.a.onExit"]);
    }

    #[test]
    fn only_what_failed_is_retried() {
        let mut object = failed([]);
        object["status"]["phase"] = json!("Succeeded");
        assert!(
            retry(&object, at())
                .unwrap_err()
                .to_string()
                .contains("Succeeded")
        );
    }

    #[test]
    fn a_step_that_waits_goes_on_with_what_is_supplied() {
        let (id, mut waiting) = node("w", "Suspend", "Running", "", &[]);
        waiting["outputs"] = json!({"parameters": [{"name": "p", "valueFrom": {"supplied": {}}}]});
        let mut object = failed([(id, waiting)]);
        object["status"]["phase"] = json!("Running");
        let error = resume(&object, &BTreeMap::new(), at()).unwrap_err();
        assert!(
            error.to_string().contains("waits for the value of `p`"),
            "{error}"
        );
        let given = |name: &str| BTreeMap::from([(name.to_owned(), "v".to_owned())]);
        assert!(resume(&object, &given("q"), at()).is_err());
        let resumed = resume(&object, &given("p"), at()).unwrap();
        let node = &resumed["status"]["nodes"]["w"];
        assert_eq!(node["phase"], "Succeeded");
        assert_eq!(node["outputs"]["parameters"][0]["value"], "v");
        assert!(resume(&resumed, &BTreeMap::new(), at()).is_err());
    }

    #[test]
    fn a_workflow_that_is_submitted_again_begins_anew() {
        let mut object = failed([]);
        object["metadata"]["labels"]["mine"] = json!("yes");
        let again = resubmit(&object);
        assert_eq!(again["metadata"]["generateName"], "w-");
        assert_eq!(
            again["metadata"]["labels"],
            json!({"mine": "yes", names::RESUBMITTED_FROM: "w"})
        );
        assert!(again["status"].is_null() && again["spec"]["shutdown"].is_null());
    }
}
