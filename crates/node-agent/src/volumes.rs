//! The volumes of a pod. `plan` says what each of them is made of, from the API alone; `set_up` makes
//! it so on this machine, again and again; `mounts` shows them to a container; `tear_down` takes away
//! what was made and nothing else.

mod claims;
mod content;
mod failure;
mod folder;
mod host_path;
mod limits;
mod mounts;
mod nfs;
mod ownership;
mod plan;
mod removal;
mod retry;
mod set_up;
mod tokens;

pub use content::{File, TokenRequest, Unavailable, VolumeSources};
pub use failure::Failure;
pub use host_path::HostPathType;
pub use limits::{Limit, exceeded, limits};
pub use mounts::{MountError, memory, mounts};
pub use nfs::Share;
pub use ownership::Ownership;
pub use plan::{Ground, Plan, Source, Volume, plan};
pub use removal::{TearDownError, remove_provisioned, tear_down};
pub use retry::wait;
pub use set_up::set_up;
pub use tokens::Tokens;
