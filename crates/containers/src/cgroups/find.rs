//! Which hierarchies there are and where in them we may make groups.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use nix::unistd::{AccessFlags, access};

use super::{Group, Hierarchy, Kind, remove_all, v1, v2};
use crate::spec::Limits;

/// The controllers whose limits and counts are used.
const WANTED: [&str; 4] = ["cpu", "cpuacct", "memory", "pids"];

/// The folder that holds the groups of all sandboxes, in each hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    hierarchies: Vec<Hierarchy>,
}

impl Parent {
    /// None where this process may make no groups.
    pub fn find() -> Option<Self> {
        let hierarchies: Vec<_> = candidates()
            .into_iter()
            .filter(|found| prepare(found).is_ok())
            .collect();
        (!hierarchies.is_empty()).then_some(Self { hierarchies })
    }

    /// The version of the interface, for people.
    pub fn version(&self) -> u8 {
        if self
            .hierarchies
            .iter()
            .any(|hierarchy| hierarchy.kind == Kind::V2)
        {
            2
        } else {
            1
        }
    }

    /// Makes a container's group with its limits.
    pub(crate) fn create(&self, sandbox: &str, container: &str, limits: &Limits) -> io::Result<Group> {
        let mut groups = Vec::new();
        for hierarchy in &self.hierarchies {
            let shared = hierarchy.folder.join(sandbox);
            let folder = shared.join(container);
            // Another cluster may have taken the folder of all away when it was empty.
            prepare(hierarchy)?;
            make(&shared)?;
            if hierarchy.kind == Kind::V2 {
                v2::hand_down(&shared)?;
            }
            make(&folder)?;
            match &hierarchy.kind {
                Kind::V1(controllers) => v1::limit(&folder, controllers, limits)?,
                Kind::V2 => v2::limit(&folder, limits)?,
            }
            groups.push(Hierarchy {
                kind: hierarchy.kind.clone(),
                folder,
            });
        }
        Ok(Group { groups })
    }

    /// A sandbox's folders.
    pub(crate) fn folders(&self, sandbox: &str) -> Vec<PathBuf> {
        self.hierarchies
            .iter()
            .map(|hierarchy| hierarchy.folder.join(sandbox))
            .collect()
    }

    pub(crate) fn remove(&self, sandbox: &str) {
        remove_all(&self.folders(sandbox));
    }
}

/// Takes the folder of all sandboxes away, where there is no sandbox of any cluster in it.
pub fn remove_unused() {
    for hierarchy in candidates() {
        let _ = fs::remove_dir(&hierarchy.folder);
    }
}

fn candidates() -> Vec<Hierarchy> {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    hierarchies(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))
}

fn make(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Makes our own folder, and with version 2 sees to it that it has controllers to hand down.
fn prepare(hierarchy: &Hierarchy) -> io::Result<()> {
    if hierarchy.kind == Kind::V2
        && let Some(parent) = hierarchy.folder.parent()
    {
        v2::hand_down(parent)?;
        make(&hierarchy.folder)?;
        return v2::hand_down(&hierarchy.folder);
    }
    make(&hierarchy.folder)?;
    // It may be there and another user's.
    Ok(access(&hierarchy.folder, AccessFlags::W_OK)?)
}

/// Reads `/proc/self/mountinfo` and `/proc/self/cgroup`. In version 1 ours lie below the group this
/// process is in, so that its limits hold for us; version 2 forbids groups with both processes and
/// limited children, so there ours lie beside it, at the top of what can be seen.
fn hierarchies(mounts: &str, memberships: &str) -> Vec<Hierarchy> {
    let mut found = Vec::new();
    for line in mounts.lines() {
        let Some((left, right)) = line.split_once(" - ") else {
            continue;
        };
        let (left, right): (Vec<_>, Vec<_>) = (left.split(' ').collect(), right.split(' ').collect());
        let (Some(shown), Some(place), Some(kind)) = (left.get(3), left.get(4), right.first()) else {
            continue;
        };
        match *kind {
            "cgroup" => {
                let options = right.last().copied().unwrap_or_default().split(',');
                let controllers: Vec<_> = options
                    .filter(|option| WANTED.contains(option))
                    .map(str::to_owned)
                    .collect();
                if let Some(own) = controllers.first().and_then(|name| membership(memberships, name)) {
                    // In a container the mount shows only a part of the hierarchy.
                    let own = own.strip_prefix(*shown).unwrap_or(own).trim_start_matches('/');
                    let folder = Path::new(place).join(own).join("trainyard");
                    found.push(Hierarchy {
                        kind: Kind::V1(controllers),
                        folder,
                    });
                }
            }
            "cgroup2" => found.push(Hierarchy {
                kind: Kind::V2,
                folder: Path::new(place).join("trainyard"),
            }),
            _ => {}
        }
    }
    // In a mixed system the controllers are with version 1.
    if found
        .iter()
        .any(|hierarchy| matches!(hierarchy.kind, Kind::V1(_)))
    {
        found.retain(|hierarchy| hierarchy.kind != Kind::V2);
    }
    found
}

/// The group this process is in, in the hierarchy of a controller.
fn membership<'a>(memberships: &'a str, controller: &str) -> Option<&'a str> {
    memberships.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let path = fields.next()?;
        controllers
            .split(',')
            .any(|name| name == controller)
            .then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Hierarchy, Kind, hierarchies};

    #[test]
    fn version_1_groups_lie_below_our_own_and_win_over_an_empty_version_2() {
        let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      37 31 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let memberships = "4:memory:/jobs/7\n1:cpu,cpuacct:/\n0::/\n";
        let group = |controllers: &[&str], folder: &str| Hierarchy {
            kind: Kind::V1(controllers.iter().map(|name| (*name).to_owned()).collect()),
            folder: PathBuf::from(folder),
        };
        let expected = [
            group(&["cpu", "cpuacct"], "/sys/fs/cgroup/cpu/trainyard"),
            group(&["memory"], "/sys/fs/cgroup/memory/jobs/7/trainyard"),
        ];
        assert_eq!(hierarchies(mounts, memberships), expected);
    }

    #[test]
    fn version_2_groups_lie_at_the_top() {
        let mounts = "30 22 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let folder = PathBuf::from("/sys/fs/cgroup/trainyard");
        assert_eq!(
            hierarchies(mounts, "0::/user.slice\n"),
            [Hierarchy {
                kind: Kind::V2,
                folder
            }]
        );
    }
}
