//! The folder of a layer while it is made.

mod names;
mod write;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs,
    io::{self, Read},
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::{
            ffi::{OsStrExt as _, OsStringExt as _},
            fs::MetadataExt as _,
        },
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags, chmodat, chownat,
        linkat, lsetxattr, makedev, mkdirat, mknodat, openat, symlinkat, syncfs, unlinkat, utimensat,
    },
    io::Errno,
};
use tar::EntryType;

use self::names::Place;
use super::{Destination, EntryError, Limits, Ownership, below::Below, members::Member};

/// What a file is beside its content.
#[derive(Debug, Clone)]
struct Attributes {
    mode: u32,
    uid: u32,
    gid: u32,
    modified: (i64, u32),
    extended: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Paths in it are relative to the layer and go through no symbolic link.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    path: &'a Path,
    root: OwnedFd,
    below: Below<'a>,
    ownership: Ownership,
    limits: Limits,
    bytes: u64,
    entries: u64,
    /// Folders can be written until the end; then each gets its attributes.
    folders: BTreeMap<PathBuf, Attributes>,
    /// What is removed from the layers below.
    removed: BTreeSet<PathBuf>,
    /// Folders that show nothing of the layers below.
    opaque: BTreeSet<PathBuf>,
    /// The folder used last: as it was named, as it is, and open.
    last: Option<(PathBuf, PathBuf, OwnedFd)>,
}

impl<'a> Tree<'a> {
    pub(super) fn open(destination: &Destination<'a>) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let root = rustix::fs::open(destination.folder, flags, Mode::empty())?;
        let below = Below(destination.below);
        let attributes = match below.find(Path::new(""))? {
            Some((_, metadata)) => Attributes::of(&metadata),
            None => Attributes::default(),
        };
        Ok(Self {
            path: destination.folder,
            root,
            below,
            ownership: destination.ownership,
            limits: destination.limits,
            bytes: 0,
            entries: 0,
            folders: BTreeMap::from([(PathBuf::new(), attributes)]),
            removed: BTreeSet::new(),
            opaque: BTreeSet::new(),
            last: None,
        })
    }

    /// Adds one member with its data.
    pub(super) fn add(&mut self, member: &Member, data: &mut impl Read) -> Result<(), EntryError> {
        self.count(member)?;
        match Place::of(&member.path)? {
            Place::Root if member.kind.is_dir() => {
                self.folders.insert(PathBuf::new(), Attributes::from(member));
                Ok(())
            }
            Place::Root => Err(EntryError::Outside),
            Place::Ignored => Ok(()),
            Place::Opaque { folder } => {
                let folder = self.resolve(&folder)?;
                self.opaque.insert(folder);
                Ok(())
            }
            Place::Removed { folder, name } => {
                let folder = self.resolve(&folder)?;
                self.removed.insert(folder.join(name));
                Ok(())
            }
            Place::Entry { folder, name } => {
                let folder = self.resolve(&folder)?;
                self.make(&folder, &name, member, data)
            }
        }
    }

