//! The root itself: the host's file system, an image's layers, or a folder.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use nix::mount::{MsFlags, mount};

use super::{
    copy,
    mounts::{Held, bind, make_read_only, mount_memory, remount_read_only},
};
use crate::{
    sandbox::error::{Doing as _, SetupError},
    spec::{Mount, Root},
};

/// Folders that are mounted anew.
const OWN: [&str; 3] = ["proc", "sys", "dev"];

pub(super) fn mount_root(root: &Root, staging: &Path) -> Result<(), SetupError> {
    match root {
        Root::Host { .. } => mount_host(staging),
        Root::Layers { lower, upper, work } => mount_layers(lower, upper, work, staging),
        Root::Copy { lower, folder } => {
            copy::copy_layers(lower, folder)?;
            bind(folder, staging)
        }
        Root::Directory(path) => bind(path, staging),
    }
}

/// A folder in memory in which each entry of `/` is the host's: new entries can be made beside them.
fn mount_host(staging: &Path) -> Result<(), SetupError> {
    mount_memory(
        staging,
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
        "mode=755,size=16m",
    )?;
    for entry in fs::read_dir("/").doing(|| "list `/`")? {
        let entry = entry.doing(|| "list `/`")?;
        let (source, target) = (entry.path(), staging.join(entry.file_name()));
        let kind = entry
            .file_type()
            .doing(|| format!("look at `{}`", source.display()))?;
        if kind.is_symlink() {
            let link = fs::read_link(&source).doing(|| format!("read `{}`", source.display()))?;
            symlink(link, &target).doing(|| format!("make `{}`", target.display()))?;
            continue;
        }
        if kind.is_dir() {
            fs::create_dir(&target).doing(|| format!("make `{}`", target.display()))?;
        } else {
            fs::File::create(&target).doing(|| format!("make `{}`", target.display()))?;
        }
        if OWN.iter().any(|own| entry.file_name() == *own) {
            continue;
        }
        match bind(&source, &target) {
            // Somebody removed it since it was listed.
            Err(_) if !source.exists() => {}
            bound => bound.and_then(|()| make_read_only(&target))?,
        }
    }
    Ok(())
}

/// Folders are named by open descriptors: a page of options has room for a hundred layers that way, and
/// no path needs escaping.
fn mount_layers(lower: &[PathBuf], upper: &Path, work: &Path, staging: &Path) -> Result<(), SetupError> {
    for folder in [upper, work] {
        fs::create_dir_all(folder).doing(|| format!("make `{}`", folder.display()))?;
    }
    let layers = lower
        .iter()
        .map(|layer| Held::open(layer))
        .collect::<Result<Vec<Held>, SetupError>>()?;
    let (upper, work) = (Held::open(upper)?, Held::open(work)?);
    let named = |held: &Held| held.path().display().to_string();
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        layers.iter().map(named).collect::<Vec<_>>().join(":"),
        named(&upper),
        named(&work)
    );
    // Without root, overlay keeps its notes in attributes an ordinary user may write.
    let rootless = format!("{options},userxattr");
    let overlay = |options: &str| {
        mount(
            Some("overlay"),
            staging,
            Some("overlay"),
            MsFlags::empty(),
            Some(options),
        )
    };
    overlay(&rootless)
        .or_else(|_| overlay(&options))
        .doing(|| "mount the image's layers")
}

/// Puts an empty writable folder over each; what the host has there stays out of sight.
pub(super) fn replace_private(paths: &[PathBuf]) -> Result<(), SetupError> {
    for path in paths.iter().filter(|path| path.is_dir()) {
        mount_memory(path, MsFlags::MS_NOSUID | MsFlags::MS_NODEV, "mode=1777")?;
    }
    Ok(())
}

/// Lets nobody write to them any more; what is mounted inside or in their place stays as it is.
pub(super) fn close_private(paths: &[PathBuf], volumes: &[Mount]) -> Result<(), SetupError> {
    let taken: Vec<PathBuf> = volumes
        .iter()
        .filter_map(|volume| volume.target().canonicalize().ok())
        .collect();
    let folders = paths.iter().filter(|path| path.is_dir() && !taken.contains(path));
    folders.map(PathBuf::as_path).try_for_each(remount_read_only)
}

/// Puts nothing over it.
pub(super) fn hide(path: &Path) -> Result<(), SetupError> {
    if path.is_dir() {
        mount_memory(path, MsFlags::MS_NOSUID | MsFlags::MS_NODEV, "mode=555,size=4k")?;
        remount_read_only(path)?;
    } else if path.exists() {
        bind(Path::new("/dev/null"), path)?;
    }
    Ok(())
}
