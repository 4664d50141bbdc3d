//! What a container sees of its pod's volumes.

use std::{
    cell::RefCell,
    path::{Component, Path, PathBuf},
};

use containers::spec::{Bind, MemoryFolder, Mount, Part};
use k8s_openapi::api::core::v1::{Container, VolumeMount};

use super::plan::{Ground, Plan, Source, Volume};
use crate::environment::{Environment, expand};

/// Why a container cannot be configured (`CreateContainerConfigError`).
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MountError {
    #[error("cannot find volume \"{volume}\" to mount into container \"{container}\"")]
    Volume { volume: String, container: String },
    #[error("missing value for \"{0}\"")]
    Variable(String),
    #[error("error SubPath `{0}` must not be an absolute path")]
    Absolute(String),
    #[error("unable to provision SubPath `{0}`: must not contain '..'")]
    Backsteps(String),
    #[error("volume \"{volume}\" cannot be mounted at \"{path}\": that is the container's root")]
    Root { volume: String, path: String },
}

/// The folders in memory that the pod's sandbox must make before its containers start.
pub fn memory(plan: &Plan, ground: &Ground) -> Vec<MemoryFolder> {
    let folders = plan.volumes.iter().filter_map(|volume| match volume.source {
        Source::Memory { bytes } => Some(MemoryFolder {
            path: ground.folder.join(&volume.name),
            bytes,
            group: plan.ownership.group,
        }),
        _ => None,
    });
    folders.collect()
}

/// The mounts of one container. Read-only ones are so with everything mounted below them, which is
/// more than `recursiveReadOnly` needs. Mount propagation is as with `None`.
pub fn mounts(
    plan: &Plan,
    ground: &Ground,
    container: &Container,
    environment: &Environment,
) -> Result<Vec<Mount>, MountError> {
    let wanted = container.volume_mounts.iter().flatten();
    wanted
        .map(|wanted| {
            let volume = plan.volumes.iter().find(|volume| volume.name == wanted.name);
            let volume = volume.ok_or_else(|| MountError::Volume {
                volume: wanted.name.clone(),
                container: container.name.clone(),
            })?;
            mount(volume, ground, wanted, environment)
        })
        .collect()
}

fn mount(
    volume: &Volume,
    ground: &Ground,
    wanted: &VolumeMount,
    environment: &Environment,
) -> Result<Mount, MountError> {
    let source = volume.place(ground);
    let target = Path::new("/").join(&wanted.mount_path);
    if is_root(&target) {
        return Err(MountError::Root {
            volume: wanted.name.clone(),
            path: wanted.mount_path.clone(),
        });
    }
    let read_only = volume.is_read_only || wanted.read_only == Some(true);
    Ok(match sub_path(wanted, environment)? {
        None => Mount::Bind(Bind {
            source,
            target,
            read_only,
        }),
        Some(path) => Mount::Part(Part {
            volume: source,
            path,
            target,
            read_only,
        }),
    })
}

/// Whether an absolute path leads nowhere but to the root.
fn is_root(path: &Path) -> bool {
    let depth = path.components().fold(0_usize, |depth, part| match part {
        Component::Normal(_) => depth + 1,
        Component::ParentDir => depth.saturating_sub(1),
        _ => depth,
    });
    depth == 0
}

impl Volume {
    /// Where it is on the host.
    pub fn place(&self, ground: &Ground) -> PathBuf {
        match &self.source {
            Source::Host { path, .. } | Source::Persistent { path, .. } => path.clone(),
            Source::Folder | Source::Memory { .. } | Source::Files(_) | Source::Share(_) => {
                ground.folder.join(&self.name)
            }
        }
    }
}

/// The part of the volume that is wanted, if not all of it.
fn sub_path(wanted: &VolumeMount, environment: &Environment) -> Result<Option<PathBuf>, MountError> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let text = match (given(&wanted.sub_path_expr), given(&wanted.sub_path)) {
        (Some(expression), _) => expanded(&expression, environment)?,
        (None, Some(path)) => path,
        (None, None) => return Ok(None),
    };
    let path = PathBuf::from(&text);
    if path.is_absolute() {
        return Err(MountError::Absolute(text));
    }
    if path
        .components()
        .any(|component| component == Component::ParentDir)
    {
        return Err(MountError::Backsteps(text));
    }
    Ok(Some(path))
}

fn expanded(expression: &str, environment: &Environment) -> Result<String, MountError> {
    let missing = RefCell::new(None);
    let text = expand(expression, |name| {
        let value = environment.get(name);
        if value.is_none() {
            missing.borrow_mut().get_or_insert_with(|| name.to_owned());
        }
        value
    });
    match missing.into_inner() {
        Some(name) => Err(MountError::Variable(name)),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests;
