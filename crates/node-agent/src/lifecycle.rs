//! The life of a pod as a pure function: from its spec and from what its containers have done so far
//! to what to do next, and to the status users see. Nothing here starts, stops or asks anything.

pub(crate) mod backoff;
mod ending;
mod phase;
mod plan;
mod record;
pub(crate) mod roles;
mod status;

pub use ending::Ending;
pub use plan::{Action, Plan, plan};
pub use record::{Ended, Record, Records, State};
pub use status::{DEADLINE_EXCEEDED, status};
