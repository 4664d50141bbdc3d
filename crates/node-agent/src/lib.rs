//! Bound pods become sandboxes; what happens in them becomes pod status.

mod admission;
mod agent;
mod causes;
mod container;
mod container_id;
pub mod environment;
mod events;
mod folders;
pub mod gpus;
mod images;
pub mod lifecycle;
pub mod logs;
mod networking;
mod node;
mod orphans;
mod own_pods;
pub mod probes;
mod sandbox;
mod service_table;
mod serving;
mod shortfalls;
pub mod volumes;
mod worker;
mod workers;

use std::{ffi::OsStr, path::Path, process::ExitCode};

pub use agent::{Settings, start, tier_of_this_machine};
pub use containers::{
    program::{processor_time, release_code},
    tier::{Decision, Tier},
};
pub use images::image_ownership;
pub use node::{NETWORK_IS_STARTING, PART_FAILING, name_of_this_machine};
pub use orphans::{Leftovers, leave_nothing_running};
pub use service_table::{Cluster, table};

/// The program behind `__sandbox DIR ASKED_BY`; must be called before the process has a second thread.
pub fn sandbox_process(folder: &Path, asked_by: &OsStr) -> ExitCode {
    containers::sandbox::main(folder, asked_by)
}

/// The program behind `__network DIR`; must be called before the process has a second thread.
pub fn network_process(folder: &Path) -> ExitCode {
    network::process::main(folder)
}
