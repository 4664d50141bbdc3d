//! Folders of the host that no container sees, whatever way leads to them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::mounts::Held;
use crate::sandbox::error::{Doing as _, SetupError};

/// Found before the host is out of sight.
#[derive(Debug)]
pub(super) struct Hidden {
    folders: Vec<Folder>,
}

#[derive(Debug)]
struct Folder {
    /// As whoever asked for it calls it.
    name: PathBuf,
    /// Without links.
    place: PathBuf,
}

impl Hidden {
    /// One that is not there needs no hiding.
    pub(super) fn find(names: &[PathBuf]) -> Self {
        let find = |name: &PathBuf| {
            let place = name.canonicalize().ok()?;
            let name = name.clone();
            Some(Folder { name, place })
        };
        Self {
            folders: names.iter().filter_map(find).collect(),
        }
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|folder| folder.place.as_path())
    }

    /// What of an open source has to be covered where it is shown, relative to it. The source may lie in
    /// a hidden folder only if it is called so: then it is what the pod has there. A link that leads into
    /// one is somebody's trick.
    pub(super) fn below(&self, name: &Path, source: &Held) -> Result<Vec<PathBuf>, SetupError> {
        let doing = || format!("mount `{}`", name.display());
        let place = fs::read_link(source.path()).doing(doing)?;
        self.parts_of(name, &place).doing(doing)
    }

    fn parts_of(&self, name: &Path, place: &Path) -> io::Result<Vec<PathBuf>> {
        let mut parts = Vec::new();
        for folder in &self.folders {
            if place.starts_with(&folder.place) {
                if !name.starts_with(&folder.name) {
                    return Err(io::Error::other("it lies in a folder that no pod may see"));
                }
            } else if let Ok(part) = folder.place.strip_prefix(place) {
                parts.push(part.to_owned());
            }
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_of(name: &str, place: &str) -> io::Result<Vec<PathBuf>> {
        let folders = vec![Folder {
            name: "/data".into(),
            place: "/var/lib/data".into(),
        }];
        Hidden { folders }.parts_of(Path::new(name), Path::new(place))
    }

    #[test]
    fn a_folder_above_is_covered_where_the_hidden_one_is() {
        assert_eq!(parts_of("/var", "/var").unwrap(), [Path::new("lib/data")]);
        assert_eq!(parts_of("/link", "/").unwrap(), [Path::new("var/lib/data")]);
        assert!(parts_of("/var/lib/other", "/var/lib/other").unwrap().is_empty());
    }

    #[test]
    fn only_what_is_called_so_may_lie_inside() {
        assert!(
            parts_of("/data/pods/1", "/var/lib/data/pods/1")
                .unwrap()
                .is_empty()
        );
        assert!(parts_of("/tmp/link", "/var/lib/data").is_err());
        assert!(parts_of("/var", "/var/lib/data/pods").is_err());
    }
}
