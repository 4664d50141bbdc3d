//! The file system a container sees.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What `/` is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Root {
    /// This machine's own file system, read-only.
    Host {
        /// Replaced by an empty writable folder in memory: `/tmp`, the home folder.
        private: Vec<PathBuf>,
    },
    /// An image: its layers from the top down, and where its changes go.
    Layers {
        lower: Vec<PathBuf>,
        upper: PathBuf,
        work: PathBuf,
    },
    /// The same where overlayfs cannot be mounted ([`crate::tier::probe_overlay`]): the layers are copied
    /// into `folder`, once, and changes go there, too.
    Copy { lower: Vec<PathBuf>, folder: PathBuf },
    /// A folder that holds a whole file system, used as it is.
    Directory(PathBuf),
}

impl Root {
    /// The host's file system with what every container has for itself.
    pub fn host(home: Option<PathBuf>) -> Self {
        let private = ["/tmp", "/var/tmp", "/run"]
            .into_iter()
            .map(PathBuf::from)
            .chain(home)
            .collect();
        Self::Host { private }
    }

    /// An image whose changes are kept below `folder`, by overlayfs if it can be had.
    pub fn image(lower: Vec<PathBuf>, folder: &Path, has_overlay: bool) -> Self {
        if has_overlay {
            Self::Layers {
                lower,
                upper: folder.join("upper"),
                work: folder.join("work"),
            }
        } else {
            let folder = folder.join("root");
            Self::Copy { lower, folder }
        }
    }
}

impl Default for Root {
    fn default() -> Self {
        Self::host(None)
    }
}

/// Something to be seen at `target`, in the order given but parents before children.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mount {
    Bind(Bind),
    Part(Part),
    /// Memory, gone with the container.
    Memory {
        target: PathBuf,
        bytes: Option<u64>,
    },
}

/// A file or folder of the host inside the container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// Resolved by whoever made this: symbolic links in it are followed on the host.
    pub source: PathBuf,
    pub target: PathBuf,
    #[serde(default)]
    pub read_only: bool,
}

/// A file or folder inside a folder that containers may write to. Whatever links they have left there,
/// nothing outside that folder is opened. Folders that are missing are made with the mode of the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub volume: PathBuf,
    /// Relative to the volume.
    pub path: PathBuf,
    pub target: PathBuf,
    #[serde(default)]
    pub read_only: bool,
}

/// A device node of the host at a place under `/dev`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    pub source: PathBuf,
    pub target: PathBuf,
}

impl Mount {
    pub fn target(&self) -> &PathBuf {
        match self {
            Self::Bind(bind) => &bind.target,
            Self::Part(part) => &part.target,
            Self::Memory { target, .. } => target,
        }
    }
}
