//! What becomes of a training job. Pure: no clock, no network, no randomness.
//!
//! ```text
//! observe: the job object, its children, what the API refused   (the caller)
//! plan:    plan(&object, &observed, &settings, now) -> Plan     (this crate)
//! apply:   make, then delete, then write the status             (the caller)
//! ```
//!
//! # What the caller must do
//!
//! - Give [`plan`] a job whose status is at least as new as the last one written for it. Restarts
//!   are counted in the status, so an older one would count twice.
//! - Observe every pod and batch Job that the job controls, the pods of those Jobs, also when a launcher's is gone, every Service that it
//!   controls, and every object that has the name of a child ([`names`]) whoever owns it ([`Observed`]).
//! - Apply in the order of [`Plan`]: `make` (absent ones are created; [`Make::Patch`] ones are
//!   merge patches of what is there, and make nothing), then `delete`, then `status`. Names are deterministic, so
//!   "already exists" is a success if the job controls the object. Everything may be cut short
//!   anywhere and begun again: what counts is written before it is acted on, in a plan of its own.
//! - Plan again when the job or a child changes, at `wake_at`, and after a status was written.
//! - Record `events`, and what was made and deleted.

mod accelerators;
mod account;
mod check;
mod children;
mod conditions;
mod finish;
mod job;
mod observed;
mod plan;
mod read;
mod restarts;
mod settings;
mod standalone_mxnet;
mod suspend;
mod template;
mod verdict;
mod why;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use accelerators::{Accelerator, AcceleratorVolume, Accelerators, AcceleratorsError, Variable};
pub use check::{check, check_with};
pub use children::{Child, Make, names, render};
pub use observed::{BatchJob, Existing, Exit, GroupNames, Observed, Phase, Pod, Refusal};
pub use plan::{Delete, Event, Plan, plan};
pub use read::warnings;
pub use settings::{Delivery, Gang, Settings};
