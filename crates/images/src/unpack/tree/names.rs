//! From a name in an archive to a place in the layer. Symbolic links are followed here, as a process
//! inside the image would: they never lead out.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::{Attributes, EntryError, Tree};
use crate::image::follow;

/// What a member's name means. Folders are as the archive names them.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Entry {
        folder: PathBuf,
        name: OsString,
    },
    /// `.wh.NAME`: it is removed from the layers below.
    Removed {
        folder: PathBuf,
        name: OsString,
    },
    /// `.wh..wh..opq`: everything in it is.
    Opaque {
        folder: PathBuf,
    },
    /// What aufs noted for itself.
    Ignored,
}

const REMOVED: &[u8] = b".wh.";
const NOTED: &[u8] = b".wh..wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";
/// As many as the kernel follows.
const MAX_LINKS: usize = 40;

impl Place {
    pub(super) fn of(name: &[u8]) -> Result<Self, EntryError> {
        if name.contains(&0) {
            return Err(EntryError::Outside);
        }
        let mut names: Vec<&OsStr> = Vec::new();
        for part in name.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." => return Err(EntryError::Outside),
                name => names.push(OsStr::from_bytes(name)),
            }
        }
        let Some(name) = names.pop() else {
            return Ok(Self::Root);
        };
        let folder: PathBuf = names.iter().collect();
        if names.iter().any(|name| name.as_bytes().starts_with(NOTED)) {
            return Ok(Self::Ignored);
        }
        Ok(match name.as_bytes() {
            OPAQUE => Self::Opaque { folder },
            noted if noted.starts_with(NOTED) => Self::Ignored,
            b".wh." | b".wh.." | b".wh..." => return Err(EntryError::Outside),
            other => match other.strip_prefix(REMOVED) {
                Some(removed) => Self::Removed {
                    folder,
                    name: OsStr::from_bytes(removed).to_owned(),
                },
                None => Self::Entry {
                    folder,
                    name: name.to_owned(),
                },
            },
        })
    }
}

impl Tree<'_> {
    /// The folder a name means, with symbolic links of this layer and those below followed. Folders
    /// that this layer does not have are made, like those they hide below.
    pub(super) fn resolve(&mut self, name: &Path) -> Result<PathBuf, EntryError> {
        if let Some((last, folder, _)) = &self.last
            && last == name
        {
            return Ok(folder.clone());
        }
        let folder = self.walk(name)?;
        let open = self.open_folder(&folder)?;
        self.last = Some((name.to_owned(), folder.clone(), open));
        Ok(folder)
    }

    fn walk(&mut self, name: &Path) -> Result<PathBuf, EntryError> {
        let mut place = PathBuf::new();
        let mut left: VecDeque<OsString> = name.iter().map(OsStr::to_owned).collect();
        let mut links = 0;
        while let Some(name) = left.pop_front() {
            let next = place.join(&name);
            if let Some(target) = self.link_at(&next)? {
                links += 1;
                if links > MAX_LINKS {
                    return Err(EntryError::TooManyLinks);
                }
                follow(&target, &mut place, &mut left);
                continue;
            }
            if name == ".." {
                place.pop();
                continue;
            }
            self.enter(&next)?;
            place = next;
        }
        Ok(place)
    }

    /// Where the symbolic link at a path leads, if there is one.
    fn link_at(&self, path: &Path) -> Result<Option<PathBuf>, EntryError> {
        let place = match self.own(path)? {
            Some(metadata) => metadata.is_symlink().then(|| self.path.join(path)),
            None => self
                .visible_below(path)?
                .and_then(|(place, metadata)| metadata.is_symlink().then_some(place)),
        };
        Ok(place.map(fs::read_link).transpose()?)
    }

    /// Makes sure that this layer has the folder.
    fn enter(&mut self, path: &Path) -> Result<(), EntryError> {
        match self.own(path)? {
            Some(metadata) if metadata.is_dir() => return Ok(()),
            Some(_) => return Err(EntryError::NoFolder(path.to_owned())),
            None => {}
        }
        let attributes = match self.visible_below(path)? {
            Some((_, metadata)) if metadata.is_dir() => Attributes::of(&metadata),
            Some(_) => return Err(EntryError::NoFolder(path.to_owned())),
            None => Attributes::default(),
        };
        self.create_folder(path)?;
        self.folders.insert(path.to_owned(), attributes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(folder: &str, name: &str) -> Place {
        Place::Entry {
            folder: folder.into(),
            name: name.into(),
        }
    }

    #[test]
    fn names_stay_in_the_layer() {
        assert_eq!(Place::of(b"./a//b/").unwrap(), entry("a", "b"));
        assert_eq!(Place::of(b"/etc/passwd").unwrap(), entry("etc", "passwd"));
        assert_eq!(Place::of(b"./").unwrap(), Place::Root);
        for name in [&b"../a"[..], b"a/../../b", b"..", b"a\0b", b".wh...", b"a/.wh."] {
            assert!(Place::of(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn removals_are_names_too() {
        let folder = || PathBuf::from("a");
        let removed = Place::Removed {
            folder: folder(),
            name: "b".into(),
        };
        assert_eq!(Place::of(b"a/.wh.b").unwrap(), removed);
        assert_eq!(
            Place::of(b"a/.wh..wh..opq").unwrap(),
            Place::Opaque { folder: folder() }
        );
        assert_eq!(Place::of(b".wh..wh.plnk/12.34").unwrap(), Place::Ignored);
    }
}
