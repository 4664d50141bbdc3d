//! One run of one container, from the pod's specification to what a sandbox is asked to do. Pure, but
//! for what is read of the image and of profiles before.

mod command;
mod limits;
mod own_program;
mod security;

use std::path::{Path, PathBuf};

use containers::spec::{self, Bind, Log, Mount, Stdin};
use k8s_openapi::api::core::v1::{Container, Pod};

use crate::{
    environment::Environment,
    folders::PodFolder,
    gpus::Access,
    images::{Base, Image},
    lifecycle::roles,
};

pub(crate) use command::NoCommand;
pub(crate) use limits::Machine;
pub(crate) use own_program::link as link_own_program;
pub(crate) use security::{Forbidden, Profiles};

/// Everything that is known when a container is about to start.
pub(crate) struct Start<'a> {
    pub(crate) pod: &'a Pod,
    pub(crate) container: &'a Container,
    pub(crate) attempt: u32,
    pub(crate) image: &'a Image,
    pub(crate) environment: Environment,
    /// What the pod's volumes are for this container.
    pub(crate) mounts: Vec<Mount>,
    pub(crate) folder: &'a PodFolder,
    /// What no container may see.
    pub(crate) data_dir: &'a Path,
    pub(crate) machine: Machine,
    pub(crate) profiles: &'a Profiles,
    /// What of the machine's GPUs is this container's.
    pub(crate) gpus: Access,
    /// The host's name as programs ask the environment for it.
    pub(crate) hostname: &'a str,
    /// Its processes see the machine as it is: nothing is mounted for them.
    pub(crate) is_plain: bool,
    /// The program that runs this cluster, where its file is still there.
    pub(crate) own_program: Option<&'a Path>,
}

/// Why a container cannot be run as it is specified.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    #[error(transparent)]
    NoCommand(#[from] NoCommand),
}

impl Unfit {
    /// The reason users see while the container waits.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Forbidden(_) => "CreateContainerConfigError",
            Self::NoCommand(_) => "CreateContainerError",
        }
    }
}

pub(crate) fn container(start: Start<'_>) -> Result<spec::Container, Unfit> {
    let Start {
        pod,
        container,
        image,
        ..
    } = start;
    let identity = security::identity(pod, container, image)?;
    let rights = security::rights(pod, container, start.profiles)?;
    let argv = command::argv(container, image, &start.environment)?;
    let mut env = command::variables(container, image, start.environment, start.hostname);
    command::replace(&mut env, start.gpus.env);
    if start.is_plain {
        let message = start.folder.termination_message(&container.name, start.attempt);
        let message = (
            MESSAGE_VARIABLE.to_owned(),
            message.to_string_lossy().into_owned(),
        );
        command::replace(&mut env, [message]);
    }
    let mut mounts = own_files(start.folder, container, start.attempt);
    mounts.extend(start.mounts);
    if let (Some(program), Base::Host(_)) = (start.own_program, &image.base) {
        if start.is_plain {
            own_program::name(program, &mut env);
        } else {
            own_program::mount(program, &mut env, &mut mounts);
        }
    }
    Ok(spec::Container {
        name: container.name.clone(),
        attempt: start.attempt,
        visits: visited(pod, container),
        root: image.root(&start.folder.container(&container.name)),
        read_only_root: rights.read_only_root,
        mounts,
        hidden: vec![start.data_dir.to_owned()],
        devices: start.gpus.devices,
        argv,
        env,
        working_directory: working_directory(container, image),
        user: identity.user,
        group: identity.group,
        groups: identity.groups,
        capabilities: rights.capabilities,
        privileged: rights.privileged,
        no_new_privileges: rights.no_new_privileges,
        seccomp: rights.seccomp,
        unmasked_proc: rights.unmasked_proc,
        limits: limits::limits(container),
        resource_limits: Vec::new(),
        oom_score_adjustment: Some(limits::oom_score(pod, container, start.machine)),
        tty: container.tty == Some(true),
        stdin: stdin(container),
        log: Some(Log::at(start.folder.log(&container.name, start.attempt))),
    })
}

fn working_directory(container: &Container, image: &Image) -> Option<PathBuf> {
    let own = container.working_dir.as_deref().filter(|path| !path.is_empty());
    let of_image = Some(image.config.config.working_dir.as_str()).filter(|path| !path.is_empty());
    own.or(of_image).map(PathBuf::from)
}

fn stdin(container: &Container) -> Stdin {
    match (container.stdin, container.stdin_once) {
        (Some(true), Some(true)) => Stdin::Once,
        (Some(true), _) => Stdin::Open,
        _ => Stdin::None,
    }
}

/// Where a plain process leaves its last words: the place that others have for that is the machine's.
const MESSAGE_VARIABLE: &str = "TRAINYARD_TERMINATION_LOG";
pub(crate) const DEFAULT_TERMINATION_MESSAGE: &str = "/dev/termination-log";

/// Files every container finds, unless a volume of its own is in their place.
fn own_files(folder: &PodFolder, container: &Container, attempt: u32) -> Vec<Mount> {
    let message = container.termination_message_path.as_deref();
    let message = message.filter(|path| !path.is_empty());
    let files = [
        (folder.file("hosts"), Path::new("/etc/hosts")),
        (folder.file("hostname"), Path::new("/etc/hostname")),
        (folder.file("resolv.conf"), Path::new("/etc/resolv.conf")),
        (
            folder.termination_message(&container.name, attempt),
            Path::new(message.unwrap_or(DEFAULT_TERMINATION_MESSAGE)),
        ),
    ];
    let volumes = container.volume_mounts.iter().flatten();
    let taken: Vec<&Path> = volumes.map(|mount| Path::new(&mount.mount_path)).collect();
    files
        .into_iter()
        .filter(|(_, target)| !taken.contains(target))
        .map(|(source, target)| {
            Mount::Bind(Bind {
                source,
                target: target.to_owned(),
                read_only: false,
            })
        })
        .collect()
}

/// A container of a pod by its name, whichever part it plays.
pub(crate) fn find(pod: &Pod, name: &str) -> Option<Container> {
    let mut ordinary = roles::init(pod).iter().chain(roles::work(pod));
    if let Some(container) = ordinary.find(|container| container.name == name) {
        return Some(container.clone());
    }
    let visitor = roles::visitors(pod).iter().find(|visitor| visitor.name == name)?;
    // The same fields under another type's name.
    serde_json::from_value(serde_json::to_value(visitor).ok()?).ok()
}

/// The container whose processes a visitor wants to see.
fn visited(pod: &Pod, container: &Container) -> Option<String> {
    let mut visitors = roles::visitors(pod).iter();
    let visitor = visitors.find(|visitor| visitor.name == container.name)?;
    visitor
        .target_container_name
        .clone()
        .filter(|target| !target.is_empty())
}

#[cfg(test)]
mod tests;
