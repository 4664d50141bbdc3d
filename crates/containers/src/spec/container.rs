//! One container: what to run, on which file system, as whom.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Capabilities, Device, Limits, Mount, ResourceLimit, Root, Seccomp};

/// One run of one container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent wishes, each named where it is set"
)]
pub struct Container {
    /// Unique in its sandbox.
    pub name: String,
    /// Counts the runs of this name; the sandbox only repeats it in its state.
    pub attempt: u32,
    /// Lives among the processes of this container, which must run, and sees them.
    pub visits: Option<String>,

    pub root: Root,
    pub read_only_root: bool,
    pub mounts: Vec<Mount>,
    /// Folders of the host that are empty wherever they would be seen: the data directory. Only mounts
    /// whose source is named below one of them show what is there.
    pub hidden: Vec<PathBuf>,
    pub devices: Vec<Device>,

    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    /// Made if it is missing; `/` when absent.
    pub working_directory: Option<PathBuf>,

    pub user: u32,
    pub group: u32,
    pub groups: Vec<u32>,
    pub capabilities: Capabilities,
    /// All capabilities, all devices, nothing hidden in `/proc` and `/sys`, no syscall filter.
    pub privileged: bool,
    pub no_new_privileges: bool,
    pub seccomp: Seccomp,
    /// Leaves all of `/proc` visible and writable.
    pub unmasked_proc: bool,

    pub limits: Limits,
    pub resource_limits: Vec<ResourceLimit>,
    pub oom_score_adjustment: Option<i32>,

    pub tty: bool,
    pub stdin: Stdin,
    pub log: Option<Log>,
}

/// Where the container's standard input comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    None,
    /// Whoever attaches; it stays open between them.
    Open,
    /// The first who attaches; it ends with them.
    Once,
}

/// Where output is written, one CRI line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    pub path: PathBuf,
    /// A file that would grow beyond this is put aside as `PATH.TIME`, between lines.
    pub max_bytes: u64,
    /// How many files are kept, the current one included.
    pub max_files: usize,
}

impl Log {
    /// Kubernetes' usual 10 MiB in 5 files.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            max_bytes: 10 << 20,
            max_files: 5,
        }
    }
}
