//! The object asked about: a training job, a task, a workflow, or one of the kinds that have to do with pods.

use serde_json::Value;

use crate::jobs::{
    api::escaped,
    job::{Job, State, text},
};

/// What is asked about.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    Job(Job),
    Other { kind: &'static Other, object: Value },
}

/// A kind that is no training kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Other {
    pub(super) kind: &'static str,
    root: &'static str,
    plural: &'static str,
    short: &'static str,
}

const fn other(kind: &'static str, root: &'static str, plural: &'static str, short: &'static str) -> Other {
    Other {
        kind,
        root,
        plural,
        short,
    }
}

pub(super) static POD: Other = other("Pod", "/api/v1", "pods", "po");
pub(super) static BATCH_JOB: Other = other("Job", "/apis/batch/v1", "jobs", "job");
static DEPLOYMENT: Other = other("Deployment", "/apis/apps/v1", "deployments", "deploy");
static REPLICA_SET: Other = other("ReplicaSet", "/apis/apps/v1", "replicasets", "rs");
static STATEFUL_SET: Other = other("StatefulSet", "/apis/apps/v1", "statefulsets", "sts");
static DAEMON_SET: Other = other("DaemonSet", "/apis/apps/v1", "daemonsets", "ds");
static CLAIM: Other = other(
    "PersistentVolumeClaim",
    "/api/v1",
    "persistentvolumeclaims",
    "pvc",
);

pub(super) static WORKFLOW: Other = other("Workflow", "/apis/argoproj.io/v1alpha1", "workflows", "wf");
pub(super) static TASK: Other = other("Task", "/apis/trainyard.dev/v1alpha1", "tasks", "task");

static OTHERS: [&Other; 9] = [
    &TASK,
    &WORKFLOW,
    &POD,
    &BATCH_JOB,
    &DEPLOYMENT,
    &REPLICA_SET,
    &STATEFUL_SET,
    &DAEMON_SET,
    &CLAIM,
];

impl Other {
    pub(super) fn named(word: &str) -> Option<&'static Self> {
        let word = word.to_lowercase();
        OTHERS
            .into_iter()
            .find(|other| word == other.kind.to_lowercase() || word == other.plural || word == other.short)
    }

    pub(super) fn path(&self, namespace: &str, name: Option<&str>) -> String {
        let name = name.map_or(String::new(), |name| format!("/{}", escaped(name)));
        format!(
            "{}/namespaces/{}/{}{name}",
            self.root,
            escaped(namespace),
            self.plural
        )
    }

    /// All kinds in words.
    pub(super) fn all() -> String {
        let names: Vec<&str> = OTHERS.iter().map(|other| other.kind).collect();
        names.join(", ")
    }
}

impl Subject {
    pub(super) fn object(&self) -> &Value {
        match self {
            Self::Job(job) => &job.object,
            Self::Other { object, .. } => object,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Job(job) => job.kind.kind,
            Self::Other { kind, .. } => kind.kind,
        }
    }

    pub(super) fn name(&self) -> &str {
        text(&self.object()["metadata"]["name"])
    }

    pub(super) fn namespace(&self) -> &str {
        text(&self.object()["metadata"]["namespace"])
    }

    pub(super) fn reference(&self) -> String {
        format!("{}/{}", self.kind(), self.name())
    }

    pub(super) fn state(&self) -> String {
        let object = self.object();
        let status = &object["status"];
        match (self, self.kind()) {
            (Self::Job(job), _) => job.state().name().to_owned(),
            (_, "Pod" | "PersistentVolumeClaim") => text(&status["phase"]).to_owned(),
            (_, "Task" | "Workflow") => match text(&status["phase"]) {
                "" => "New".to_owned(),
                phase => phase.to_owned(),
            },
            (_, "Job") => match self.ended_as() {
                Some(condition) => text(&condition["type"]).to_owned(),
                None if object["spec"]["suspend"] == true => "Suspended".to_owned(),
                None => "Running".to_owned(),
            },
            (_, "DaemonSet") => {
                let number = |field: &str| status[field].as_i64().unwrap_or_default();
                let (ready, wanted) = (number("numberReady"), number("desiredNumberScheduled"));
                format!("{ready}/{wanted} ready")
            }
            _ => {
                let ready = status["readyReplicas"].as_i64().unwrap_or_default();
                format!(
                    "{ready}/{} ready",
                    object["spec"]["replicas"].as_i64().unwrap_or(1)
                )
            }
        }
    }

    /// What it says of itself.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Job(job) => job.message().to_owned(),
            Self::Other { object, .. } => match self.ended_as() {
                Some(condition) => text(&condition["message"]).to_owned(),
                None => text(&object["status"]["message"]).to_owned(),
            },
        }
    }

    /// The same without what is known anyway.
    pub(super) fn detail(&self) -> String {
        match self {
            Self::Job(job) => job.detail().to_owned(),
            Self::Other { .. } => self.message(),
        }
    }

    /// The condition by which a batch Job has ended.
    pub(super) fn ended_as(&self) -> Option<&Value> {
        let conditions = self.object()["status"]["conditions"].as_array()?;
        conditions.iter().find(|condition| {
            condition["status"] == "True" && matches!(text(&condition["type"]), "Complete" | "Failed")
        })
    }

    pub(super) fn has_failed(&self) -> bool {
        match self {
            Self::Job(job) => job.state() == State::Failed,
            Self::Other { object, .. } => {
                matches!(text(&object["status"]["phase"]), "Failed" | "Error")
                    || self
                        .ended_as()
                        .is_some_and(|condition| condition["type"] == "Failed")
            }
        }
    }

    pub(super) fn has_succeeded(&self) -> bool {
        match self {
            Self::Job(job) => job.state() == State::Succeeded,
            Self::Other { object, .. } => {
                object["status"]["phase"] == "Succeeded"
                    || self
                        .ended_as()
                        .is_some_and(|condition| condition["type"] == "Complete")
            }
        }
    }
}
