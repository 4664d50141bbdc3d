//! How much a pod may keep in its folders that live as long as it does, and how much it does.

use std::{
    collections::HashSet,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use k8s_openapi::api::core::v1::Pod;
use kinds::quantity::Quantity;

use crate::lifecycle::roles;

/// The unit in which a file says how much of the disk it takes.
const BLOCK: u64 = 512;

/// How much one volume may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    volume: String,
    bytes: u64,
    /// As people write it.
    shown: String,
}

/// The volumes on disk that have a limit; what is in memory cannot grow beyond its own.
pub fn limits(pod: &Pod) -> Vec<Limit> {
    let volumes = roles::spec(pod).volumes.iter().flatten();
    volumes
        .filter_map(|volume| {
            let source = volume.empty_dir.as_ref()?;
            let is_on_disk = matches!(source.medium.as_deref(), None | Some(""));
            let limit = Quantity::parse(&source.size_limit.as_ref()?.0).ok()?;
            let bytes = u64::try_from(limit.value()).ok()?;
            (is_on_disk && bytes > 0).then(|| Limit {
                volume: volume.name.clone(),
                bytes,
                shown: limit.to_string(),
            })
        })
        .collect()
}

/// Why the pod cannot stay, if one of its volumes below this folder holds more than it may.
pub fn exceeded(folder: &Path, limits: &[Limit]) -> Option<String> {
    let limit = limits
        .iter()
        .find(|limit| used(&folder.join(&limit.volume)) > limit.bytes)?;
    Some(format!(
        "Usage of EmptyDir volume \"{}\" exceeds the limit \"{}\". ",
        limit.volume, limit.shown
    ))
}

/// What the files below a folder take of the disk. What vanishes or cannot be read meanwhile counts nothing.
fn used(folder: &Path) -> u64 {
    let (mut total, mut linked) = (0, HashSet::new());
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for (path, metadata) in entries(&folder).into_iter().flatten() {
            // A file with several names is there once.
            if metadata.nlink() == 1 || metadata.is_dir() || linked.insert(metadata.ino()) {
                total += metadata.blocks() * BLOCK;
            }
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    total
}

fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, fs::Metadata)>> {
    let entries = fs::read_dir(folder)?.flatten();
    let with_metadata = |entry: fs::DirEntry| Some((entry.path(), entry.metadata().ok()?));
    Ok(entries.filter_map(with_metadata).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn limits_of(source: serde_json::Value) -> Vec<Limit> {
        let volumes = json!([{"name": "scratch", "emptyDir": source}]);
        let pod = json!({"spec": {"containers": [], "volumes": volumes}});
        limits(&serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn only_what_is_on_disk_and_has_a_limit_is_measured() {
        assert!(limits_of(json!({})).is_empty());
        assert!(limits_of(json!({"sizeLimit": "0"})).is_empty());
        assert!(limits_of(json!({"medium": "Memory", "sizeLimit": "1Mi"})).is_empty());
        assert_eq!(limits_of(json!({"sizeLimit": "1Mi"})).len(), 1);
    }

    #[test]
    fn what_lies_in_all_folders_counts_and_a_file_with_two_names_once() {
        let folder = tempfile::tempdir().unwrap();
        let limit = limits_of(json!({"sizeLimit": "1Mi"}));
        let deep = folder.path().join("scratch/a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("one"), vec![1; 700 << 10]).unwrap();
        fs::hard_link(deep.join("one"), deep.join("two")).unwrap();
        assert_eq!(exceeded(folder.path(), &limit), None);
        fs::write(deep.join("three"), vec![1; 700 << 10]).unwrap();
        let why = "Usage of EmptyDir volume \"scratch\" exceeds the limit \"1Mi\". ";
        assert_eq!(exceeded(folder.path(), &limit).as_deref(), Some(why));
    }
}
