//! What is there of a workflow beside itself, reduced to what decisions need.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::{names, plan::Under, report::Report};

/// Everything a plan is made from but the workflow itself. What is not known is asked for in the plan
/// ([`crate::Plan::unknown`]), which is then made again.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    pub pods: Vec<Pod>,
    /// Names of pods that were asked for and are not there.
    pub absent: BTreeSet<String>,
    /// Templates that were asked for; none where there is no such object.
    pub templates: BTreeMap<TemplateSource, Option<Value>>,
    /// ConfigMaps that were asked for, by namespace and name.
    pub config_maps: BTreeMap<(String, String), Option<BTreeMap<String, String>>>,
    /// What steps have reported that had more to say than fits into a pod's status, by node.
    pub reports: BTreeMap<String, Report>,
    /// What could not be made, by name.
    pub refusals: BTreeMap<String, Refusal>,
}

/// An object that holds templates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplateSource {
    pub name: String,
    /// A ClusterWorkflowTemplate, not one of the workflow's namespace.
    pub is_cluster: bool,
}

/// Why the API did not make an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub message: String,
    /// It may be possible later: a quota is used up, or the like.
    pub is_passing: bool,
}

/// A pod of a workflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pod {
    pub name: String,
    pub uid: String,
    pub node_id: String,
    pub node_name: String,
    pub labels: Map<String, Value>,
    pub phase: String,
    pub reason: String,
    pub message: String,
    pub host: String,
    pub ip: String,
    pub deadline: Option<i64>,
    pub is_on_exit: bool,
    pub is_labelled_completed: bool,
    pub is_being_deleted: bool,
    /// The locks that it was made under.
    pub under: Vec<Under>,
    /// Why no node takes it.
    pub unschedulable: Option<String>,
    pub started_at: Option<Timestamp>,
    pub init_containers: Vec<Container>,
    pub containers: Vec<Container>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Container {
    pub name: String,
    pub is_ready: bool,
    pub state: ContainerState,
    /// What it asks for: thousandths of a processor, and bytes.
    pub cpu: Option<String>,
    pub memory: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum ContainerState {
    #[default]
    Unknown,
    Waiting {
        reason: String,
        message: String,
    },
    Running,
    Terminated(Termination),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Termination {
    pub exit_code: i64,
    pub reason: String,
    pub message: String,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}

impl Pod {
    /// Reads a pod as the API has it.
    pub fn read(object: &Value) -> Self {
        let (meta, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let unschedulable = conditions
            .filter(|condition| condition["type"] == "PodScheduled" && condition["reason"] == "Unschedulable")
            .find_map(|condition| condition["message"].as_str());
        Self {
            name: text(&meta["name"]),
            uid: text(&meta["uid"]),
            node_id: text(&meta["annotations"][names::NODE_ID]),
            node_name: text(&meta["annotations"][names::NODE_NAME]),
            labels: meta["labels"].as_object().cloned().unwrap_or_default(),
            phase: text(&status["phase"]),
            reason: text(&status["reason"]),
            message: text(&status["message"]),
            host: text(&spec["nodeName"]),
            ip: text(&status["podIP"]),
            deadline: spec["activeDeadlineSeconds"].as_i64(),
            is_on_exit: meta["labels"][names::ON_EXIT] == "true",
            is_labelled_completed: meta["labels"][names::COMPLETED] == "true",
            is_being_deleted: meta["deletionTimestamp"].is_string(),
            under: Under::read(&meta["annotations"][names::LOCKS]),
            unschedulable: unschedulable.map(str::to_owned),
            started_at: time(&status["startTime"]),
            init_containers: containers(&spec["initContainers"], &status["initContainerStatuses"]),
            containers: containers(&spec["containers"], &status["containerStatuses"]),
        }
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers.iter().find(|container| container.name == name)
    }

    /// When the last of its containers ended.
    pub fn finished_at(&self) -> Option<Timestamp> {
        let all = self.containers.iter().chain(&self.init_containers);
        all.filter_map(|container| container.termination()?.finished_at)
            .max()
    }
}

impl Container {
    pub fn termination(&self) -> Option<&Termination> {
        match &self.state {
            ContainerState::Terminated(termination) => Some(termination),
            _ => None,
        }
    }
}

fn containers(specs: &Value, statuses: &Value) -> Vec<Container> {
    let statuses = statuses.as_array().into_iter().flatten();
    statuses
        .map(|status| {
            let mut specs = specs.as_array().into_iter().flatten();
            let spec = specs.find(|spec| spec["name"] == status["name"]);
            let amount = |resource: &str| {
                let resources = &spec?["resources"];
                let asked = resources["requests"][resource].as_str();
                asked
                    .or_else(|| resources["limits"][resource].as_str())
                    .map(str::to_owned)
            };
            Container {
                name: text(&status["name"]),
                is_ready: status["ready"] == true,
                state: state(&status["state"]),
                cpu: amount("cpu"),
                memory: amount("memory"),
            }
        })
        .collect()
}

fn state(state: &Value) -> ContainerState {
    if let Some(waiting) = state["waiting"].as_object() {
        let field = |name: &str| waiting.get(name).map(text).unwrap_or_default();
        return ContainerState::Waiting {
            reason: field("reason"),
            message: field("message"),
        };
    }
    let ended = &state["terminated"];
    if ended.is_object() {
        return ContainerState::Terminated(Termination {
            exit_code: ended["exitCode"].as_i64().unwrap_or_default(),
            reason: text(&ended["reason"]),
            message: text(&ended["message"]),
            started_at: time(&ended["startedAt"]),
            finished_at: time(&ended["finishedAt"]),
        });
    }
    if state["running"].is_object() {
        return ContainerState::Running;
    }
    ContainerState::Unknown
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}
