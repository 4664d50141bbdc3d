//! `/proc` and `/sys`, and what of them is nobody's business.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nix::mount::mount;

use super::mounts::{HARMLESS, Held, bind, make_read_only, mount_memory, remount_read_only};
use crate::{
    cgroups::Group,
    sandbox::error::{Doing as _, SetupError},
    spec::Container,
};

/// Nothing to see here: they tell about the machine, not about the container.
const MASKED: [&str; 11] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
];

const READ_ONLY: [&str; 5] = [
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
];

/// The host's, for where new ones are refused.
#[derive(Debug)]
pub(super) struct Kernel {
    sys: Held,
    /// The control group of the container as programs look for it, or that of everybody.
    control_groups: Vec<(Held, PathBuf)>,
}

const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

pub(super) fn open(group: Option<&Group>) -> Result<Kernel, SetupError> {
    let control_groups = match group {
        Some(group) => group
            .views()
            .into_iter()
            .map(|(folder, place)| Ok((Held::open(folder)?, place)))
            .collect::<Result<_, SetupError>>()?,
        None => Held::open(Path::new(CONTROL_GROUPS))
            .map(|all| vec![(all, PathBuf::from(CONTROL_GROUPS))])
            .unwrap_or_default(),
    };
    Ok(Kernel {
        sys: Held::open(Path::new("/sys"))?,
        control_groups,
    })
}

/// Comes first: everything else is mounted by way of `/proc/self/fd`.
pub(super) fn mount_proc(root: &Path) -> Result<(), SetupError> {
    let target = root.join("proc");
    // A link in an image would lead out of it, as its root is not yet ours.
    if fs::symlink_metadata(&target).is_ok_and(|status| !status.is_dir()) {
        return Err(std::io::Error::from(std::io::ErrorKind::NotADirectory)).doing(|| "mount `/proc`");
    }
    fs::create_dir_all(&target).doing(|| "make `/proc`")?;
    // Refused where the host's own `/proc` is partly hidden, as in many containers.
    mount(Some("proc"), &target, Some("proc"), HARMLESS, None::<&str>)
        .doing(|| "mount `/proc`")
        .or_else(|_| bind(Path::new("/proc"), &target))
}

pub(super) fn mount_sys(kernel: &Kernel, spec: &Container) -> Result<(), SetupError> {
    let target = Path::new("/sys");
    fs::create_dir_all(target).doing(|| "make `/sys`")?;
    // Refused where the network namespace belongs to somebody else.
    if mount(Some("sysfs"), target, Some("sysfs"), HARMLESS, None::<&str>).is_err() {
        kernel.sys.bind_to(target)?;
    }
    mount_control_groups(&kernel.control_groups)?;
    if spec.privileged {
        Ok(())
    } else {
        make_read_only(target)
    }
}

/// Each controller has a folder; one that has all of them takes the place of the folders.
fn mount_control_groups(groups: &[(Held, PathBuf)]) -> Result<(), SetupError> {
    let root = Path::new(CONTROL_GROUPS);
    if groups.iter().any(|(_, place)| place != root) {
        mount_memory(root, HARMLESS, "mode=755,size=64k")?;
    }
    for (group, place) in groups {
        fs::create_dir_all(place).doing(|| format!("make `{}`", place.display()))?;
        group.bind_to(place)?;
    }
    Ok(())
}

/// What is masked shows `null`, which may be out of sight: a volume can be mounted over `/dev`.
pub(super) fn mask(spec: &Container, null: &Held) -> Result<(), SetupError> {
    if spec.privileged || spec.unmasked_proc {
        return Ok(());
    }
    for path in MASKED.map(Path::new) {
        if path.is_dir() {
            mount_memory(path, HARMLESS, "mode=555,size=4k")?;
            remount_read_only(path)?;
        } else if path.exists() {
            null.bind_to(path)?;
        }
    }
    for path in READ_ONLY.map(Path::new).into_iter().filter(|path| path.exists()) {
        bind(path, path)?;
        remount_read_only(path)?;
    }
    Ok(())
}
