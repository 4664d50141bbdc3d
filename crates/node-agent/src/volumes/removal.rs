//! Takes away what was made for a pod. Containers could write here, and other file systems may be
//! mounted here: no link is followed and no mount is entered, whatever changes meanwhile.

use std::{
    ffi::OsString,
    fs, io,
    os::{fd::OwnedFd, unix::ffi::OsStringExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fchmod, openat, openat2, statat, unlinkat,
    },
    io::Errno,
    mount::{UnmountFlags, unmount},
};

#[derive(Debug, thiserror::Error)]
pub enum TearDownError {
    #[error("UnmountVolume.TearDown failed for {}", .path.display())]
    Unmount { path: PathBuf, source: io::Error },
    #[error("cannot remove {}", .path.display())]
    Remove { path: PathBuf, source: io::Error },
    #[error("{} is not below {}", .path.display(), .root.display())]
    Outside { path: PathBuf, root: PathBuf },
}

/// Unmounts what we mounted for a pod and removes its folder of volumes; fine if there is none.
pub fn tear_down(folder: &Path) -> Result<(), TearDownError> {
    let mut mounted = mounts_below(folder);
    // What was mounted last is on top.
    mounted.reverse();
    for path in mounted {
        unmount(&path, UnmountFlags::NOFOLLOW).map_err(|error| TearDownError::Unmount {
            path: path.clone(),
            source: error.into(),
        })?;
    }
    remove(folder)
}

/// Removes a folder that the default storage class provisioned.
pub fn remove_provisioned(root: &Path, path: &Path) -> Result<(), TearDownError> {
    let is_child = path.parent() == Some(root) && path.file_name().is_some();
    if !is_child {
        return Err(TearDownError::Outside {
            path: path.to_owned(),
            root: root.to_owned(),
        });
    }
    remove(path)
}

fn remove(folder: &Path) -> Result<(), TearDownError> {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Ok(());
    };
    let removed = openat(
        CWD,
        parent,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .and_then(|parent| remove_entry(&parent, Path::new(name)));
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(TearDownError::Remove {
            path: folder.to_owned(),
            source: error.into(),
        }),
    }
}

/// Removes one entry of an open folder, with what is in it.
fn remove_entry(parent: &OwnedFd, name: &Path) -> rustix::io::Result<()> {
    let kind = FileType::from_raw_mode(statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
    if kind != FileType::Directory {
        return unlinkat(parent, name, AtFlags::empty());
    }
    let folder = enter(parent, name)?;
    for entry in Dir::read_from(&folder)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if !matches!(name.as_slice(), b"." | b"..") {
            let name = PathBuf::from(OsString::from_vec(name));
            match remove_entry(&folder, &name) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
        }
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// Opens a folder unless it is a link or another file system. A container may have taken our rights to
/// it away; the folder is ours, so we take them back.
fn enter(parent: &OwnedFd, name: &Path) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let open = |flags: OFlags| {
        let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat2(parent, name, flags, Mode::empty(), resolve)
    };
    match open(OFlags::RDONLY) {
        Err(Errno::ACCESS) => {}
        Ok(folder) => {
            let _ = fchmod(&folder, Mode::RWXU);
            return Ok(folder);
        }
        other => return other,
    }
    let held = open(OFlags::PATH)?;
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&held));
    rustix::fs::chmod(path, Mode::RWXU)?;
    open(OFlags::RDONLY)
}

/// What is mounted at or below a folder, in the order it was mounted.
pub(super) fn mounts_below(folder: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    mount_points(&text)
        .filter(|path| path.starts_with(&folder))
        .collect()
}

fn mount_points(mountinfo: &str) -> impl Iterator<Item = PathBuf> {
    let points = mountinfo.lines().filter_map(|line| line.split(' ').nth(4));
    points.map(|point| PathBuf::from(OsString::from_vec(unescaped(point))))
}

/// Spaces and the like are written as `\` and three octal digits.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| first == b'\\');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(byte);
            rest = &after[3..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
