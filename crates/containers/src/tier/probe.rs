//! Finds the facts by trying in a child process; nothing of the caller changes.

use std::{fs, path::Path};

use nix::{
    sched::CloneFlags,
    unistd::{getegid, geteuid, getuid},
};

use super::{Facts, Tier};
use crate::system::{self, OverlayTrial};

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

/// Whether the layers of images can be mounted in this tier, with what changes kept on the file system of
/// `dir`; if not, why. It is tried in a folder below `dir` that is removed again.
pub fn probe_overlay(dir: &Path, tier: Tier) -> Result<(), String> {
    let folder = dir.join(format!("overlay-probe-{}", std::process::id()));
    let tried = try_overlay(&folder, tier);
    // Overlay leaves a folder that only root may open; it is empty, and so is its parent.
    let _ = fs::remove_dir(folder.join("work/work"));
    let _ = fs::remove_dir_all(&folder);
    tried
}

fn try_overlay(folder: &Path, tier: Tier) -> Result<(), String> {
    let user_namespace = match tier {
        Tier::Root => None,
        Tier::Rootless => Some((geteuid().as_raw(), getegid().as_raw())),
        Tier::Process => return Err("plain processes have no mounts of their own".to_owned()),
    };
    for name in ["lower", "upper", "work", "merged"] {
        let path = folder.join(name);
        fs::create_dir_all(&path).map_err(|error| format!("cannot make `{}`: {error}", path.display()))?;
    }
    let trial = OverlayTrial::new(folder, user_namespace).map_err(|error| error.desc().to_lowercase())?;
    system::try_overlay(&trial).map_err(|error| error.desc().to_lowercase())
}
