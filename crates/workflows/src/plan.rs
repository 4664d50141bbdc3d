//! From a workflow and what is there of it to what to do next.

mod assess;
mod claims;
mod dag;
mod execute;
mod finish;
mod globals;
mod heirs;
mod hooks;
mod limits;
mod locks;
mod memo;
mod operate;
mod outputs;
mod pod;
mod progress;
mod resolve;
mod retry;
mod steps;
mod suspend;
mod unlock;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

pub use globals::over;
pub use heirs::Under;
pub use locks::{Lock, Locks};
pub(crate) use resolve::has_location;

use crate::{
    node::Phase,
    observed::{Observed, TemplateSource},
    settings::Settings,
    status::Status,
};
use walk::Walk;

/// What is to be done, in this order: `make`, `stop`, the object, `label` and `delete`, the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Must be looked up before anything else; the plan is then made again.
    pub unknown: BTreeSet<Unknown>,
    /// Objects that are not there, by creation. One that exists and is controlled by the workflow is it.
    pub make: Vec<Value>,
    /// Pods whose processes must end; what they wrote stays readable.
    pub stop: Vec<PodName>,
    /// The whole workflow as it should be stored, if that is other than it is.
    pub object: Option<Value>,
    /// Results to be remembered for other workflows, before the object is stored.
    pub remember: Vec<Memory>,
    /// Pods that nobody waits for any more.
    pub label_completed: Vec<PodName>,
    pub delete: Vec<Gone>,
    /// The workflow itself has outlived its time.
    pub delete_workflow: bool,
    pub events: Vec<Event>,
    /// Somebody stands in a queue no more: whoever waits there, of this workflow or another, is to look at once
    /// whether it is his turn.
    pub left_queue: bool,
    /// When to look again though nothing happens.
    pub wake_at: Option<Timestamp>,
}

impl Plan {
    /// Nobody relies on a lock that is not written down: where pods are to be made under one that has just been
    /// taken, this is stored first, and the plan made again from there. Whoever held it before holds it until his end
    /// is written down too.
    pub fn newly_held(&self, object: &Value) -> Option<Value> {
        let wanted = &self.object.as_ref()?["status"]["synchronization"];
        let mut held = object.clone();
        let mut is_new = false;
        for kind in ["mutex", "semaphore"] {
            for entry in wanted[kind]["holding"].as_array().into_iter().flatten() {
                let known = &mut held["status"]["synchronization"][kind]["holding"];
                match known.as_array_mut() {
                    Some(known) if known.contains(entry) => continue,
                    Some(known) => known.push(entry.clone()),
                    None => *known = json!([entry]),
                }
                is_new = true;
            }
        }
        (is_new && !self.make.is_empty()).then_some(held)
    }
}

/// Something a plan cannot be made without.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unknown {
    Template(TemplateSource),
    /// Namespace and name.
    ConfigMap(String, String),
    /// What a node has reported in an object of its own.
    Report(String),
    /// Whether the pod of a node is really gone.
    Pod {
        name: String,
        node_id: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodName {
    pub name: String,
    pub uid: String,
}

/// An object that is to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    pub kind: &'static str,
    pub name: String,
    /// Empty where any of the name will do.
    pub uid: String,
}

/// An entry of a ConfigMap in which results are remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    pub config_map: String,
    pub key: String,
    pub entry: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub is_warning: bool,
    pub reason: &'static str,
    pub message: String,
}

/// Decides what to do next for a workflow. The same workflow, observation and time give the same plan;
/// `locks` is what all workflows together hold, and is changed by what this one takes and lets go.
pub fn plan(
    object: &Value,
    observed: &Observed,
    locks: &mut Locks,
    settings: &Settings,
    now: Timestamp,
) -> Plan {
    let now = whole_seconds(now);
    let status = match Status::read(object) {
        Ok(status) => status,
        // What cannot be read must not be written over.
        Err(error) => {
            return Plan {
                events: vec![Event {
                    is_warning: true,
                    reason: "WorkflowUnreadable",
                    message: error.to_string(),
                }],
                ..Plan::default()
            };
        }
    };
    if status.is_fulfilled() && is_labelled_completed(object) {
        let mut plan = finish::after(object, &status, observed, now);
        plan.object = unlock::after(object, &status, observed, locks);
        return plan;
    }
    let mut walk = match Walk::begin(object, status, observed, locks, settings, now) {
        Ok(walk) => walk,
        Err(plan) => return *plan,
    };
    walk.operate();
    walk.end()
}

fn is_labelled_completed(object: &Value) -> bool {
    object["metadata"]["labels"][crate::names::COMPLETED] == "true"
}

/// Times in a status have no fractions.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// What a workflow's phase is called on its label.
fn phase_label(phase: Phase) -> &'static str {
    phase.text()
}
