//! Pods to nodes. Where a pod can go and where it should go are pure functions over a picture of the
//! cluster; the loop around them keeps the picture true and writes down the decisions.

mod amounts;
mod class;
mod cluster;
mod cycle;
mod demand;
mod draft;
mod engine;
mod explain;
mod filters;
mod node;
mod placement;
mod preemption;
mod scores;
mod shortlist;
mod storage;
mod unit;

pub use cluster::Cluster;
pub use cycle::{Decision, decide};
pub use demand::Demand;
pub use engine::start;
pub use explain::explain;
pub use node::Node;
pub use placement::{Refusal, Unplaceable, place};
pub use preemption::{Preemption, preempt};
pub use reconcile::amounts::Amounts;
pub use storage::{Arrangement, Storage};
pub use unit::{GROUP, GROUP_SIZE, Group, Unit};

#[cfg(test)]
mod tests;
