//! As whom a container runs, and what it may do.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use containers::spec::{Capabilities, Seccomp};
use images::UserError;
use k8s_openapi::api::core::v1::{Container, Pod, SeccompProfile};

use crate::{images::Image, lifecycle::roles};

/// Why a container must not run as its image or its specification wants.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Forbidden {
    #[error("container has runAsNonRoot and image will run as root ({0})")]
    ImageIsRoot(String),
    #[error("container's runAsUser breaks non-root policy ({0})")]
    AskedForRoot(String),
    #[error(
        "container has runAsNonRoot and image has non-numeric user ({user}), cannot verify user is non-root ({whose})"
    )]
    NamedUser { user: String, whose: String },
    #[error(transparent)]
    NoSuchUser(#[from] UserError),
    #[error("cannot load seccomp profile {path:?}: {problem}")]
    Profile { path: PathBuf, problem: String },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) groups: Vec<u32>,
}

/// The specification decides; where it is silent, the image.
pub(super) fn identity(pod: &Pod, container: &Container, image: &Image) -> Result<Identity, Forbidden> {
    let of_pod = roles::spec(pod).security_context.as_ref();
    let own = container.security_context.as_ref();
    let asked = own
        .and_then(|own| own.run_as_user)
        .or_else(|| of_pod.and_then(|context| context.run_as_user));
    let must_not_be_root = own
        .and_then(|own| own.run_as_non_root)
        .or_else(|| of_pod.and_then(|context| context.run_as_non_root))
        == Some(true);
    let image_user = image.config.config.user.split(':').next().unwrap_or_default();
    if must_not_be_root {
        check_not_root(pod, container, asked, image_user)?;
    }
    let found = match asked {
        Some(user) => image.users().of_uid(id(user)),
        None => image.users().find(&image.config.config.user)?,
    };
    let group = own
        .and_then(|own| own.run_as_group)
        .or_else(|| of_pod.and_then(|context| context.run_as_group));
    let is_strict =
        of_pod.and_then(|context| context.supplemental_groups_policy.as_deref()) == Some("Strict");
    let mut groups = further_groups(pod);
    if !is_strict {
        groups.extend(found.additional_gids);
    }
    groups.sort_unstable();
    groups.dedup();
    Ok(Identity {
        user: found.uid,
        group: group.map_or(found.gid, id),
        groups,
    })
}

fn check_not_root(
    pod: &Pod,
    container: &Container,
    asked: Option<i64>,
    image_user: &str,
) -> Result<(), Forbidden> {
    let meta = &pod.metadata;
    let [name, namespace, uid] =
        [&meta.name, &meta.namespace, &meta.uid].map(|part| part.as_deref().unwrap_or_default());
    let whose = format!(
        "pod: \"{name}_{namespace}({uid})\", container: {}",
        container.name
    );
    let is_named = image_user.parse::<u32>().is_err() && !image_user.is_empty();
    match (asked, image_user) {
        (Some(0), _) => Err(Forbidden::AskedForRoot(whose)),
        (None, "" | "0") => Err(Forbidden::ImageIsRoot(whose)),
        (None, user) if is_named => Err(Forbidden::NamedUser {
            user: user.to_owned(),
            whose,
        }),
        _ => Ok(()),
    }
}

fn further_groups(pod: &Pod) -> Vec<u32> {
    let Some(context) = roles::spec(pod).security_context.as_ref() else {
        return Vec::new();
    };
    let groups = context.supplemental_groups.iter().flatten();
    groups.chain(&context.fs_group).map(|group| id(*group)).collect()
}

fn id(id: i64) -> u32 {
    u32::try_from(id).unwrap_or_default()
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent wishes of a container")]
pub(super) struct Rights {
    pub(super) privileged: bool,
    pub(super) no_new_privileges: bool,
    pub(super) read_only_root: bool,
    pub(super) unmasked_proc: bool,
    pub(super) capabilities: Capabilities,
    pub(super) seccomp: Seccomp,
}

pub(super) fn rights(pod: &Pod, container: &Container, profiles: &Profiles) -> Result<Rights, Forbidden> {
    let own = container.security_context.as_ref();
    let privileged = own.and_then(|own| own.privileged) == Some(true);
    let capabilities = own.and_then(|own| own.capabilities.as_ref());
    let profile = own.and_then(|own| own.seccomp_profile.as_ref()).or_else(|| {
        roles::spec(pod)
            .security_context
            .as_ref()?
            .seccomp_profile
            .as_ref()
    });
    Ok(Rights {
        privileged,
        no_new_privileges: own.and_then(|own| own.allow_privilege_escalation) == Some(false),
        read_only_root: own.and_then(|own| own.read_only_root_filesystem) == Some(true),
        unmasked_proc: own.and_then(|own| own.proc_mount.as_deref()) == Some("Unmasked"),
        capabilities: capabilities.map_or_else(Capabilities::default, |capabilities| Capabilities {
            add: capabilities.add.clone().unwrap_or_default(),
            drop: capabilities.drop.clone().unwrap_or_default(),
        }),
        seccomp: match profile {
            _ if privileged => Seccomp::Unconfined,
            Some(profile) => profiles.seccomp(profile)?,
            None => Seccomp::Default,
        },
    })
}

/// Profiles of system calls that lie on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Profiles {
    pub(crate) folder: PathBuf,
}

impl Profiles {
    fn seccomp(&self, profile: &SeccompProfile) -> Result<Seccomp, Forbidden> {
        match profile.type_.as_str() {
            "Unconfined" => Ok(Seccomp::Unconfined),
            "Localhost" => self.local(Path::new(
                profile.localhost_profile.as_deref().unwrap_or_default(),
            )),
            _ => Ok(Seccomp::Default),
        }
    }

    fn local(&self, name: &Path) -> Result<Seccomp, Forbidden> {
        let path = self.folder.join(name);
        let unusable = |problem: String| Forbidden::Profile {
            path: path.clone(),
            problem,
        };
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(unusable("not a path below the folder of profiles".to_owned()));
        }
        let text = fs::read(&path).map_err(|error| unusable(error.to_string()))?;
        let profile = serde_json::from_slice(&text).map_err(|error| unusable(error.to_string()))?;
        Ok(Seccomp::Profile(profile))
    }
}
