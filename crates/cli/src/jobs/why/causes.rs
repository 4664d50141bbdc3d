//! From what was observed to causes, the most telling first. Pure.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use jiff::Timestamp;
use serde_json::Value;

use super::{of_cluster, of_job, of_message, of_pod, subject::Subject};
use crate::{
    ailments::Ailment,
    jobs::job::{State, text},
};

/// Everything that is known about something.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) subject: Subject,
    /// Its pods, with what distinguishes each of them.
    pub(super) pods: Vec<(String, Arc<Value>)>,
    /// What stands between it and its pods: batch Jobs, ReplicaSets.
    pub(super) between: Vec<Value>,
    /// Claims, quotas and events of its namespace.
    pub(super) claims: Vec<Value>,
    pub(super) quotas: Vec<Value>,
    pub(super) events: Vec<Value>,
    /// The nodes of the cluster; `None` where they may not be looked at.
    pub(super) nodes: Option<Vec<Value>>,
    /// Names of the StorageClasses; `None` where they may not be looked at.
    pub(super) classes: Option<Vec<String>>,
    pub(super) machine: Option<Machine>,
    /// What a queue has of it, where it stands in one.
    pub(super) workload: Option<Value>,
    /// The last line that the programs of pods have printed, by the name of the pod.
    pub(super) last_lines: BTreeMap<String, String>,
    /// Kinds of objects that whoever asks may not look at.
    pub(super) unseen: Vec<&'static str>,
    pub(super) now: Timestamp,
}

impl Observed {
    /// Whether nothing is known of a kind of objects, which is not to say that there are none.
    pub(super) fn has_not_seen(&self, kind: &str) -> bool {
        self.unseen.contains(&kind)
    }
}

/// This machine, where the cluster is its own.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) dir: PathBuf,
    /// Whether the cluster was started to run pods.
    pub(super) runs_pods: bool,
    /// What is wrong with the disk of its directory.
    pub(super) disk: Option<Ailment>,
}

/// What kind of cause it is, in the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// The cluster itself is ill: its disk, its nodes, or the parts that run it.
    Cluster,
    /// The API or the operator does not take it as it is.
    Refused,
    /// A program ended as it should not.
    Failed,
    /// A container cannot be started.
    NotStarted,
    /// Something it needs is not there.
    Missing,
    /// There is no place for it.
    Unplaced,
    /// Somebody holds it back, or nobody looks after it.
    Held,
    /// It went wrong before.
    Restarted,
    /// Something was said about it that none of the above explains.
    Warned,
}

impl Class {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cluster => "Cluster",
            Self::Refused => "Refused",
            Self::Failed => "Failed",
            Self::NotStarted => "NotStarted",
            Self::Missing => "Missing",
            Self::Unplaced => "Unplaced",
            Self::Held => "Held",
            Self::Restarted => "Restarted",
            Self::Warned => "Warned",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) class: Class,
    /// The pods it is about; none where it is the whole.
    pub(crate) who: Vec<String>,
    pub(crate) what: String,
    pub(crate) advice: Option<String>,
    /// What stays the same while the words change: of two causes about the same, the second is no news.
    topic: Option<String>,
}

impl Cause {
    pub(super) fn new(class: Class, what: impl Into<String>) -> Self {
        Self {
            class,
            who: Vec::new(),
            what: what.into(),
            advice: None,
            topic: None,
        }
    }

    pub(super) fn about(mut self, topic: impl Into<String>) -> Self {
        self.topic = Some(topic.into());
        self
    }

    /// By what it is known as one that was told before: numbers come and go.
    pub(crate) fn topic(&self) -> String {
        let topic = self.topic.as_deref().unwrap_or(&self.what);
        let words = topic.chars().filter(|character| !character.is_ascii_digit());
        format!("{}: {}", self.class.name(), words.collect::<String>())
    }

    pub(super) fn of(mut self, who: &str) -> Self {
        self.who.push(who.to_owned());
        self
    }

