//! Where the embedded cluster keeps its state.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::{Surroundings, advised};

/// The `--data-dir` option every command about the embedded cluster has.
#[derive(Debug, clap::Args)]
pub(crate) struct DataDir {
    /// Directory of the cluster's state [default: the platform's data directory]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl DataDir {
    /// The directory asked for, or the default one: `$XDG_DATA_HOME/trainyard`.
    pub(crate) fn resolve(&self, surroundings: &Surroundings) -> Result<PathBuf> {
        let chosen = self.data_dir.clone().or_else(|| surroundings.data_dir.clone());
        let path = match chosen {
            Some(path) => path,
            None => default(surroundings).ok_or_else(|| {
                advised(
                    "there is no home directory to keep the cluster in",
                    "name one with `--data-dir DIR`",
                )
            })?,
        };
        std::path::absolute(&path).with_context(|| format!("`{}` is not a path", path.display()))
    }
}

fn default(surroundings: &Surroundings) -> Option<PathBuf> {
    let base = surroundings
        .data_home
        .clone()
        .or_else(|| Some(surroundings.home.as_ref()?.join(".local/share")))?;
    Some(base.join("trainyard"))
}

/// Creates the directory, readable by its owner only, and refuses file systems that lose locks.
pub(crate) fn prepare(path: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("cannot create `{}`", path.display()))?;
    let statistics =
        rustix::fs::statfs(path).with_context(|| format!("cannot look at `{}`", path.display()))?;
    if let Some(name) = network_file_system(statistics.f_type) {
        return Err(advised(
            format!(
                "`{}` is on {name}, which does not keep locks and writes the way the store needs",
                path.display()
            ),
            "choose a directory on a local disk with `--data-dir DIR`",
        ));
    }
    Ok(())
}

/// The name of a network file system, by its magic number.
fn network_file_system(magic: rustix::fs::FsWord) -> Option<&'static str> {
    // The kernel's numbers are 32 bits wide; the C type may be wider and signed.
    match magic as u64 & 0xffff_ffff {
        0x6969 => Some("NFS"),
        0xff53_4d42 | 0xfe53_4d42 | 0x517b => Some("SMB"),
        0x0103_0983 | 0x0102_1997 => Some("9P"),
        0x5346_414f => Some("AFS"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_follows_the_platform() {
        let surroundings = Surroundings {
            home: Some("/home/ada".into()),
            ..Surroundings::default()
        };
        let resolved = DataDir { data_dir: None }.resolve(&surroundings).unwrap();
        assert_eq!(resolved, Path::new("/home/ada/.local/share/trainyard"));
        let surroundings = Surroundings {
            data_home: Some("/data".into()),
            ..surroundings
        };
        assert_eq!(
            DataDir { data_dir: None }.resolve(&surroundings).unwrap(),
            Path::new("/data/trainyard")
        );
    }

    #[test]
    fn network_file_systems_are_known_by_number() {
        assert_eq!(network_file_system(0x6969), Some("NFS"));
        assert_eq!(network_file_system(0xef53), None);
    }
}