    fn count(&mut self, member: &Member) -> Result<(), EntryError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(EntryError::Entries(self.limits.entries));
        }
        self.count_bytes(member.size)
    }

    fn make(
        &mut self,
        folder: &Path,
        name: &OsStr,
        member: &Member,
        data: &mut impl Read,
    ) -> Result<(), EntryError> {
        let path = folder.join(name);
        if member.kind.is_dir() {
            return self.make_folder(path, member);
        }
        if member.kind.is_hard_link() {
            return self.make_link(folder, name, member);
        }
        let kind = match member.kind {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => FileType::RegularFile,
            EntryType::Symlink => FileType::Symlink,
            EntryType::Fifo => FileType::Fifo,
            EntryType::Char if member.device == (0, 0) => return Err(EntryError::Whiteout),
            // Only root makes devices; containers get their own `/dev` anyway.
            EntryType::Char | EntryType::Block if self.ownership == Ownership::OneUser => return Ok(()),
            EntryType::Char => FileType::CharacterDevice,
            EntryType::Block => FileType::BlockDevice,
            other => return Err(EntryError::Kind(char::from(other.as_byte()))),
        };
        self.clear(&path)?;
        let ownership = self.ownership;
        let parent = self.folder(folder)?;
        match kind {
            FileType::RegularFile => write::file(parent, name, member, data)?,
            FileType::Symlink => {
                symlinkat(OsStr::from_bytes(&member.link), parent, name).map_err(io::Error::from)?;
            }
            _ => {
                let device = makedev(member.device.0, member.device.1);
                mknodat(parent, name, kind, Mode::RUSR, device).map_err(io::Error::from)?;
            }
        }
        let attributes = Attributes::from(member);
        Ok(attributes.give(parent, name, kind == FileType::Symlink, ownership)?)
    }

    fn make_folder(&mut self, path: PathBuf, member: &Member) -> Result<(), EntryError> {
        let exists = self.own(&path)?.is_some_and(|metadata| metadata.is_dir());
        if !exists {
            self.clear(&path)?;
            self.create_folder(&path)?;
        }
        self.folders.insert(path, Attributes::from(member));
        Ok(())
    }

    /// Gives a second name to a file of this layer, or of one below: then it is brought up first.
    fn make_link(&mut self, folder: &Path, name: &OsStr, member: &Member) -> Result<(), EntryError> {
        let no_target = || EntryError::LinkTarget(OsString::from_vec(member.link.clone()).into());
        let Place::Entry {
            folder: there,
            name: target,
        } = Place::of(&member.link)?
        else {
            return Err(no_target());
        };
        let there = self.resolve(&there)?;
        let (from, to) = (there.join(&target), folder.join(name));
        if from == to {
            return Ok(());
        }
        match self.own(&from)? {
            Some(metadata) if metadata.is_dir() => return Err(no_target()),
            Some(_) => {}
            None => {
                let found = self.visible_below(&from)?;
                let (place, metadata) = found
                    .filter(|(_, metadata)| metadata.is_file())
                    .ok_or_else(no_target)?;
                self.count_bytes(metadata.len())?;
                let ownership = self.ownership;
                let parent = self.folder(&there)?;
                write::copy(&place, parent, &target).map_err(EntryError::Below)?;
                Attributes::of(&metadata).give(parent, &target, false, ownership)?;
            }
        }
        self.clear(&to)?;
        // Clearing may have removed what was to be linked, when it was inside a folder of that name.
        if self.own(&from)?.is_none() {
            return Err(no_target());
        }
        let source = self.open_folder(&there)?;
        let parent = self.folder(folder)?;
        Ok(linkat(&source, &target, parent, name, AtFlags::empty()).map_err(io::Error::from)?)
    }

    fn count_bytes(&mut self, bytes: u64) -> Result<(), EntryError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limits.bytes {
            return Err(EntryError::Bytes(self.limits.bytes));
        }
        Ok(())
    }

    /// Removes what this layer has at `path`: a later member replaces an earlier one.
    fn clear(&mut self, path: &Path) -> Result<(), EntryError> {
        let Some(metadata) = self.own(path)? else {
            return Ok(());
        };
        self.last = None;
        if metadata.is_dir() {
            fs::remove_dir_all(self.path.join(path))?;
            self.folders.retain(|folder, _| !folder.starts_with(path));
            return Ok(());
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(());
        };
        let folder = self.open_folder(folder)?;
        Ok(unlinkat(folder, name, AtFlags::empty()).map_err(io::Error::from)?)
    }

    /// What this layer has at `path`.
    fn own(&self, path: &Path) -> Result<Option<fs::Metadata>, EntryError> {
        match fs::symlink_metadata(self.path.join(path)) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What the layers below have at `path`, but for what this layer is known to remove.
    fn visible_below(&self, path: &Path) -> Result<Option<(PathBuf, fs::Metadata)>, EntryError> {
        let is_removed = path.ancestors().any(|above| self.removed.contains(above))
            || path.ancestors().skip(1).any(|above| self.opaque.contains(above));
        if is_removed {
            return Ok(None);
        }
        self.below.find(path).map_err(EntryError::Below)
    }

    fn create_folder(&mut self, path: &Path) -> Result<(), EntryError> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(());
        };
        let parent = self.open_folder(folder)?;
        Ok(mkdirat(parent, name, Mode::RWXU).map_err(io::Error::from)?)
    }

    /// Opens a folder of this layer from its root, following nothing.
    fn open_folder(&self, path: &Path) -> Result<OwnedFd, EntryError> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut folder = self.root.try_clone()?;
        for name in path {
            folder = openat(&folder, name, flags, Mode::empty()).map_err(io::Error::from)?;
        }
        Ok(folder)
    }

    /// The same, kept open: the next member is likely to be in it, too.
    fn folder(&mut self, path: &Path) -> Result<&OwnedFd, EntryError> {
        if !matches!(&self.last, Some((_, last, _)) if last == path) {
            let folder = self.open_folder(path)?;
            self.last = Some((path.to_owned(), path.to_owned(), folder));
        }
        match &self.last {
            Some((.., folder)) => Ok(folder),
            None => Err(EntryError::Outside),
        }
    }

    /// Writes down what is removed, gives folders their attributes, and brings all of it to disk.
    pub(super) fn finish(mut self) -> Result<(), (PathBuf, EntryError)> {
        for path in std::mem::take(&mut self.removed) {
            self.remove(&path).map_err(|error| (path, error))?;
        }
        for path in std::mem::take(&mut self.opaque) {
            self.hide_children(&path).map_err(|error| (path, error))?;
        }
        // Folders inside others come first: afterwards they may be out of reach.
        for (path, attributes) in std::mem::take(&mut self.folders).into_iter().rev() {
            self.finish_folder(&path, &attributes)
                .map_err(|error| (path, error))?;
        }
        syncfs(&self.root).map_err(|error| (PathBuf::new(), io::Error::from(error).into()))
    }

    fn finish_folder(&self, path: &Path, attributes: &Attributes) -> Result<(), EntryError> {
        let (folder, name) = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => (self.open_folder(parent)?, name),
            _ => (self.root.try_clone()?, OsStr::new(".")),
        };
        Ok(attributes.give(&folder, name, false, self.ownership)?)
    }

    /// What this layer itself has at the path stays; only what is below goes.
    fn remove(&self, path: &Path) -> Result<(), EntryError> {
        let Some((_, below)) = self.below.find(path).map_err(EntryError::Below)? else {
            return Ok(());
        };
        match self.own(path)? {
            Some(own) if own.is_dir() && below.is_dir() => self.hide_children(path),
            Some(_) => Ok(()),
            None => self.white_out(path),
        }
    }

    fn hide_children(&self, folder: &Path) -> Result<(), EntryError> {
        for (name, kind) in self.below.children(folder).map_err(EntryError::Below)? {
            let path = folder.join(name);
            match self.own(&path)? {
                Some(own) if own.is_dir() && kind.is_dir() => self.hide_children(&path)?,
                Some(_) => {}
                None => self.white_out(&path)?,
            }
        }
        Ok(())
    }

    /// Any user may make this one device, which exists for nothing else.
    fn white_out(&self, path: &Path) -> Result<(), EntryError> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(());
        };
        // The folder was replaced by something else in this very layer, which hides it all.
        if !self.own(folder)?.is_some_and(|metadata| metadata.is_dir()) {
            return Ok(());
        }
        let parent = self.open_folder(folder)?;
        let device = makedev(0, 0);
        Ok(
            mknodat(&parent, name, FileType::CharacterDevice, Mode::empty(), device)
                .map_err(io::Error::from)?,
        )
    }
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            mode: 0o755,
            uid: 0,
            gid: 0,
            modified: (0, 0),
            extended: Vec::new(),
        }
    }
}

