//! The file system a container sees. It is built on an empty folder inside a mount namespace of its
//! own, so nothing has to be undone. After `pivot_root` every target is resolved by the kernel inside
//! the new root: no symbolic link of an image leads out of it.

mod base;
mod copy;
mod devices;
mod hidden;
mod kernel;
mod lock;
mod mirror;
mod mounts;
mod parts;
mod volumes;

use std::{
    env,
    path::{Path, PathBuf},
};

use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, unshare},
    unistd::pivot_root,
};

use super::{
    command,
    error::{Doing as _, SetupError},
    namespaces::Surroundings,
};
use crate::{
    cgroups::Group,
    spec::{Container, Root},
};
use hidden::Hidden;
use mounts::Held;
use volumes::Volume;

/// Gives this process the container's file system, with its control group in sight. What covers the host
/// stays where it is even if the container `may_mount`.
pub(super) fn build(
    spec: &Container,
    surroundings: &Surroundings,
    group: Option<&Group>,
    may_mount: bool,
) -> Result<(), SetupError> {
    unshare(CloneFlags::CLONE_NEWNS).doing(|| "make a mount namespace")?;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>).doing(|| "separate the mounts")?;
    // Sources are named as the host sees them; open, they can be used after the host is out of sight.
    let hidden = Hidden::find(&spec.hidden);
    let volumes = volumes::open(spec, &hidden)?;
    let devices = devices::open(spec, surroundings)?;
    let kernel = kernel::open(group)?;

    base::mount_root(&spec.root, &surroundings.staging)?;
    if !spec.privileged {
        mounts::refuse_devices(&surroundings.staging)?;
    }
    kernel::mount_proc(&surroundings.staging)?;
    enter(&surroundings.staging)?;
    let mut mirrors = Vec::new();
    kernel::mount_sys(&kernel, spec)?;
    devices::mount_all(&devices)?;
    let null = Held::open(Path::new("/dev/null"))?;
    let private = private_folders(spec);
    base::replace_private(&private)?;
    let is_host = matches!(spec.root, Root::Host { .. });
    if is_host {
        hidden.places().try_for_each(base::hide)?;
    }
    volumes::mount_all(&volumes, &mut mirrors)?;
    kernel::mask(spec, &null)?;
    if spec.read_only_root {
        base::close_private(&private, &spec.mounts)?;
    }
    for mirror in &mirrors {
        mounts::remount_read_only(mirror)?;
    }
    leave_host()?;
    if spec.read_only_root || is_host {
        mounts::remount_read_only(Path::new("/"))?;
    }
    let covers_host = is_host || volumes.iter().any(Volume::hides);
    if may_mount && covers_host {
        lock::lock()?;
    }
    Ok(())
}

/// What each container on the host's file system has for itself: the home of its own user, too.
fn private_folders(spec: &Container) -> Vec<PathBuf> {
    let Root::Host { private } = &spec.root else {
        return Vec::new();
    };
    let mut folders = private.clone();
    folders.extend(command::own_home(spec.user).filter(|home| !private.contains(home)));
    folders
}

/// Makes `root` the root; the host's stays mounted on top of it, reachable only as `.`.
fn enter(root: &Path) -> Result<(), SetupError> {
    env::set_current_dir(root).doing(|| "enter the new root")?;
    pivot_root(".", ".").doing(|| "change the root")
}

fn leave_host() -> Result<(), SetupError> {
    umount2(".", MntFlags::MNT_DETACH).doing(|| "leave the host's root")?;
    env::set_current_dir("/").doing(|| "enter the new root")
}
