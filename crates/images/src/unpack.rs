//! From a layer's archive to a folder overlayfs can use as a lower directory.
//!
//! Whatever the archive says, nothing outside the folder is read or written: names are resolved here,
//! inside the layer and those below it, and the kernel is given one name at a time.

mod below;
mod members;
mod pax;
mod sparse;
mod tree;

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

pub(crate) use self::below::Below;
use self::{members::Members, tree::Tree};
use crate::{
    compression,
    digest::{Digest, HashingReader},
};

/// Whom unpacked files belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// Whom the image says; needs root.
    Kept,
    /// This user, who is root in a user namespace with one user. Device nodes are left out.
    OneUser,
}

/// How large an unpacked layer may become.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub bytes: u64,
    pub entries: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 256 << 30,
            entries: 4_000_000,
        }
    }
}

impl Limits {
    /// The most that is read of an archive: its files, and some blocks of headers for each.
    fn archive(&self) -> u64 {
        self.bytes.saturating_add(self.entries.saturating_mul(2048))
    }
}

/// Why a layer could not be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("cannot read the layer{}", after(.last))]
    Read { last: String, source: io::Error },
    #[error("cannot unpack `{entry}`")]
    Entry { entry: String, source: EntryError },
    #[error("the layer's content is {found}, not {expected}")]
    Content { expected: Digest, found: Digest },
    #[error("cannot make a layer in `{path}`")]
    Folder { path: PathBuf, source: io::Error },
}

/// What is wrong with one entry of a layer.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    #[error("its name leads out of the layer")]
    Outside,
    #[error("its name goes through `{0}`, which is no folder")]
    NoFolder(PathBuf),
    #[error("its name goes through too many symbolic links")]
    TooManyLinks,
    #[error("it is a link to `{0}`, which is not there or no file")]
    LinkTarget(PathBuf),
    #[error("entries of type `{0}` have no meaning in images")]
    Kind(char),
    #[error("a device with the numbers 0 and 0 would remove a file")]
    Whiteout,
    #[error("layers with more than {0} bytes are refused")]
    Bytes(u64),
    #[error("layers with more than {0} entries are refused")]
    Entries(u64),
    #[error("the layers below cannot be read")]
    Below(#[source] io::Error),
    #[error(transparent)]
    File(#[from] io::Error),
}

fn after(last: &str) -> String {
    if last.is_empty() {
        String::new()
    } else {
        format!(" after `{last}`")
    }
}

/// Where a layer goes.
#[derive(Debug)]
pub(crate) struct Destination<'a> {
    /// An empty folder that nobody else changes.
    pub(crate) folder: &'a Path,
    /// The layers below, from the top down.
    pub(crate) below: &'a [PathBuf],
    pub(crate) ownership: Ownership,
    pub(crate) limits: Limits,
}

/// Unpacks an archive whose unpacked bytes have this digest. What is in the folder after an error is
/// of no use.
pub(crate) fn layer(
    archive: impl Read,
    expected: &Digest,
    destination: &Destination<'_>,
) -> Result<(), UnpackError> {
    let mut last = String::new();
    let read = |last: &str| {
        let last = last.to_owned();
        move |source| UnpackError::Read { last, source }
    };
    let plain = compression::unpacked(archive).map_err(read(&last))?;
    let plain = HashingReader::new(plain.take(destination.limits.archive()), expected);
    let folder = |source| UnpackError::Folder {
        path: destination.folder.to_owned(),
        source,
    };
    let mut members = Members::new(plain);
    let mut tree = Tree::open(destination).map_err(folder)?;
    while let Some(member) = members.next().map_err(read(&last))? {
        last = String::from_utf8_lossy(&member.path).into_owned();
        tree.add(&member, &mut members)
            .map_err(|source| UnpackError::Entry {
                entry: last.clone(),
                source,
            })?;
    }
    let found = members.into_inner().finish().map_err(read(&last))?;
    if found != *expected {
        let expected = expected.clone();
        return Err(UnpackError::Content { expected, found });
    }
    tree.finish().map_err(|(path, source)| UnpackError::Entry {
        entry: path.display().to_string(),
        source,
    })
}
