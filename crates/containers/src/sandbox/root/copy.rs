//! An image's layers copied into one folder, where overlayfs cannot be mounted. The result is what
//! overlayfs would show: the topmost entry counts, and a character device with the numbers 0 and 0 hides
//! what is below it.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::{OsStr, OsString},
    fs::{self, Metadata},
    io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{FileTypeExt as _, MetadataExt as _, symlink},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, CWD, FileType, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags, chmodat, chownat,
        lgetxattr, llistxattr, lsetxattr, mknodat, utimensat,
    },
    io::Errno,
};

use crate::sandbox::error::{Doing as _, SetupError};

/// The largest list and value of attributes the kernel has.
const MAX_ATTRIBUTE: usize = 64 << 10;

/// Copies the layers, top first, into `folder`, unless that was done before: what a container changed
/// there stays.
pub(super) fn copy_layers(layers: &[PathBuf], folder: &Path) -> Result<(), SetupError> {
    if folder.exists() {
        return Ok(());
    }
    let unfinished = folder.with_extension("unfinished");
    match fs::remove_dir_all(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).doing(|| format!("remove `{}`", unfinished.display()));
        }
        _ => {}
    }
    let mut copy = Copy::default();
    let layers: Vec<&Path> = layers.iter().map(PathBuf::as_path).collect();
    copy.folder(&layers, &unfinished)?;
    fs::rename(&unfinished, folder).doing(|| format!("make `{}`", folder.display()))
}

/// Files with several names by where they lie in a layer: their copies have several names, too.
#[derive(Default)]
struct Copy {
    linked: HashMap<(u64, u64), PathBuf>,
}

/// Where each name of a folder leads: the entry that counts, and the folders below that show through.
type Merged = BTreeMap<OsString, (Metadata, Vec<PathBuf>)>;

impl Copy {
    /// Makes a folder of what several layers have at the same place.
    fn folder(&mut self, sources: &[&Path], target: &Path) -> Result<(), SetupError> {
        let Some(top) = sources.first() else { return Ok(()) };
        let doing = || format!("copy `{}`", target.display());
        let metadata = fs::symlink_metadata(top).doing(doing)?;
        fs::create_dir_all(target).doing(doing)?;
        for (name, (metadata, places)) in merge(sources).doing(doing)? {
            let target = target.join(name);
            let places: Vec<&Path> = places.iter().map(PathBuf::as_path).collect();
            if metadata.is_dir() {
                self.folder(&places, &target)?;
            } else {
                self.entry(places[0], &metadata, &target)
                    .doing(|| format!("copy `{}`", target.display()))?;
            }
        }
        give_attributes(top, &metadata, target).doing(doing)
    }

    fn entry(&mut self, source: &Path, metadata: &Metadata, target: &Path) -> io::Result<()> {
        let kind = metadata.file_type();
        if metadata.nlink() > 1 {
            let identity = (metadata.dev(), metadata.ino());
            if let Some(first) = self.linked.get(&identity) {
                return fs::hard_link(first, target);
            }
            self.linked.insert(identity, target.to_owned());
        }
        if kind.is_symlink() {
            symlink(fs::read_link(source)?, target)?;
        } else if kind.is_file() {
            fs::copy(source, target)?;
        } else {
            let kind = if kind.is_fifo() {
                FileType::Fifo
            } else if kind.is_block_device() {
                FileType::BlockDevice
            } else if kind.is_char_device() {
                FileType::CharacterDevice
            } else {
                FileType::Socket
            };
            mknodat(CWD, target, kind, Mode::RUSR, metadata.rdev())?;
        }
        give_attributes(source, metadata, target)
    }
}

/// What several layers show together at one place.
fn merge(sources: &[&Path]) -> io::Result<Merged> {
    let mut merged: BTreeMap<OsString, (Option<Metadata>, Vec<PathBuf>)> = BTreeMap::new();
    let mut closed: Vec<OsString> = Vec::new();
    for source in sources {
        for entry in fs::read_dir(source)? {
            let entry = entry?;
            let (name, metadata) = (entry.file_name(), entry.metadata()?);
            if closed.contains(&name) {
                continue;
            }
            let (first, places) = merged.entry(name.clone()).or_default();
            if is_whiteout(&metadata) || (first.is_some() && !metadata.is_dir()) {
                closed.push(name);
                continue;
            }
            if !metadata.is_dir() {
                closed.push(name);
            }
            first.get_or_insert(metadata);
            places.push(entry.path());
        }
    }
    let shown = merged.into_iter();
    Ok(shown
        .filter_map(|(name, (metadata, places))| Some((name, (metadata?, places))))
        .collect())
}

fn is_whiteout(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

/// The owner first: changing it takes setuid bits and capabilities away.
fn give_attributes(source: &Path, metadata: &Metadata, target: &Path) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(metadata.uid()), Gid::from_raw(metadata.gid()));
    chownat(CWD, target, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
    if !metadata.is_symlink() {
        chmodat(
            CWD,
            target,
            Mode::from_raw_mode(metadata.mode()),
            AtFlags::empty(),
        )?;
    }
    let mut names = vec![0; MAX_ATTRIBUTE];
    let length = match llistxattr(source, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => 0,
        Err(error) => return Err(error.into()),
    };
    for name in names[..length]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        copy_attribute(source, OsStr::from_bytes(name), target)?;
    }
    let time = |seconds, nanoseconds| Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    };
    let times = Timestamps {
        last_access: time(metadata.atime(), metadata.atime_nsec()),
        last_modification: time(metadata.mtime(), metadata.mtime_nsec()),
    };
    Ok(utimensat(CWD, target, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn copy_attribute(source: &Path, name: &OsStr, target: &Path) -> io::Result<()> {
    let mut value = vec![0; MAX_ATTRIBUTE];
    let copied = lgetxattr(source, name, &mut value[..])
        .and_then(|length| lsetxattr(target, name, &value[..length], XattrFlags::empty()));
    match copied {
        // Not every user may set, and not every file system keep, every attribute.
        Ok(()) | Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NODATA | Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
