//! Control groups, version 1 or 2: made where they can be written, left alone where not.

mod find;
mod v1;
mod v2;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use find::{Parent, remove_unused};

use crate::state::Usage;

/// One hierarchy the kernel offers, and the folder in it below which ours are made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    kind: Kind,
    folder: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// With the controllers mounted together.
    V1(Vec<String>),
    V2,
}

/// The groups of one container, one in each hierarchy.
#[derive(Debug)]
pub(crate) struct Group {
    groups: Vec<Hierarchy>,
}

impl Group {
    /// Moves this process into the group.
    pub(crate) fn join(&self) -> io::Result<()> {
        self.groups
            .iter()
            .try_for_each(|group| fs::write(group.folder.join("cgroup.procs"), "0"))
    }

    /// Its folders, each with the place where programs look for the group they are in.
    pub(crate) fn views(&self) -> Vec<(&Path, PathBuf)> {
        let root = Path::new("/sys/fs/cgroup");
        let views = self.groups.iter().flat_map(|group| {
            let places = match &group.kind {
                Kind::V1(controllers) => controllers.iter().map(|name| root.join(name)).collect(),
                Kind::V2 => vec![root.to_owned()],
            };
            places.into_iter().map(|place| (group.folder.as_path(), place))
        });
        views.collect()
    }

    /// Whether the kernel killed a process because the memory limit was reached.
    pub(crate) fn out_of_memory(&self) -> bool {
        self.groups.iter().any(|group| match &group.kind {
            Kind::V1(_) => v1::out_of_memory(&group.folder),
            Kind::V2 => v2::out_of_memory(&group.folder),
        })
    }

    pub(crate) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for group in &self.groups {
            match &group.kind {
                Kind::V1(controllers) => v1::add_usage(&group.folder, controllers, &mut usage),
                Kind::V2 => v2::add_usage(&group.folder, &mut usage),
            }
        }
        usage
    }

    /// Succeeds when no process is left in it.
    pub(crate) fn remove(&self) {
        for group in &self.groups {
            let _ = fs::remove_dir(&group.folder);
        }
    }
}

/// Removes a sandbox's folders of groups with everything in them.
pub(crate) fn remove_all(folders: &[PathBuf]) {
    for folder in folders {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(entry.path());
        }
        let _ = fs::remove_dir(folder);
    }
}

/// A file with one number.
fn number(folder: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
}

/// The number after a key, one pair a line.
fn keyed_number(folder: &Path, file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(folder.join(file)).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}
