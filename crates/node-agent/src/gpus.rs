//! NVIDIA GPUs of this machine: `discovery` finds them, `leases` says which container has which,
//! `access` what that container gets to see of them, `advertisement` what the node says of itself.
//!
//! A GPU that somebody outside the cluster computes on is not given to a pod, unless the user says so.

mod access;
mod advertisement;
mod discovery;
mod leases;
mod pool;
mod reading;

pub use access::{Access, access};
pub use advertisement::{Advertisement, RESOURCE};
pub use discovery::{Driver, DriverError};
pub use leases::{Demand, Short, demands};
pub use pool::{Pool, PoolError};
pub use reading::{Gpu, Process};
