//! The custom resources of the task service: templates that admins publish, definitions that users
//! register, tasks that fill them with values, deliveries of callbacks, and groups of nodes.

pub mod admission;
mod definition;
mod definitions;
mod delivery;
pub mod names;
mod node_group;
mod task;
mod template;

pub use definition::TaskDefinitionSpec;
pub use definitions::{
    ALL, CALLBACK_DELIVERY, GROUP, NODE_GROUP, TASK, TASK_DEFINITION, TASK_TEMPLATE, TaskKind, VERSION,
};
pub use delivery::{CallbackDeliverySpec, CallbackDeliveryStatus, DeliveryAttempt, DeliveryPhase};
pub use node_group::{NodeGroupSpec, NodeGroupStatus};
pub use task::{
    Attempt, Child, ClaimPolicy, Output, Phase, Pinned, Revision, TaskEvent, TaskSpec, TaskStatus, Waiting,
};
pub use template::{TaskTemplateSpec, TaskTemplateStatus};
