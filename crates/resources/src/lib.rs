//! The custom resources of the training operator and of the task service: the types users write, the tables
//! of kinds, the names of labels, annotations and conditions, and the definitions made of all that. What a job
//! does is decided in `training`, what becomes of a task in `tasks`.

pub mod conditions;
pub mod definitions;
pub mod kinds;
pub mod mpi;
pub mod mxnet;
pub mod names;
mod rules;
pub mod run_policy;
mod schema;
pub mod specs;
pub mod status;
pub mod tasks;
pub mod workflows;

pub use kinds::{Kind, Port};
pub use rules::{LONGEST_NAME, TOO_LONG};
pub use run_policy::{ReplicaSpec, RunPolicy, SchedulingPolicy};
pub use status::{JobCondition, JobStatus, ReplicaStatus, Restarts};
