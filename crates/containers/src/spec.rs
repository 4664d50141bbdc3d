//! What is to run: a sandbox and its containers, in plain words. The node agent decides all of it;
//! the sandbox only acts.

mod container;
mod limits;
mod root;
mod sandbox;
mod security;

pub use container::{Container, Log, Stdin};
pub use limits::{Cpu, Limits, ResourceLimit};
pub use root::{Bind, Device, Mount, Part, Root};
pub use sandbox::{MemoryFolder, Network, Sandbox};
pub use security::{Capabilities, Seccomp, SyscallAction, SyscallProfile, SyscallRule};
