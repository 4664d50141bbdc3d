//! `/dev`: a few devices of the host, the pod's terminals, shared memory and message queues.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::mounts::{HARMLESS, Held, mount_memory};
use crate::{
    sandbox::{
        error::{Doing as _, SetupError},
        namespaces::Surroundings,
    },
    spec::Container,
};

/// Every program may count on these. Each is a mount of its own; elsewhere devices are of no use.
const NODES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: [(&str, &str); 5] = [
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// What goes where, opened on the host.
#[derive(Debug)]
pub(super) struct Devices {
    /// All of the host's, for privileged containers.
    all: Option<Held>,
    nodes: Vec<(Held, PathBuf)>,
    shared: Vec<(Held, PathBuf)>,
}

pub(super) fn open(spec: &Container, surroundings: &Surroundings) -> Result<Devices, SetupError> {
    let all = spec
        .privileged
        .then(|| Held::open(Path::new("/dev")))
        .transpose()?;
    let usual = NODES
        .iter()
        .map(|name| Path::new("/dev").join(name))
        .map(|path| (path.clone(), path));
    let wanted = spec
        .devices
        .iter()
        .map(|device| (device.source.clone(), device.target.clone()));
    let nodes = usual
        .filter(|(source, _)| all.is_none() && source.exists())
        .chain(wanted)
        .map(|(source, target)| Ok((Held::open(&source)?, target)))
        .collect::<Result<_, SetupError>>()?;
    let shared = [
        (Some(&surroundings.terminals), "/dev/pts"),
        (Some(&surroundings.shared_memory), "/dev/shm"),
        (surroundings.message_queues.as_ref(), "/dev/mqueue"),
    ];
    let shared = shared
        .into_iter()
        .filter_map(|(source, target)| Some((source?, target)))
        .map(|(source, target)| Ok((Held::open(source)?, PathBuf::from(target))))
        .collect::<Result<_, SetupError>>()?;
    Ok(Devices { all, nodes, shared })
}

pub(super) fn mount_all(devices: &Devices) -> Result<(), SetupError> {
    let target = Path::new("/dev");
    fs::create_dir_all(target).doing(|| "make `/dev`")?;
    if let Some(all) = &devices.all {
        all.bind_to(target)?;
    } else {
        mount_memory(target, HARMLESS, "mode=755,size=64k")?;
        for (name, link) in LINKS {
            symlink(link, target.join(name)).doing(|| format!("make `/dev/{name}`"))?;
        }
    }
    for (node, path) in &devices.nodes {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).doing(|| format!("make `{}`", folder.display()))?;
        }
        File::options()
            .create(true)
            .append(true)
            .open(path)
            .doing(|| format!("make `{}`", path.display()))?;
        node.bind_to(path)?;
    }
    for (folder, path) in &devices.shared {
        if path.is_dir() || fs::create_dir(path).is_ok() {
            folder.bind_to(path)?;
        }
    }
    Ok(())
}