impl From<&Member> for Attributes {
    fn from(member: &Member) -> Self {
        Self {
            mode: member.mode,
            uid: member.uid,
            gid: member.gid,
            modified: member.modified,
            extended: member.attributes.clone(),
        }
    }
}

impl Attributes {
    /// Those of a file that lies in a layer below.
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            mode: metadata.mode() & 0o7777,
            uid: metadata.uid(),
            gid: metadata.gid(),
            modified: (metadata.mtime(), metadata.mtime_nsec() as u32),
            extended: Vec::new(),
        }
    }

    /// The owner first: changing it takes setuid bits and capabilities away.
    fn give(&self, folder: &OwnedFd, name: &OsStr, is_link: bool, ownership: Ownership) -> io::Result<()> {
        if ownership == Ownership::Kept {
            let (user, group) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
            chownat(folder, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        if !is_link {
            chmodat(folder, name, Mode::from_raw_mode(self.mode), AtFlags::empty())?;
        }
        for (attribute, value) in &self.extended {
            let mut path = format!("/proc/self/fd/{}/", folder.as_raw_fd()).into_bytes();
            path.extend(name.as_bytes());
            match lsetxattr(path, attribute.as_slice(), value, XattrFlags::empty()) {
                // Not every user may set, and not every file system keep, every attribute.
                Ok(()) | Err(Errno::PERM | Errno::OPNOTSUPP | Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let time = Timespec {
            tv_sec: self.modified.0,
            tv_nsec: self.modified.1.into(),
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        Ok(utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}
