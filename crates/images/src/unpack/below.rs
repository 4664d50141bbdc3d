//! What the layers below show together, as overlayfs would: the topmost entry counts, and a whiteout
//! (a character device with the numbers 0 and 0) hides what is below it.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    ffi::OsString,
    fs::{self, FileType, Metadata},
    io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

/// Whether this stands for a removed file.
fn is_whiteout(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

/// Layers from the top down.
#[derive(Debug)]
pub(crate) struct Below<'a>(pub(crate) &'a [PathBuf]);

/// What one layer says about a path.
enum Answer {
    Shows(PathBuf, Metadata),
    /// It is removed here, or something above it is no folder here.
    Hides,
    /// Look further down.
    Nothing,
}

impl Below<'_> {
    /// What is at `path`, whose folders are no symbolic links.
    pub(crate) fn find(&self, path: &Path) -> io::Result<Option<(PathBuf, Metadata)>> {
        for layer in self.0 {
            match ask(layer, path)? {
                Answer::Shows(place, metadata) => return Ok(Some((place, metadata))),
                Answer::Hides => return Ok(None),
                Answer::Nothing => {}
            }
        }
        Ok(None)
    }

    /// What is in the folder at `path`.
    pub(super) fn children(&self, path: &Path) -> io::Result<BTreeMap<OsString, FileType>> {
        let mut children: BTreeMap<OsString, Option<FileType>> = BTreeMap::new();
        for layer in self.0 {
            match ask(layer, path)? {
                Answer::Shows(place, metadata) if metadata.is_dir() => {
                    for entry in fs::read_dir(place)? {
                        let entry = entry?;
                        if let Entry::Vacant(vacant) = children.entry(entry.file_name()) {
                            let metadata = entry.metadata()?;
                            vacant.insert((!is_whiteout(&metadata)).then(|| metadata.file_type()));
                        }
                    }
                }
                Answer::Shows(..) | Answer::Hides => break,
                Answer::Nothing => {}
            }
        }
        let shown = children.into_iter();
        Ok(shown.filter_map(|(name, kind)| Some((name, kind?))).collect())
    }
}

/// One component at a time, so that no symbolic link is followed.
fn ask(layer: &Path, path: &Path) -> io::Result<Answer> {
    let mut place = layer.to_owned();
    let mut metadata = fs::symlink_metadata(&place)?;
    for component in path {
        if !metadata.is_dir() {
            return Ok(Answer::Hides);
        }
        place.push(component);
        metadata = match fs::symlink_metadata(&place) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Answer::Nothing),
            Err(error) => return Err(error),
        };
    }
    Ok(if is_whiteout(&metadata) {
        Answer::Hides
    } else {
        Answer::Shows(place, metadata)
    })
}
