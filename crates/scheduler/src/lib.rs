//! Pods to nodes. Where a pod can go and where it should go are pure functions over a picture of the
//! cluster; the loop around them keeps the picture true and writes down the decisions.

mod amounts;
mod cluster;
mod demand;
mod explain;
mod filters;
mod node;
mod placement;
mod preemption;
mod scores;
mod terms;

pub use amounts::Amounts;
pub use cluster::Cluster;
pub use demand::Demand;
pub use explain::explain;
pub use node::Node;
pub use placement::{Refusal, Unplaceable, place};
pub use preemption::{Preemption, preempt};

#[cfg(test)]
mod tests;
