//! The children of a job as they are, reduced to what decisions need: small enough to be kept for
//! every pod of a cluster.

use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use resources::{
    kinds::{MPI_JOB, MX_JOB},
    names::{annotations, labels},
};
use serde_json::Value;

use crate::{Gang, plan};

/// Everything that is there of a job but the job itself.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Pods the job controls, pods of its batch Jobs, and pods that have the name of one of its own.
    pub pods: Vec<Pod>,
    /// Pods of a batch Job of the job that is gone: they may still run.
    pub former: Vec<Pod>,
    /// Batch Jobs the job controls, or that have the name of one of its own.
    pub jobs: Vec<BatchJob>,
    /// Other objects that have the name of a child, Services the job controls, and PodGroups that an MxJob does.
    pub others: Vec<Existing>,
    /// What the API refused when the last plan was applied. Need not survive a restart.
    pub refusals: Vec<Refusal>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    pub name: String,
    pub uid: String,
    /// The uid of its controller.
    pub controller: Option<String>,
    pub phase: Phase,
    pub created: Option<Timestamp>,
    /// When it was asked to stop.
    pub deleted: Option<Timestamp>,
    /// It had come to its end before it was asked to stop.
    pub ended_first: bool,
    /// Evicted, preempted, or on a lost node.
    pub is_disrupted: bool,
    /// How often the kubelet has restarted its containers.
    pub restarts: i32,
    /// How its first failed container ended; of containers that run again, how they did before.
    pub exits: Vec<Exit>,
    /// What a container waits for: reason and message.
    pub waiting: Option<(String, String)>,
    pub has_node: bool,
    /// Why it has none, in the scheduler's words.
    pub unscheduled: Option<String>,
    pub reason: String,
    pub message: String,
    /// The gang restart it was made for.
    pub gang: i32,
    /// How many pods it is to be placed with.
    pub group_size: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Pending,
    Running,
    Succeeded,
    Failed,
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    pub container: String,
    pub code: i32,
    pub reason: String,
    pub message: String,
    /// It ended before the container was started again.
    pub is_previous: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchJob {
    pub name: String,
    pub uid: String,
    pub controller: Option<String>,
    pub succeeded: i32,
    pub failed: i32,
    pub is_suspended: bool,
    /// When it began to run, if it ever has.
    pub started: Option<Timestamp>,
    /// The text of a suspended launcher's template; of others it is of no interest.
    pub template: String,
    /// What the pods of an MxJob's say to gang schedulers; of others it is of no interest.
    pub groups: Option<Box<GroupNames>>,
    pub is_being_deleted: bool,
    pub is_complete: bool,
    /// Reason and message of its Failed condition.
    pub failure: Option<(String, String)>,
    pub gang: i32,
}

/// The group that pods are of, by the scheduler that reads it there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupNames {
    pub volcano: String,
    pub scheduler_plugins: String,
}

/// Any other child.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Existing {
    pub kind: String,
    pub name: String,
    pub uid: String,
    pub controller: Option<String>,
    /// `data` of a ConfigMap, `rules` of a Role, what a PodGroup asks for and a
    /// HorizontalPodAutoscaler goes by; nothing of others.
    pub content: Value,
    /// How far a gang scheduler is with a PodGroup.
    pub phase: Option<String>,
}

/// An object that could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub name: String,
    pub message: String,
}

impl Pod {
    /// Reads a pod as the API shows it.
    pub fn read(pod: &Value) -> Self {
        let (meta, status) = (&pod["metadata"], &pod["status"]);
        let containers = || {
            let lists = ["initContainerStatuses", "containerStatuses"];
            lists
                .into_iter()
                .flat_map(|list| status[list].as_array().into_iter().flatten())
        };
        Self {
            name: text(&meta["name"]),
            uid: text(&meta["uid"]),
            controller: controller(meta),
            phase: phase(&status["phase"]),
            created: time(&meta["creationTimestamp"]),
            deleted: time(&meta["deletionTimestamp"]),
            ended_first: ended_first(meta, status),
            is_disrupted: condition(status, "DisruptionTarget", "True").is_some()
                || status["reason"] == "Evicted",
            restarts: containers()
                .map(|container| number(&container["restartCount"]))
                .sum(),
            exits: containers().filter_map(exit).collect(),
            waiting: containers().find_map(waiting),
            has_node: condition(status, "PodScheduled", "True").is_some(),
            unscheduled: condition(status, "PodScheduled", "False")
                .map(|condition| text(&condition["message"])),
            reason: text(&status["reason"]),
            message: text(&status["message"]),
            gang: gang(meta),
            group_size: annotation(meta, annotations::POD_GROUP_SIZE),
        }
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.deleted.is_some()
    }

