//! A training job as people see it, whatever its kind. Pure.

use jiff::Timestamp;
use resources::{
    Kind,
    conditions::{CREATED, FAILED, RESTARTING, RUNNING, SUCCEEDED, SUSPENDED},
    kinds,
};
use serde_json::Value;

use super::queue;

/// A job that the cluster has.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) kind: &'static Kind,
    pub(crate) object: Value,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No operator has said anything about it.
    New,
    Created,
    Running,
    Restarting,
    Suspended,
    Succeeded,
    Failed,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::New => "New",
            Self::Created => CREATED,
            Self::Running => RUNNING,
            Self::Restarting => RESTARTING,
            Self::Suspended => SUSPENDED,
            Self::Succeeded => SUCCEEDED,
            Self::Failed => FAILED,
        }
    }

    pub(crate) fn has_ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }

    fn named(name: &str) -> Option<Self> {
        let all = [
            Self::Created,
            Self::Running,
            Self::Restarting,
            Self::Suspended,
            Self::Succeeded,
            Self::Failed,
        ];
        all.into_iter().find(|state| state.name() == name)
    }
}

impl Job {
    pub(crate) fn name(&self) -> &str {
        text(&self.object["metadata"]["name"])
    }

    pub(crate) fn namespace(&self) -> &str {
        text(&self.object["metadata"]["namespace"])
    }

    pub(crate) fn uid(&self) -> &str {
        text(&self.object["metadata"]["uid"])
    }

    /// The version of its kind that it was found in.
    pub(crate) fn version(&self) -> &str {
        let version = self.object["apiVersion"].as_str();
        let version = version.and_then(|text| text.rsplit('/').next());
        version.unwrap_or(self.kind.versions[0])
    }

    /// `PyTorchJob/digits`.
    pub(crate) fn reference(&self) -> String {
        format!("{}/{}", self.kind.kind, self.name())
    }

    /// The MxJob of the standalone operator, whose status is of another make.
    pub(crate) fn is_standalone_mxnet(&self) -> bool {
        self.kind.kind == kinds::MX_JOB.kind
    }

    pub(crate) fn state(&self) -> State {
        let status = &self.object["status"];
        if self.is_standalone_mxnet() {
            return match text(&status["phase"]) {
                "" => State::New,
                "Running" => State::Running,
                "Suspended" => State::Suspended,
                "Done" | "Failed" | "CleanUp" => {
                    State::named(text(&status["state"])).unwrap_or(State::Failed)
                }
                _ => State::Created,
            };
        }
        let latest = self
            .conditions()
            .rev()
            .find(|condition| condition["status"] == "True");
        latest
            .and_then(|condition| State::named(text(&condition["type"])))
            .unwrap_or(State::New)
    }

    /// The last words of its operator about it.
    pub(crate) fn message(&self) -> &str {
        if self.is_standalone_mxnet() {
            return text(&self.object["status"]["reason"]);
        }
        // Also of one that is no longer true: a job that was resumed says there what it waits for.
        let latest = self.conditions().next_back();
        latest.map_or("", |condition| text(&condition["message"]))
    }

    /// The same without what is known anyway: which job it is, and its state.
    pub(crate) fn detail(&self) -> &str {
        let message = self.message();
        // That pods are made without a field keeps nothing waiting.
        if self.is_standalone_mxnet() && message.starts_with("unknown field ") {
            return "";
        }
        let named = message.strip_prefix(self.kind.kind);
        let named = named.and_then(|rest| rest.split_once(self.name()));
        let Some((_, rest)) = named.filter(|(between, _)| between.len() <= self.namespace().len() + 2) else {
            return message;
        };
        match rest.split_once(" because ") {
            Some((" is failed" | " is restarting", why)) => why,
            _ => rest.split_once(". ").map_or("", |(_, detail)| detail),
        }
    }

    /// What it waits for, to be told while it has not ended.
    pub(crate) fn waits_for(&self) -> Option<String> {
        if self.state() == State::Suspended
            && let Some(queue) = queue::of(self)
        {
            return Some(format!("waiting in the queue `{queue}`"));
        }
        match (self.state(), self.detail()) {
            (State::Succeeded | State::Failed, _) | (State::Running, "") => None,
            (State::New, _) => Some("waiting for the operator".to_owned()),
            (_, "") => Some("waiting for its pods".to_owned()),
            (_, detail) => Some(format!("waiting: {detail}")),
        }
    }

    pub(crate) fn conditions(&self) -> impl DoubleEndedIterator<Item = &Value> {
        let conditions = self.object["status"]["conditions"].as_array();
        conditions.map(Vec::as_slice).unwrap_or_default().iter()
    }

