//! The pod's namespaces, from the user namespace inwards.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, setns, unshare},
    sys::prctl,
    unistd::{getegid, geteuid, sethostname},
};

use super::error::{Doing as _, SetupError};
use crate::{
    spec::{MemoryFolder, Network, Sandbox},
    system,
    tier::Tier,
};

/// What of the pod its containers have in common, as paths the sandbox sees.
#[derive(Debug)]
pub(super) struct Surroundings {
    /// Whether containers get namespaces of their own.
    pub(super) isolated: bool,
    pub(super) own_process_namespaces: bool,
    pub(super) terminals: PathBuf,
    pub(super) shared_memory: PathBuf,
    pub(super) message_queues: Option<PathBuf>,
    /// An empty folder to build roots on.
    pub(super) staging: PathBuf,
}

/// User and process namespaces: the launcher makes them, its child is their first process.
/// When that child is killed the kernel kills everything in the pod, orphans included.
pub(super) fn enter_before_fork(spec: &Sandbox) -> Result<(), SetupError> {
    if spec.tier == Tier::Process {
        return Ok(());
    }
    enter_user_namespace(spec)?;
    if !spec.host_pid {
        unshare(CloneFlags::CLONE_NEWPID).doing(|| "make a process namespace")?;
    }
    Ok(())
}

/// The namespaces of the sandbox itself, and the file systems its containers share.
pub(super) fn enter(spec: &Sandbox, dir: &Path) -> Result<Surroundings, SetupError> {
    prctl::set_child_subreaper(true).doing(|| "become the parent of orphans")?;
    if spec.tier == Tier::Process {
        return Ok(bare_surroundings(dir));
    }
    // Whoever entered a user namespace is closed to the agent's eyes until it says otherwise.
    prctl::set_dumpable(true).doing(|| "stay visible to the agent")?;
    unshare(CloneFlags::CLONE_NEWNS).doing(|| "make a mount namespace")?;
    // What the host mounts later still appears; what is mounted here never leaves.
    let slave = MsFlags::MS_REC | MsFlags::MS_SLAVE;
    mount(None::<&str>, "/", None::<&str>, slave, None::<&str>).doing(|| "separate the mounts")?;
    enter_network(&spec.network)?;
    enter_names(spec)?;
    if !spec.host_ipc {
        unshare(CloneFlags::CLONE_NEWIPC).doing(|| "make an IPC namespace")?;
    }
    set_sysctls(spec)?;
    mount_memory(&spec.memory)?;
    mount_shared(spec, dir)
}

fn enter_user_namespace(spec: &Sandbox) -> Result<(), SetupError> {
    if let Some(path) = &spec.user_namespace {
        return join(path, CloneFlags::CLONE_NEWUSER);
    }
    if spec.tier == Tier::Root {
        return Ok(());
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER).doing(|| "make a user namespace")?;
    map_single_ids((0, user.as_raw()), (0, group.as_raw()))
}

