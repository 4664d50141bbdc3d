//! Finds the facts by trying in a child process; nothing of the caller changes.

use nix::{sched::CloneFlags, unistd::getuid};

use super::Facts;
use crate::system;

const NAMESPACES: CloneFlags = CloneFlags::CLONE_NEWNS
    .union(CloneFlags::CLONE_NEWPID)
    .union(CloneFlags::CLONE_NEWNET)
    .union(CloneFlags::CLONE_NEWIPC)
    .union(CloneFlags::CLONE_NEWUTS);

/// What this process may do.
pub fn probe() -> Facts {
    Facts {
        user: getuid().as_raw(),
        namespaces: try_namespaces(NAMESPACES),
        user_namespaces: try_namespaces(NAMESPACES | CloneFlags::CLONE_NEWUSER),
    }
}

fn try_namespaces(flags: CloneFlags) -> Result<(), String> {
    system::try_unshare(flags).map_err(|error| error.desc().to_lowercase())
}