    /// Whether it was asked to stop before its end, which then says nothing of its work.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_deleted() && !self.ended_first
    }

    pub(crate) fn has_succeeded(&self) -> bool {
        self.phase == Phase::Succeeded && !self.is_stopped()
    }

    /// Whoever deletes a pod wants another, and nothing has failed; whoever takes its node away does not ask.
    pub fn has_failed(&self) -> bool {
        if self.is_stopped() {
            self.is_disrupted
        } else {
            self.phase == Phase::Failed
        }
    }

    /// Whether the kubelet is going to restart a container that has failed.
    pub(crate) fn waits_to_restart(&self) -> bool {
        let is_backing_off = |(reason, _): &(String, String)| reason == "CrashLoopBackOff";
        self.waiting.as_ref().is_some_and(is_backing_off)
    }

    /// The exit of the named container, or of any that failed.
    pub(crate) fn exit(&self, container: &str) -> Option<&Exit> {
        let named = self
            .exits
            .iter()
            .find(|exit| exit.container == container && !exit.is_previous);
        named.or_else(|| self.exits.iter().find(|exit| exit.code != 0))
    }
}

impl BatchJob {
    /// Reads a Job as the API shows it.
    pub fn read(job: &Value) -> Self {
        let (meta, status) = (&job["metadata"], &job["status"]);
        // What becomes of its pods while it is being deleted is no verdict. Both times are to the second.
        let deleted = time(&meta["deletionTimestamp"]);
        let is_verdict = |failed: &&Value| match (deleted, time(&failed["lastTransitionTime"])) {
            (Some(deleted), Some(failed)) => failed < deleted,
            (Some(_), None) => false,
            (None, _) => true,
        };
        let failed = condition(status, "Failed", "True").filter(is_verdict);
        Self {
            name: text(&meta["name"]),
            uid: text(&meta["uid"]),
            controller: controller(meta),
            succeeded: number(&status["succeeded"]),
            failed: number(&status["failed"]),
            is_suspended: job["spec"]["suspend"] == true,
            started: time(&status["startTime"]),
            template: launcher_template(job),
            groups: group_names(job).map(Box::new),
            is_being_deleted: !meta["deletionTimestamp"].is_null(),
            is_complete: condition(status, "Complete", "True").is_some(),
            failure: failed.map(|condition| (text(&condition["reason"]), text(&condition["message"]))),
            gang: gang(meta),
        }
    }

    /// The group of its pods in the eyes of a scheduler.
    pub(crate) fn group(&self, gang: &Gang) -> Option<&str> {
        let names = self.groups.as_ref()?;
        let name = match gang {
            Gang::Volcano => &names.volcano,
            Gang::SchedulerPlugins { .. } => &names.scheduler_plugins,
            Gang::None | Gang::Embedded => return None,
        };
        Some(name.as_str()).filter(|name| !name.is_empty())
    }

    /// Whether it has come to its end, one way or the other.
    pub(crate) fn is_over(&self) -> bool {
        self.is_complete || self.failure.is_some()
    }
}

impl Existing {
    /// Reads any other object; `kind` is given because lists do not repeat it in their items.
    pub fn read(kind: &str, object: &Value) -> Self {
        let content = match kind {
            "ConfigMap" => object["data"].clone(),
            "Role" => object["rules"].clone(),
            "PodGroup" => plan::demand(&object["spec"]),
            "HorizontalPodAutoscaler" => plan::scaling(&object["spec"]),
            _ => Value::Null,
        };
        let phase = (kind == "PodGroup").then(|| text(&object["status"]["phase"]));
        Self {
            kind: kind.to_owned(),
            name: text(&object["metadata"]["name"]),
            uid: text(&object["metadata"]["uid"]),
            controller: controller(&object["metadata"]),
            content,
            phase,
        }
    }
}

