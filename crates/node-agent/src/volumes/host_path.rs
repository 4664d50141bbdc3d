//! Files and folders of the host: what must be there, and what is made if it is not.

use std::{
    fs::{self, DirBuilder, File, Metadata},
    io,
    os::unix::fs::{DirBuilderExt as _, FileTypeExt as _},
    path::{Path, PathBuf},
};

/// The `type` of a hostPath volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPathType {
    /// Anything; a folder is made if there is nothing.
    Unset,
    DirectoryOrCreate,
    Directory,
    FileOrCreate,
    File,
    Socket,
    CharDevice,
    BlockDevice,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum HostPathError {
    #[error("hostPath type check failed: {} is not a {wanted}", .path.display())]
    Type { path: PathBuf, wanted: &'static str },
    #[error("cannot make {}", .path.display())]
    Make { path: PathBuf, source: io::Error },
    #[error("{} lies in the data directory of this node, which no pod may see", .0.display())]
    Private(PathBuf),
}

impl HostPathType {
    pub(super) fn parse(text: Option<&str>) -> Option<Self> {
        Some(match text.unwrap_or_default() {
            "" => Self::Unset,
            "DirectoryOrCreate" => Self::DirectoryOrCreate,
            "Directory" => Self::Directory,
            "FileOrCreate" => Self::FileOrCreate,
            "File" => Self::File,
            "Socket" => Self::Socket,
            "CharDevice" => Self::CharDevice,
            "BlockDevice" => Self::BlockDevice,
            _ => return None,
        })
    }

    /// What a message calls it, and whether something is it.
    fn check(self) -> (&'static str, fn(&Metadata) -> bool) {
        match self {
            Self::Unset => ("file or directory", |_| true),
            Self::DirectoryOrCreate | Self::Directory => ("directory", Metadata::is_dir),
            Self::FileOrCreate | Self::File => ("file", Metadata::is_file),
            Self::Socket => ("socket file", |found| found.file_type().is_socket()),
            Self::CharDevice => ("character device", |found| found.file_type().is_char_device()),
            Self::BlockDevice => ("block device", |found| found.file_type().is_block_device()),
        }
    }
}

/// Refuses what lies in the data directory, by whatever links. A folder above it may be mounted: there
/// the sandbox hides it, and looks again at what links have become.
pub(super) fn check_outside(path: &Path, data_dir: &Path) -> Result<(), HostPathError> {
    let data_dir = data_dir.canonicalize().unwrap_or_else(|_| data_dir.to_owned());
    // What is not there yet will be made below the first that is.
    let there = path.ancestors().find_map(|path| path.canonicalize().ok());
    match there {
        Some(there) if there.starts_with(&data_dir) => Err(HostPathError::Private(path.to_owned())),
        _ => Ok(()),
    }
}

/// Makes what may be made, and checks that the path is what it should be.
pub(super) fn prepare(path: &Path, kind: HostPathType) -> Result<(), HostPathError> {
    let make = |made: io::Result<()>| {
        made.map_err(|source| HostPathError::Make {
            path: path.to_owned(),
            source,
        })
    };
    let found = fs::metadata(path).ok();
    let (wanted, is_wanted) = kind.check();
    match (found, kind) {
        (Some(found), _) if is_wanted(&found) => Ok(()),
        (None, HostPathType::Unset | HostPathType::DirectoryOrCreate) => {
            make(DirBuilder::new().recursive(true).mode(0o755).create(path))
        }
        (None, HostPathType::FileOrCreate) => make(File::create_new(path).map(drop)),
        _ => Err(HostPathError::Type {
            path: path.to_owned(),
            wanted,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn each_type_is_checked_and_made_as_its_name_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let check = |name: &str, kind: &str| {
            let kind = HostPathType::parse(Some(kind)).unwrap();
            prepare(&path(name), kind).map_err(|error| error.to_string())
        };
        check("made/deep", "DirectoryOrCreate").unwrap();
        check("anything", "").unwrap();
        check("made/file", "FileOrCreate").unwrap();
        check("made/file", "File").unwrap();
        check("made", "Directory").unwrap();
        let _socket = UnixListener::bind(path("socket")).unwrap();
        check("socket", "Socket").unwrap();
        prepare(Path::new("/dev/null"), HostPathType::CharDevice).unwrap();
        for (name, kind, wanted) in [
            ("missing", "Directory", "directory"),
            ("made/file", "DirectoryOrCreate", "directory"),
            ("made", "FileOrCreate", "file"),
            ("missing", "File", "file"),
            ("made", "Socket", "socket file"),
            ("made/file", "CharDevice", "character device"),
            ("made/file", "BlockDevice", "block device"),
        ] {
            let message = format!(
                "hostPath type check failed: {} is not a {wanted}",
                path(name).display()
            );
            assert_eq!(check(name, kind).unwrap_err(), message);
        }
        assert!(check("none/file", "FileOrCreate").is_err());
    }
}
