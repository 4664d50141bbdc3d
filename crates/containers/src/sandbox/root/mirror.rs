//! Places to mount on. Where one is missing on a read-only file system, the folder it belongs into
//! is replaced by one in memory that shows the same entries and has room for another.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    os::unix::fs::symlink,
    path::{Component, Path, PathBuf},
};

use nix::mount::MsFlags;

use super::mounts::{Held, bind, mount_memory};
use crate::sandbox::error::{Doing as _, SetupError};

/// More links than this in one path are a loop.
const MAX_LINKS: usize = 40;

/// Makes sure that `target` is a folder or file, and says where it really is.
pub(super) fn make_place(
    target: &Path,
    is_folder: bool,
    mirrors: &mut Vec<PathBuf>,
) -> Result<PathBuf, SetupError> {
    let place = resolve(target).doing(|| format!("resolve `{}`", target.display()))?;
    if place.parent().is_none() {
        let cause = io::Error::other("it is the container's root");
        return Err(cause).doing(|| format!("mount a volume at `{}`", target.display()));
    }
    let mut made = PathBuf::from("/");
    let mut components = place.components().skip(1).peekable();
    while let Some(component) = components.next() {
        let parent = made.clone();
        made.push(component);
        if fs::symlink_metadata(&made).is_ok() {
            continue;
        }
        let folder = is_folder || components.peek().is_some();
        if let Err(error) = create(&made, folder) {
            if !matches!(
                error.kind(),
                ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied
            ) {
                return Err(error).doing(|| format!("make `{}`", made.display()));
            }
            mirror(&parent)?;
            mirrors.push(parent);
            create(&made, folder).doing(|| format!("make `{}`", made.display()))?;
        }
    }
    Ok(place)
}

fn create(path: &Path, folder: bool) -> io::Result<()> {
    if folder {
        fs::create_dir(path)
    } else {
        File::create_new(path).map(drop)
    }
}

/// Follows the symbolic links of an absolute path, of which the end need not exist.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut rest: Vec<_> = path
        .components()
        .rev()
        .map(|part| part.as_os_str().to_owned())
        .collect();
    let (mut resolved, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = rest.pop() {
        match Path::new(&part).components().next() {
            Some(Component::Normal(_)) => {}
            Some(Component::ParentDir) => {
                resolved.pop();
                continue;
            }
            Some(Component::RootDir) => {
                resolved = PathBuf::from("/");
                continue;
            }
            _ => continue,
        }
        let next = resolved.join(&part);
        match fs::read_link(&next) {
            Ok(link) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(ErrorKind::TooManyLinks.into());
                }
                rest.extend(link.components().rev().map(|part| part.as_os_str().to_owned()));
            }
            Err(_) => resolved = next,
        }
    }
    Ok(resolved)
}

fn mirror(folder: &Path) -> Result<(), SetupError> {
    let original = Held::open(folder)?;
    let source = original.path();
    let entries: Vec<_> = fs::read_dir(&source)
        .and_then(Iterator::collect)
        .doing(|| format!("list `{}`", folder.display()))?;
    mount_memory(
        folder,
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
        "mode=755,size=16m",
    )?;
    for entry in entries {
        show(&entry, &folder.join(entry.file_name()))?;
    }
    Ok(())
}

fn show(entry: &fs::DirEntry, target: &Path) -> Result<(), SetupError> {
    let doing = || format!("show `{}`", target.display());
    let kind = entry.file_type().doing(doing)?;
    if kind.is_symlink() {
        let link = fs::read_link(entry.path()).doing(doing)?;
        return symlink(link, target).doing(doing);
    }
    create(target, kind.is_dir()).doing(doing)?;
    bind(&entry.path(), target)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::resolve;

    #[test]
    fn links_are_followed_even_where_they_lead_to_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("etc")).unwrap();
        symlink("../run/resolve/stub.conf", root.join("etc/resolv.conf")).unwrap();
        assert_eq!(
            resolve(&root.join("etc/resolv.conf")).unwrap(),
            root.join("run/resolve/stub.conf")
        );
        symlink("loop", root.join("loop")).unwrap();
        assert!(resolve(&root.join("loop/x")).is_err());
    }
}