/// Maps one user and one group, each as (inside, outside), in the user namespace just made.
pub(super) fn map_single_ids(user: (u32, u32), group: (u32, u32)) -> Result<(), SetupError> {
    prctl::set_dumpable(true).doing(|| "open `/proc/self`")?;
    // The kernel lets an ordinary user map a group only after giving up `setgroups`.
    let write = |file: &str, text: String| {
        fs::write(Path::new("/proc/self").join(file), text).doing(|| format!("write `/proc/self/{file}`"))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{} {} 1", user.0, user.1))?;
    write("gid_map", format!("{} {} 1", group.0, group.1))
}

pub(super) fn join(path: &Path, kind: CloneFlags) -> Result<(), SetupError> {
    let namespace = File::open(path).doing(|| format!("open `{}`", path.display()))?;
    setns(namespace, kind).doing(|| format!("join `{}`", path.display()))
}

fn enter_network(network: &Network) -> Result<(), SetupError> {
    match network {
        Network::Host => Ok(()),
        Network::Join(path) => join(path, CloneFlags::CLONE_NEWNET),
        Network::Own => {
            unshare(CloneFlags::CLONE_NEWNET).doing(|| "make a network namespace")?;
            system::bring_loopback_up().doing(|| "bring up the loopback interface")
        }
    }
}

fn enter_names(spec: &Sandbox) -> Result<(), SetupError> {
    if spec.hostname.is_none() && spec.domain.is_none() {
        return Ok(());
    }
    unshare(CloneFlags::CLONE_NEWUTS).doing(|| "make a host name namespace")?;
    if let Some(name) = &spec.hostname {
        sethostname(name).doing(|| format!("set the host name `{name}`"))?;
    }
    if let Some(name) = &spec.domain {
        system::set_domain_name(name).doing(|| format!("set the domain name `{name}`"))?;
    }
    Ok(())
}

fn set_sysctls(spec: &Sandbox) -> Result<(), SetupError> {
    for (name, value) in &spec.sysctls {
        let file = Path::new("/proc/sys").join(name.replace('.', "/"));
        fs::write(file, value).doing(|| format!("set `{name}` to `{value}`"))?;
    }
    Ok(())
}

/// Folders in memory for the pod's volumes. Mounted here they outlive each container, need no rights on
/// the host, and are gone with the sandbox.
fn mount_memory(folders: &[MemoryFolder]) -> Result<(), SetupError> {
    for folder in folders {
        let path = &folder.path;
        fs::create_dir_all(path).doing(|| format!("make `{}`", path.display()))?;
        let mode = if folder.group.is_some() { "2777" } else { "0777" };
        let group = folder
            .group
            .map(|group| format!(",gid={group}"))
            .unwrap_or_default();
        let size = folder
            .bytes
            .map(|bytes| format!(",size={bytes}"))
            .unwrap_or_default();
        let options = format!("mode={mode}{group}{size}");
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("tmpfs"), path, Some("tmpfs"), flags, Some(options.as_str()))
            .doing(|| format!("mount memory at `{}`", path.display()))?;
    }
    Ok(())
}

/// Terminals, shared memory and message queues are the pod's, not a container's.
fn mount_shared(spec: &Sandbox, dir: &Path) -> Result<Surroundings, SetupError> {
    let place = |name: &str| -> Result<PathBuf, SetupError> {
        let path = dir.join("mounts").join(name);
        fs::create_dir_all(&path).doing(|| format!("make `{}`", path.display()))?;
        Ok(path)
    };
    let harmless = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;

    let terminals = place("pts")?;
    let options = "newinstance,ptmxmode=0666,mode=0620";
    mount(
        Some("devpts"),
        &terminals,
        Some("devpts"),
        MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC,
        Some(options),
    )
    .doing(|| "mount the pod's terminals")?;

    let (mut shared_memory, mut message_queues) = (PathBuf::from("/dev/shm"), None);
    if !spec.host_ipc {
        shared_memory = place("shm")?;
        let size = spec
            .shared_memory_bytes
            .map(|bytes| format!(",size={bytes}"))
            .unwrap_or_default();
        let options = format!("mode=1777{size}");
        mount(
            Some("shm"),
            &shared_memory,
            Some("tmpfs"),
            harmless,
            Some(options.as_str()),
        )
        .doing(|| "mount the pod's shared memory")?;
        let queues = place("mqueue")?;
        // Not every kernel has them.
        message_queues = mount(Some("mqueue"), &queues, Some("mqueue"), harmless, None::<&str>)
            .is_ok()
            .then_some(queues);
    }
    Ok(Surroundings {
        isolated: true,
        own_process_namespaces: !spec.host_pid && !spec.share_processes,
        terminals,
        shared_memory,
        message_queues,
        staging: place("root")?,
    })
}

fn bare_surroundings(dir: &Path) -> Surroundings {
    Surroundings {
        isolated: false,
        own_process_namespaces: false,
        terminals: PathBuf::from("/dev/pts"),
        shared_memory: PathBuf::from("/dev/shm"),
        message_queues: None,
        staging: dir.to_owned(),
    }
}