    /// `3/4`: how many of its pods run or have succeeded, of how many.
    pub(crate) fn progress(&self) -> &str {
        text(&self.object["status"]["progress"])
    }

    pub(crate) fn restarts(&self) -> i64 {
        self.object["status"]["restarts"]["count"]
            .as_i64()
            .unwrap_or_default()
    }

    pub(crate) fn created(&self) -> Option<Timestamp> {
        time(&self.object["metadata"]["creationTimestamp"])
    }

    /// The replica whose output stands for the job's: `master-0`.
    pub(crate) fn leading_replica(&self) -> String {
        let has = |role: &str| self.has_role(role);
        let role = match self.kind.kind {
            "MPIJob" => return "launcher".to_owned(),
            "TFJob" if has("Chief") => "chief",
            "TFJob" | "PyTorchJob" | "XGBoostJob" | "PaddleJob" if has("Master") => "master",
            _ => "worker",
        };
        format!("{role}-0")
    }

    fn has_role(&self, role: &str) -> bool {
        let replicas = self.object["spec"][self.kind.replicas_field].as_object();
        replicas
            .into_iter()
            .flatten()
            .any(|(name, _)| name.eq_ignore_ascii_case(role))
    }
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(kind: &'static Kind, object: Value) -> Job {
        Job { kind, object }
    }

    #[test]
    fn the_latest_true_condition_is_the_state() {
        let conditions = json!([
            {"type": "Created", "status": "True", "message": "made"},
            {"type": "Running", "status": "False"},
            {"type": "Suspended", "status": "True", "message": "held"},
        ]);
        let held = job(&kinds::TF_JOB, json!({"status": {"conditions": conditions}}));
        assert_eq!((held.state(), held.message()), (State::Suspended, "held"));
        let conditions = json!([
            {"type": "Created", "status": "True", "message": "made"},
            {"type": "Suspended", "status": "False", "message": "TFJob a is resumed. worker-0: no room"},
        ]);
        let resumed = json!({"metadata": {"name": "a"}, "status": {"conditions": conditions}});
        let resumed = job(&kinds::TF_JOB, resumed);
        assert_eq!(
            (resumed.state(), resumed.detail()),
            (State::Created, "worker-0: no room")
        );
        assert_eq!(job(&kinds::TF_JOB, json!({})).state(), State::New);
    }

    #[test]
    fn what_is_known_anyway_is_not_told_again() {
        let detail = |kind: &'static Kind, message: &str| {
            let metadata = json!({"name": "a", "namespace": "lab"});
            let conditions = json!([{"type": "Created", "status": "True", "message": message}]);
            let job = job(
                kind,
                json!({"metadata": metadata, "status": {"conditions": conditions}}),
            );
            job.detail().to_owned()
        };
        assert_eq!(
            detail(
                &kinds::TF_JOB,
                "TFJob a is failed because 1 Worker replica(s) failed. worker-0 exit 3"
            ),
            "1 Worker replica(s) failed. worker-0 exit 3"
        );
        assert_eq!(
            detail(&kinds::MPI_JOB, "MPIJob lab/a is created. 3 of 4 pods run"),
            "3 of 4 pods run"
        );
        assert_eq!(detail(&kinds::TF_JOB, "TFJob a is running."), "");
        assert_eq!(detail(&kinds::TF_JOB, "no quota is left"), "no quota is left");
    }

    #[test]
    fn the_standalone_mxjob_has_phases() {
        let at = |phase: &str, state: &str| {
            job(
                &kinds::MX_JOB,
                json!({"status": {"phase": phase, "state": state}}),
            )
            .state()
        };
        assert_eq!(at("Creating", ""), State::Created);
        assert_eq!(at("Done", "Succeeded"), State::Succeeded);
        assert_eq!(at("Failed", "Failed"), State::Failed);
    }

    #[test]
    fn each_kind_has_one_replica_that_speaks_for_it() {
        let of = |kind: &'static Kind, roles: Value| {
            job(kind, json!({"spec": {kind.replicas_field: roles}})).leading_replica()
        };
        assert_eq!(of(&kinds::PYTORCH_JOB, json!({"master": {}})), "master-0");
        assert_eq!(of(&kinds::PYTORCH_JOB, json!({"Worker": {}})), "worker-0");
        assert_eq!(of(&kinds::TF_JOB, json!({"Chief": {}, "Worker": {}})), "chief-0");
        assert_eq!(
            of(&kinds::MXNET_JOB, json!({"Scheduler": {}, "Worker": {}})),
            "worker-0"
        );
        assert_eq!(of(&kinds::MPI_JOB, json!({})), "launcher");
    }
}
