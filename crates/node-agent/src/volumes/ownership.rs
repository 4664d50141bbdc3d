//! Whom the files of a pod's volumes belong to: `fsGroup`, and the one user all containers run as.
//!
//! Without root all users of a pod are this user (see `containers`), so there is nothing to give away.

use std::{
    fs, io,
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::Path,
};

use containers::tier::Tier;
use k8s_openapi::api::core::v1::Pod;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, chownat, fstat, openat};

const FILE: u32 = 0o660;
const READ_ONLY_FILE: u32 = 0o440;
const FOLDER: u32 = 0o2110;

/// Whom files are given to; nobody if empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ownership {
    /// The user of every container, who alone needs to read tokens.
    pub user: Option<u32>,
    pub group: Option<u32>,
    /// Large volumes are left alone if their topmost folder is as it should be.
    pub trusts_root: bool,
}

impl Ownership {
    pub fn of(pod: &Pod, tier: Tier) -> Self {
        if tier != Tier::Root {
            return Self::default();
        }
        let security = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
        let group = security.and_then(|security| security.fs_group);
        let policy = security.and_then(|security| security.fs_group_change_policy.as_deref());
        Self {
            user: only_user(pod),
            group: group.and_then(|group| u32::try_from(group).ok()),
            trusts_root: policy == Some("OnRootMismatch"),
        }
    }

    /// What a file's mode becomes once it belongs to the group.
    pub(super) fn mode(&self, mode: u32, is_read_only: bool) -> u32 {
        match (self.group, is_read_only) {
            (None, _) => mode,
            (Some(_), false) => mode | FILE,
            (Some(_), true) => mode | READ_ONLY_FILE,
        }
    }
}

/// The user all containers of a pod run as, if all say so and agree.
fn only_user(pod: &Pod) -> Option<u32> {
    let spec = pod.spec.as_ref()?;
    let usual = spec
        .security_context
        .as_ref()
        .and_then(|security| security.run_as_user);
    let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
    let mut users = containers.map(|container| {
        let own = container
            .security_context
            .as_ref()
            .and_then(|security| security.run_as_user);
        own.or(usual)
    });
    let first = users.next()??;
    let is_unanimous = users.all(|user| user == Some(first));
    is_unanimous.then(|| u32::try_from(first).ok()).flatten()
}

/// Gives a folder and everything in it to the group. Containers may be changing it meanwhile, so every
/// step is made from an open folder and no link is followed.
pub(super) fn give_to_group(folder: &Path, ownership: &Ownership, is_read_only: bool) -> io::Result<()> {
    let Some(group) = ownership.group else {
        return Ok(());
    };
    if ownership.trusts_root && is_given(folder, group, is_read_only)? {
        return Ok(());
    }
    let mask = if is_read_only { READ_ONLY_FILE } else { FILE };
    let root = openat(
        CWD,
        folder,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    give(root, group, mask)
}

fn is_given(folder: &Path, group: u32, is_read_only: bool) -> io::Result<bool> {
    let metadata = fs::metadata(folder)?;
    let wanted = FOLDER | if is_read_only { READ_ONLY_FILE } else { FILE };
    Ok(metadata.gid() == group && metadata.permissions().mode() & wanted == wanted)
}

/// Children before their folder: a folder that is as it should be has nothing left to do in it.
fn give(file: OwnedFd, group: u32, mask: u32) -> io::Result<()> {
    let kind = FileType::from_raw_mode(fstat(&file)?.st_mode);
    if kind == FileType::Directory {
        let listed = openat(
            &file,
            c".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        for entry in Dir::read_from(&listed)? {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                match openat(&listed, entry.file_name(), flags, Mode::empty()) {
                    // Removed since it was listed.
                    Err(rustix::io::Errno::NOENT) => {}
                    opened => give(opened?, group, mask)?,
                }
            }
        }
    }
    chownat(&file, c"", None, Some(Gid::from_raw(group)), AtFlags::EMPTY_PATH)?;
    match kind {
        FileType::Symlink => Ok(()),
        FileType::Directory => add_mode(file.as_fd(), mask | FOLDER),
        _ => add_mode(file.as_fd(), mask),
    }
}

fn add_mode(file: BorrowedFd<'_>, bits: u32) -> io::Result<()> {
    // The only way to a file that is open by name alone.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mode = fs::metadata(&path)?.permissions().mode();
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777 | bits))
}

#[cfg(test)]
mod tests;
