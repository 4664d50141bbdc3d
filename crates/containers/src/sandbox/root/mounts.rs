//! The few ways this crate mounts something.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::OpenOptionsExt as _,
    },
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    libc,
    mount::{MsFlags, mount},
    sys::statvfs::{FsFlags, statvfs},
};

use crate::{
    sandbox::error::{Doing as _, SetupError},
    system,
};

pub(super) const HARMLESS: MsFlags = MsFlags::MS_NOSUID
    .union(MsFlags::MS_NODEV)
    .union(MsFlags::MS_NOEXEC);

/// A file or folder of the host, held to be mounted later.
#[derive(Debug)]
pub(super) struct Held {
    file: OwnedFd,
    pub(super) is_folder: bool,
}

impl Held {
    pub(super) fn open(path: &Path) -> Result<Self, SetupError> {
        let open = || -> io::Result<Self> {
            let file = File::options()
                .read(true)
                .custom_flags(libc::O_PATH | libc::O_CLOEXEC)
                .open(path)?;
            Self::of(file.into())
        };
        open().doing(|| format!("open `{}`", path.display()))
    }

    pub(super) fn of(file: OwnedFd) -> io::Result<Self> {
        let file = File::from(file);
        let is_folder = file.metadata()?.is_dir();
        Ok(Self {
            file: file.into(),
            is_folder,
        })
    }

    pub(super) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Shows it, with everything mounted below it, at `target`.
    pub(super) fn bind_to(&self, target: &Path) -> Result<(), SetupError> {
        bind(&self.path(), target)
    }
}

pub(super) fn bind(source: &Path, target: &Path) -> Result<(), SetupError> {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(source), target, None::<&str>, flags, None::<&str>)
        .doing(|| format!("mount `{}`", target.display()))
}

/// An empty folder in memory.
pub(super) fn mount_memory(target: &Path, flags: MsFlags, options: &str) -> Result<(), SetupError> {
    mount(Some("tmpfs"), target, Some("tmpfs"), flags, Some(options))
        .doing(|| format!("mount memory at `{}`", target.display()))
}

/// Makes a mount and all below it read-only.
pub(super) fn make_read_only(target: &Path) -> Result<(), SetupError> {
    restrict(target, libc::MOUNT_ATTR_RDONLY, MsFlags::MS_RDONLY)
        .doing(|| format!("make `{}` read-only", target.display()))
}

/// Lets nobody use a device in a mount or below it: root can make one for any disk of the machine.
pub(super) fn refuse_devices(target: &Path) -> Result<(), SetupError> {
    restrict(target, libc::MOUNT_ATTR_NODEV, MsFlags::MS_NODEV)
        .doing(|| format!("refuse devices in `{}`", target.display()))
}

fn restrict(target: &Path, attribute: u64, flag: MsFlags) -> nix::Result<()> {
    match system::restrict_below(target, attribute) {
        // Kernels before 5.12: what is mounted below it stays as it is on the host.
        Err(Errno::ENOSYS) => remount(target, flag),
        other => other,
    }
}

/// Makes one mount read-only.
pub(super) fn remount_read_only(target: &Path) -> Result<(), SetupError> {
    remount(target, MsFlags::MS_RDONLY).doing(|| format!("make `{}` read-only", target.display()))
}

/// Adds a property to one mount, keeping the others, which may be locked.
fn remount(target: &Path, flag: MsFlags) -> nix::Result<()> {
    let kept = statvfs(target).map_or(MsFlags::empty(), |status| kept_flags(status.flags()));
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | flag | kept;
    mount(None::<&str>, target, None::<&str>, flags, None::<&str>)
}

fn kept_flags(flags: FsFlags) -> MsFlags {
    let pairs = [
        (FsFlags::ST_RDONLY, MsFlags::MS_RDONLY),
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    pairs
        .into_iter()
        .filter(|(flag, _)| flags.contains(*flag))
        .map(|(_, flag)| flag)
        .collect()
}