fn controller(meta: &Value) -> Option<String> {
    owner(meta)?["uid"].as_str().map(str::to_owned)
}

fn owner(meta: &Value) -> Option<&Value> {
    let mut owners = meta["ownerReferences"].as_array()?.iter();
    owners.find(|owner| owner["controller"] == true)
}

fn group_names(job: &Value) -> Option<GroupNames> {
    owner(&job["metadata"]).filter(|owner| owner["kind"] == MX_JOB.kind)?;
    let meta = &job["spec"]["template"]["metadata"];
    let names = GroupNames {
        volcano: text(&meta["annotations"][annotations::VOLCANO_GROUP]),
        scheduler_plugins: text(&meta["labels"][labels::POD_GROUP]),
    };
    (names != GroupNames::default()).then_some(names)
}

/// A cluster has many batch Jobs that stand still, and few that are launchers.
fn launcher_template(job: &Value) -> String {
    let is_launcher = owner(&job["metadata"]).is_some_and(|owner| owner["kind"] == MPI_JOB.kind);
    if is_launcher && job["spec"]["suspend"] == true {
        job["spec"]["template"].to_string()
    } else {
        String::new()
    }
}

fn gang(meta: &Value) -> i32 {
    annotation(meta, annotations::RESTART).unwrap_or_default()
}

/// The number in an annotation.
fn annotation<T: FromStr>(meta: &Value, name: &str) -> Option<T> {
    meta["annotations"][name].as_str()?.parse().ok()
}

fn phase(phase: &Value) -> Phase {
    match phase.as_str() {
        Some("Running") => Phase::Running,
        Some("Succeeded") => Phase::Succeeded,
        Some("Failed") => Phase::Failed,
        _ => Phase::Pending,
    }
}

fn condition<'a>(status: &'a Value, kind: &str, value: &str) -> Option<&'a Value> {
    let conditions = status["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == kind && condition["status"] == value)
}

fn exit(container: &Value) -> Option<Exit> {
    let (now, before) = (
        &container["state"]["terminated"],
        &container["lastState"]["terminated"],
    );
    let (ended, is_previous) = if now.is_object() {
        (now, false)
    } else {
        (before, true)
    };
    ended.is_object().then(|| Exit {
        container: text(&container["name"]),
        code: number(&ended["exitCode"]),
        reason: text(&ended["reason"]),
        message: text(&ended["message"]),
        is_previous,
    })
}

/// Whether the last program of a pod had ended when the pod was asked to stop. Times are to the second, and programs
/// often end within the second they are asked to.
fn ended_first(meta: &Value, status: &Value) -> bool {
    let grace = meta["deletionGracePeriodSeconds"].as_i64().unwrap_or_default();
    let asked = time(&meta["deletionTimestamp"])
        .and_then(|due| due.checked_sub(SignedDuration::from_secs(grace)).ok());
    let has_ended = matches!(phase(&status["phase"]), Phase::Succeeded | Phase::Failed);
    let containers = status["containerStatuses"].as_array().into_iter().flatten();
    let ends = containers.filter_map(|container| time(&container["state"]["terminated"]["finishedAt"]));
    asked
        .zip(ends.max())
        .filter(|_| has_ended)
        .is_some_and(|(asked, end)| end < asked)
}

fn waiting(container: &Value) -> Option<(String, String)> {
    let waiting = &container["state"]["waiting"];
    let reason = waiting["reason"].as_str()?;
    // These come and go by themselves and explain nothing.
    let is_passing = ["ContainerCreating", "PodInitializing"].contains(&reason);
    (!is_passing).then(|| (reason.to_owned(), text(&waiting["message"])))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn number(value: &Value) -> i32 {
    value.as_i64().unwrap_or_default() as i32
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}
