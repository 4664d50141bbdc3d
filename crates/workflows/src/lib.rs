//! What becomes of a workflow. Pure: no clock, no network, no randomness.
//!
//! ```text
//! observe: the workflow object, its pods, what was looked up, what the API refused   (the caller)
//! plan:    plan(&object, &observed, &mut locks, &settings, now) -> Plan              (this crate)
//! apply:   make, stop, store the object, clean up                                    (the caller)
//! ```
//!
//! Objects, names, phases and messages are those of Argo Workflows; the status of a workflow is all that is
//! remembered of it, so it can be taken over at any moment by another process, or changed by Argo's own
//! command line.

pub mod change;
pub mod check;
pub mod cron;
pub mod depends;
pub mod duration;
pub mod expression;
pub mod graph;
pub mod items;
pub mod model;
pub mod names;
pub mod node;
pub mod observed;
mod plan;
pub mod report;
pub mod scope;
pub mod settings;
pub mod status;
pub mod tags;
pub mod when;

pub use observed::{Observed, Pod, Refusal, TemplateSource};
pub use plan::{Event, Gone, Lock, Locks, Memory, Plan, PodName, Under, Unknown, over, plan};
pub use settings::{Artifacts, Delivery, Settings};