    pub(super) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

/// The answer.
#[derive(Debug)]
pub(crate) struct Explanation {
    pub(crate) subject: String,
    pub(crate) state: String,
    pub(crate) message: String,
    /// What of the message is not known anyway.
    pub(crate) detail: String,
    pub(crate) causes: Vec<Cause>,
    /// Kinds of objects that may not be looked at.
    pub(crate) unseen: Vec<&'static str>,
    /// Whether it has ended badly, whatever is still known of it.
    pub(super) has_failed: bool,
}

impl Explanation {
    /// What is over does not stand in its way any more.
    pub(crate) fn is_trouble(&self) -> bool {
        self.has_failed || self.causes.iter().any(|cause| cause.class < Class::Restarted)
    }
}

/// Joins every cause. `command` makes commands about the same cluster of words.
pub(super) fn explain(observed: &Observed, command: &dyn Fn(&str) -> String) -> Explanation {
    let subject = &observed.subject;
    let mut causes = of_cluster::causes(observed, command);
    let is_ill = !causes.is_empty();
    causes.extend(of_job::causes(observed, command));
    for (name, pod) in &observed.pods {
        causes.extend(of_pod::causes(name, pod, observed, command));
    }
    if is_ill {
        // The scheduler says the same by the taints of the nodes.
        causes.retain(|cause| !of_cluster::accounts_for(cause));
    }
    if !subject.has_succeeded() {
        causes.extend(warnings(observed, &causes));
    }
    Explanation {
        subject: subject.reference(),
        state: subject.state(),
        message: subject.message(),
        detail: subject.detail(),
        causes: joined(causes),
        unseen: observed.unseen.clone(),
        has_failed: subject.has_failed(),
    }
}

/// What is the same for several pods is told once.
fn joined(causes: Vec<Cause>) -> Vec<Cause> {
    let mut joined: Vec<Cause> = Vec::new();
    for cause in causes {
        let same = joined
            .iter_mut()
            .find(|other| other.class == cause.class && other.what == cause.what);
        match same {
            Some(other) => other.who.extend(cause.who),
            None => joined.push(cause),
        }
    }
    joined.sort_by_key(|cause| cause.class);
    joined
}

/// Warnings that nothing else accounts for, the latest of each reason.
fn warnings(observed: &Observed, told: &[Cause]) -> Vec<Cause> {
    let mut found: Vec<Cause> = Vec::new();
    let mut events: Vec<&Value> = observed
        .events
        .iter()
        .filter(|event| event["type"] == "Warning")
        .collect();
    events.sort_by_key(|event| std::cmp::Reverse(last_time(event).to_owned()));
    for event in events {
        let (reason, message) = (text(&event["reason"]), text(&event["message"]).trim());
        let Some(who) = whom(observed, event) else {
            continue;
        };
        let is_told = told.iter().any(|cause| {
            if cause.class == Class::Cluster {
                return of_cluster::EXPLAINED.contains(&reason);
            }
            let is_about_it = cause.who.is_empty() || who.pod().is_none_or(|who| cause.who.contains(who));
            is_about_it && accounts_for(cause.class, reason)
        });
        let is_known = found.iter().any(|cause| {
            let same = cause.who.first() == who.pod();
            same && cause.what.split(':').next() == Some(reason)
        });
        if !is_told && !is_known {
            let class = match classed(reason, message) {
                Class::Refused if is_complete(&observed.subject) => Class::Warned,
                class => class,
            };
            let cause = Cause::new(class, format!("{reason}: {message}")).about(reason);
            let cause = match advice(reason, message) {
                Some(advice) => cause.advise(advice),
                None => cause,
            };
            found.push(match who.pod() {
                Some(pod) => cause.of(pod),
                None => cause,
            });
        }
    }
    found
}

fn last_time(event: &Value) -> &str {
    let times = ["lastTimestamp", "eventTime", "firstTimestamp"];
    times
        .into_iter()
        .map(|field| text(&event[field]))
        .find(|time| !time.is_empty())
        .unwrap_or_default()
}

/// Whom an event is about.
enum About {
    /// The whole, or what stands between it and its pods.
    Whole,
    Pod(String),
}

impl About {
    fn pod(&self) -> Option<&String> {
        match self {
            Self::Whole => None,
            Self::Pod(name) => Some(name),
        }
    }
}

/// Nobody, when it is about a pod that has nothing ahead of it.
fn whom(observed: &Observed, event: &Value) -> Option<About> {
    let uid = text(&event["involvedObject"]["uid"]);
    let is = |object: &Value| text(&object["metadata"]["uid"]) == uid;
    if is(observed.subject.object()) || observed.between.iter().any(is) {
        return Some(About::Whole);
    }
    let (name, pod) = observed.pods.iter().find(|(_, pod)| is(pod))?;
    let has_started = matches!(text(&pod["status"]["phase"]), "Succeeded" | "Running");
    let has_place = event["reason"] == "FailedScheduling" && !text(&pod["spec"]["nodeName"]).is_empty();
    (!has_started && !has_place).then(|| About::Pod(name.clone()))
}

/// Whether a cause says what a warning of this reason would say.
fn accounts_for(class: Class, reason: &str) -> bool {
    match reason {
        "FailedScheduling" => matches!(class, Class::Unplaced | Class::Missing),
        "Failed" | "BackOff" | "InspectFailed" | "ErrImageNeverPull" => {
            matches!(class, Class::NotStarted | Class::Failed | Class::Missing)
        }
        "FailedMount" | "FailedAttachVolume" => class == Class::Missing,
        reason if is_refusal(reason) => class == Class::Refused,
        _ => class == Class::Failed || class == Class::Refused,
    }
}

/// What to do about a warning.
fn advice(reason: &str, message: &str) -> Option<&'static str> {
    Some(match reason {
        "FailedMount" if message.contains("hostPath type check failed") => {
            "the path of a hostPath volume is looked for on the node: correct it in the manifest, or make it there"
        }
        "FailedMount" if message.to_lowercase().contains("nfs") || message.contains("mount.nfs") => {
            "check that the NFS server answers from the node, and that it exports the path to it"
        }
        "FailedMount" | "FailedAttachVolume" => {
            "the volume is tried again; correct what it names in the manifest, or make that"
        }
        "FailedCreatePodSandBox" => {
            "it is tried again; `trainyard status` shows whether all parts of the embedded cluster run"
        }
        "FailedScheduling" => "`kubectl describe nodes` shows what there is",
        _ => return None,
    })
}

fn classed(reason: &str, message: &str) -> Class {
    match reason {
        "FailedMount" | "FailedAttachVolume" => Class::Missing,
        "FailedScheduling" => Class::Unplaced,
        reason if is_refusal(reason) => Class::Refused,
        _ if message.contains("exceeded quota") => Class::Refused,
        _ => Class::Warned,
    }
}

/// Whether this says that something was not made: `FailedCreatePod`, `FailedCreateConfigMap`. That of a pod's sandbox is
/// its node's, which tries again.
fn is_refusal(reason: &str) -> bool {
    let is_of_node = reason == "FailedCreatePodSandBox";
    reason == "ErrResourceExists" || (reason.starts_with("FailedCreate") && !is_of_node)
}

/// Whether a job runs and has all it needs: what was refused before has been made since.
fn is_complete(subject: &Subject) -> bool {
    match subject {
        Subject::Job(job) => job.state() == State::Running && of_message::waits_for(job).is_empty(),
        Subject::Other { .. } => false,
    }
}

#[cfg(test)]
mod tests;
