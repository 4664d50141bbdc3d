//! The one model that every kind is read into.

use std::collections::BTreeMap;

use resources::{
    JobStatus, Kind, SchedulingPolicy,
    names::annotations,
    specs::{ElasticPolicy, PaddleElasticPolicy},
};
use serde_json::{Value, json};

use crate::{read::OldLabel, template};

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub kind: &'static Kind,
    pub identity: Identity,
    /// In the order of the kind's roles.
    pub replicas: Vec<Replica>,
    pub policy: Policy,
    pub framework: Framework,
    pub status: JobStatus,
    /// Labels of older operators that its templates know, and that its pods have therefore.
    pub old_labels: Vec<&'static OldLabel>,
    /// Old layouts that were read, to be told to the user.
    pub warnings: Vec<Warning>,
}

/// Which object it is.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub namespace: String,
    pub uid: String,
    pub generation: i64,
    pub annotations: BTreeMap<String, String>,
    pub is_being_deleted: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Warning {
    pub reason: &'static str,
    pub message: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Replica {
    pub role: &'static str,
    pub count: u32,
    pub restart: RestartPolicy,
    pub template: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestartPolicy {
    Always,
    OnFailure,
    Never,
    ExitCode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CleanPodPolicy {
    All,
    Running,
    None,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    /// Where it is said.
    pub clean: Option<CleanPodPolicy>,
    pub ttl_seconds: Option<i64>,
    pub deadline_seconds: Option<i64>,
    pub backoff_limit: Option<i32>,
    pub scheduling: SchedulingPolicy,
    pub suspend: bool,
    pub managed_by: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Framework {
    TensorFlow {
        all_workers: bool,
        dynamic: bool,
    },
    PyTorch {
        elastic: Option<ElasticPolicy>,
        processes: Option<String>,
    },
    Mxnet,
    XgBoost,
    Paddle {
        elastic: Option<PaddleElasticPolicy>,
    },
    Jax,
    Mpi(Mpi),
}

#[derive(Clone, Debug)]
pub(crate) struct Mpi {
    pub version: MpiVersion,
    pub slots: i32,
    pub main_container: Option<String>,
    pub implementation: MpiImplementation,
    pub ssh_path: String,
    pub launcher_waits: bool,
    pub launcher_works: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MpiVersion {
    V1Alpha2,
    V1,
    V2Beta1,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MpiImplementation {
    OpenMpi,
    Intel,
    Mpich,
}

impl Job {
    pub(crate) fn name(&self) -> &str {
        &self.identity.name
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.identity.namespace
    }

    pub(crate) fn replica(&self, role: &str) -> Option<&Replica> {
        self.replicas.iter().find(|replica| replica.role == role)
    }

    pub(crate) fn count(&self, role: &str) -> u32 {
        self.replica(role).map_or(0, |replica| replica.count)
    }

    pub(crate) fn total(&self) -> u32 {
        self.replicas.iter().map(|replica| replica.count).sum()
    }

    pub(crate) fn mpi(&self) -> Option<&Mpi> {
        match &self.framework {
            Framework::Mpi(mpi) => Some(mpi),
            _ => None,
        }
    }

    /// The name of a replica's pod, and of its Service where it has one.
    pub(crate) fn child_name(&self, role: &str, index: u32) -> String {
        let role = role.to_lowercase();
        // There is one launcher, and it has no number.
        if self.mpi().is_some() && role == "launcher" {
            return format!("{}-launcher", self.name());
        }
        format!("{}-{role}-{index}", self.name())
    }

    /// The port of a role's framework container.
    pub(crate) fn port(&self, role: &str) -> u16 {
        let Some(port) = self.kind.port else { return 0 };
        let container = self
            .replica(role)
            .and_then(|replica| template::container(&replica.template, self.kind.container));
        let number = container.and_then(|container| template::port(container, port.name));
        number.unwrap_or(port.number)
    }

    /// Whether all replicas are restarted when one fails.
    pub(crate) fn restarts_together(&self) -> bool {
        self.identity
            .annotations
            .get(annotations::GANG_RESTART)
            .is_some_and(|value| value == "true")
    }

    /// Whether the launcher is one of those who are restarted together: where it works too, it is a rank as they are.
    pub(crate) fn launcher_is_of_the_gang(&self) -> bool {
        self.restarts_together() && self.mpi().is_some_and(|mpi| mpi.launcher_works)
    }

    /// What the kubelet is told to do with a replica whose program ends. Where all are restarted together,
    /// it must not restart one by itself.
    pub(crate) fn restart_policy_of_pod(&self, replica: &Replica) -> &'static str {
        let is_batch = replica.role == "Launcher" && self.launches_by_batch_job();
        match replica.restart {
            RestartPolicy::Never | RestartPolicy::ExitCode => RestartPolicy::Never.name(),
            _ if self.restarts_together() && (!is_batch || self.launcher_is_of_the_gang()) => {
                RestartPolicy::Never.name()
            }
            policy => policy.name(),
        }
    }

    /// Whether another operator looks after the job.
    pub(crate) fn is_managed_by_another(&self) -> bool {
        let ours = match self.framework {
            Framework::Mpi(_) => &[resources::names::MPI_MANAGED_BY, resources::names::MANAGED_BY][..],
            _ => &[resources::names::MANAGED_BY][..],
        };
        self.policy
            .managed_by
            .as_deref()
            .is_some_and(|manager| !manager.is_empty() && !ours.contains(&manager))
    }

    /// The launcher of these versions is a batch Job, which makes the pod.
    pub(crate) fn launches_by_batch_job(&self) -> bool {
        self.mpi().is_some_and(|mpi| mpi.version != MpiVersion::V1)
    }
}

impl Identity {
    pub(crate) fn owner_reference(&self) -> Value {
        json!({
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }
}

impl RestartPolicy {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "Always" => Self::Always,
            "OnFailure" => Self::OnFailure,
            "Never" => Self::Never,
            "ExitCode" => Self::ExitCode,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::OnFailure => "OnFailure",
            Self::Never => "Never",
            Self::ExitCode => "ExitCode",
        }
    }
}

impl CleanPodPolicy {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "All" => Self::All,
            "Running" => Self::Running,
            "None" => Self::None,
            _ => return None,
        })
    }
}
