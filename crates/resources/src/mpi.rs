//! MPIJob: one specification for v1alpha2, v1 and v2beta1. It is the union of the three, so that no
//! version loses a field of another on its way to storage and back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{RunPolicy, run_policy::CLEAN_POD_POLICIES, specs::Replicas};

/// Distributed training with MPI: one launcher, many workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MpiJobSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_policy: Option<RunPolicy>,
    /// Processes of each worker; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub slots_per_worker: Option<i32>,
    /// Replicas by role: Launcher, Worker.
    pub mpi_replica_specs: Replicas,
    /// v1alpha2 and v1: the container that commands are run in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main_container: Option<String>,
    /// v1alpha2 and v1: as of `runPolicy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = CLEAN_POD_POLICIES))]
    pub clean_pod_policy: Option<String>,
    /// v1alpha2: as of `runPolicy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub backoff_limit: Option<i32>,
    /// v1alpha2: as of `runPolicy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub active_deadline_seconds: Option<i64>,
    /// v1alpha2: `OpenMPI`, `IntelMPI` or `MPICH`.
    #[serde(alias = "MPIDistribution", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["OpenMPI", "IntelMPI", "MPICH", "Intel"]))]
    pub mpi_distribution: Option<String>,
    /// v2beta1: where the SSH key is mounted; `/root/.ssh` when absent or empty.
    #[serde(rename = "sshAuthMountPath", skip_serializing_if = "Option::is_none")]
    pub ssh_auth_mount_path: Option<String>,
    /// v2beta1: `AtStartup` or `WaitForWorkersReady`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["AtStartup", "WaitForWorkersReady", ""]))]
    pub launcher_creation_policy: Option<String>,
    /// v2beta1: `OpenMPI`, `Intel` or `MPICH`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["OpenMPI", "Intel", "MPICH"]))]
    pub mpi_implementation: Option<String>,
    /// v2beta1: the launcher takes part as a worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_launcher_as_worker: Option<bool>,
}
