//! A part of a volume that containers can write to. They may have put links in the way, even between a
//! look and the next: the kernel resolves the path and refuses to leave the volume.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::PermissionsExt as _,
    },
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    fcntl::{OFlag, OpenHow, ResolveFlag, openat2},
    sys::stat::{Mode, mkdirat, umask},
};

use super::mounts::Held;
use crate::{
    sandbox::error::{Doing as _, SetupError},
    spec::Part,
};

/// Holds the part, which is made if it is missing.
pub(super) fn open(part: &Part) -> Result<Held, SetupError> {
    let doing = || {
        format!(
            "open `{}` of the volume for `{}`",
            part.path.display(),
            part.target.display()
        )
    };
    hold(part).doing(doing)
}

fn hold(part: &Part) -> io::Result<Held> {
    let volume = File::open(&part.volume)?;
    let file = match inside(&volume, &part.path, OFlag::empty()) {
        Err(Errno::ENOENT) => make(&volume, &part.path)?,
        other => other?,
    };
    Held::of(file)
}

fn inside(volume: impl AsFd, path: &Path, flags: OFlag) -> nix::Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC | flags)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    openat2(volume, path, how)
}

/// Makes the folders that are missing on the way, and opens the last.
fn make(volume: &File, path: &Path) -> io::Result<OwnedFd> {
    let mode = Mode::from_bits_truncate(volume.metadata()?.permissions().mode() & 0o777);
    let (mut folder, mut way) = (volume.as_fd().try_clone_to_owned()?, PathBuf::new());
    for component in path.components() {
        way.push(component);
        let next = match inside(volume, &way, OFlag::O_DIRECTORY) {
            Err(Errno::ENOENT) => {
                make_folder(&folder, component.as_ref(), mode)?;
                inside(volume, &way, OFlag::O_DIRECTORY)
            }
            other => other,
        };
        folder = next?;
    }
    Ok(folder)
}

/// The mode is exactly this one: changing it afterwards could hit something else.
fn make_folder(parent: &OwnedFd, name: &Path, mode: Mode) -> nix::Result<()> {
    let mask = umask(Mode::empty());
    let made = mkdirat(parent, name, mode);
    umask(mask);
    match made {
        Err(Errno::EEXIST) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn part(volume: &Path, path: &str) -> io::Result<Held> {
        hold(&Part {
            volume: volume.to_owned(),
            path: path.into(),
            target: "/data".into(),
            read_only: false,
        })
    }

    #[test]
    fn missing_folders_are_made_with_the_mode_of_the_volume() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o775)).unwrap();
        assert!(part(folder.path(), "a/b").unwrap().is_folder);
        let mode = fs::metadata(folder.path().join("a/b"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o775);
        fs::write(folder.path().join("a/file"), "").unwrap();
        assert!(!part(folder.path(), "a/file").unwrap().is_folder);
    }

    #[test]
    fn links_may_lead_around_but_never_out() {
        let folder = tempfile::tempdir().unwrap();
        let (volume, outside) = (folder.path().join("volume"), folder.path().join("outside"));
        for path in [&volume, &outside] {
            fs::create_dir(path).unwrap();
        }
        symlink("inner", volume.join("around")).unwrap();
        symlink("../outside", volume.join("up")).unwrap();
        symlink(&outside, volume.join("far")).unwrap();
        symlink("nowhere", volume.join("dangling")).unwrap();
        fs::create_dir(volume.join("inner")).unwrap();
        part(&volume, "around/new").unwrap();
        assert!(volume.join("inner/new").is_dir());
        for path in ["up", "up/x", "far", "far/x", "../outside", "/etc", "dangling/x"] {
            assert!(part(&volume, path).is_err(), "{path}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
