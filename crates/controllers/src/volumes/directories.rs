//! The directories behind volumes of the built-in class.

use std::{
    fs::Permissions,
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use k8s_openapi::api::core::v1::PersistentVolume;
use kube::ResourceExt as _;

use super::Directories;

/// Containers run as any user; the volume's own rights say who may do what in it.
const FOR_EVERYBODY: u32 = 0o777;

pub(super) async fn make(directories: &Directories, volume: &PersistentVolume) -> io::Result<()> {
    let path = directories.root.join(volume.name_any());
    tokio::fs::create_dir_all(&path).await?;
    tokio::fs::set_permissions(&path, Permissions::from_mode(FOR_EVERYBODY)).await
}

/// The directory of a volume: by its name in our root and by its own word, or it is not ours to remove.
fn path(directories: &Directories, volume: &PersistentVolume) -> Option<PathBuf> {
    let path = directories.root.join(volume.name_any());
    let source = volume.spec.as_ref()?.host_path.as_ref()?;
    (Path::new(&source.path) == path).then_some(path)
}

pub(super) async fn remove(directories: &Directories, volume: &PersistentVolume) -> io::Result<()> {
    let Some(path) = path(directories, volume) else {
        return Ok(());
    };
    match tokio::fs::remove_dir_all(&path).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}
