//! Where the embedded cluster keeps its state.

use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use crate::{Surroundings, advised};

/// The `--data-dir` option every command about the embedded cluster has.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct DataDir {
    /// Where the cluster keeps its state [env: TRAINYARD_DATA_DIR] [default:
    /// ~/.local/share/trainyard]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl DataDir {
    pub(crate) fn of(path: PathBuf) -> Self {
        Self { data_dir: Some(path) }
    }

    /// The directory as it was named, if it was.
    pub(crate) fn named(&self) -> Option<&Path> {
        self.data_dir.as_deref()
    }

    /// The directory asked for, or the default one: `$XDG_DATA_HOME/trainyard`.
    pub(crate) fn resolve(&self, surroundings: &Surroundings) -> Result<ClusterDir> {
        let unasked = surroundings.data_dir.clone().or_else(|| default(surroundings));
        let path = self.data_dir.clone().or_else(|| unasked.clone()).ok_or_else(|| {
            advised(
                "there is no home directory to keep the cluster in",
                "name one with `--data-dir DIR`",
            )
        })?;
        let absolute = |path: &Path| {
            std::path::absolute(path).with_context(|| format!("`{}` is not a path", path.display()))
        };
        let path = absolute(&path)?;
        let is_found_unasked = unasked.is_some_and(|unasked| absolute(&unasked).is_ok_and(|it| it == path));
        let option = if is_found_unasked {
            String::new()
        } else {
            format!(" --data-dir {}", pasteable(&path))
        };
        Ok(ClusterDir {
            path,
            program: surroundings.program(),
            option,
        })
    }
}

/// Where a cluster is, and how to ask for it again.
#[derive(Clone, Debug)]
pub(crate) struct ClusterDir {
    pub(crate) path: PathBuf,
    program: String,
    option: String,
}

impl ClusterDir {
    #[cfg(test)]
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            program: "trainyard".to_owned(),
            option: String::new(),
        }
    }

    /// A command about this cluster that can be pasted into a shell.
    pub(crate) fn command(&self, name: &str) -> String {
        format!("{} {name}{}", self.program, self.option)
    }
}

/// A path that can be pasted into a shell.
pub(crate) fn pasteable(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_'));
    if plain {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn default(surroundings: &Surroundings) -> Option<PathBuf> {
    // The specification of these variables has relative paths ignored.
    let data_home = surroundings.data_home.clone().filter(|path| path.is_absolute());
    let base = data_home.or_else(|| Some(surroundings.home.as_ref()?.join(".local/share")))?;
    Some(base.join("trainyard"))
}

/// Creates the directory, readable by its owner only, and refuses file systems that lose locks.
pub(crate) fn prepare(path: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| uncreated(path, error))?;
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

/// Why there is no such directory, and what to do about it.
fn uncreated(path: &Path, error: io::Error) -> anyhow::Error {
    let (why, hint) = match error.kind() {
        io::ErrorKind::AlreadyExists if path.is_symlink() => (
            "it is a link to nowhere".to_owned(),
            "make what it links to, or choose another directory with `--data-dir DIR`",
        ),
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => (
            "there is a file in its place".to_owned(),
            "move the file away, or choose another directory with `--data-dir DIR`",
        ),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => (
            error.to_string(),
            "choose a directory that you may write to with `--data-dir DIR`",
        ),
        io::ErrorKind::InvalidFilename => (error.to_string(), "choose a shorter path with `--data-dir DIR`"),
        _ => (
            error.to_string(),
            "choose another directory with `--data-dir DIR`",
        ),
    };
    advised(format!("cannot create `{}`: {why}", path.display()), hint)
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

    fn resolve(data_dir: Option<&str>, surroundings: &Surroundings) -> ClusterDir {
        let data_dir = data_dir.map(PathBuf::from);
        DataDir { data_dir }.resolve(surroundings).unwrap()
    }

    #[test]
    fn the_default_follows_the_platform() {
        let surroundings = Surroundings {
            home: Some("/home/ada".into()),
            ..Surroundings::default()
        };
        let resolved = resolve(None, &surroundings);
        assert_eq!(resolved.path, Path::new("/home/ada/.local/share/trainyard"));
        let surroundings = Surroundings {
            data_home: Some("/data".into()),
            ..surroundings
        };
        assert_eq!(resolve(None, &surroundings).path, Path::new("/data/trainyard"));
    }

    #[test]
    fn a_relative_data_home_is_ignored() {
        let surroundings = Surroundings {
            home: Some("/home/ada".into()),
            data_home: Some("data".into()),
            ..Surroundings::default()
        };
        let resolved = resolve(None, &surroundings);
        assert_eq!(resolved.path, Path::new("/home/ada/.local/share/trainyard"));
    }

    #[test]
    fn what_stands_in_the_way_of_the_directory_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        let long = folder.path().join("x".repeat(300));
        for (path, words) in [
            (file.clone(), "there is a file in its place"),
            (file.join("below"), "there is a file in its place"),
            (link, "a link to nowhere"),
            (long, "File name too long"),
        ] {
            let error = prepare(&path).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn commands_name_what_they_would_not_find_by_themselves() {
        let surroundings = Surroundings {
            program: Some("target/release/trainyard".into()),
            data_dir: Some("/data".into()),
            ..Surroundings::default()
        };
        let command = |data_dir| resolve(data_dir, &surroundings).command("status");
        assert_eq!(command(None), "target/release/trainyard status");
        assert_eq!(command(Some("/data/")), "target/release/trainyard status");
        assert_eq!(
            command(Some("/it's")),
            "target/release/trainyard status --data-dir '/it'\\''s'"
        );
    }

    #[test]
    fn network_file_systems_are_known_by_number() {
        assert_eq!(network_file_system(0x6969), Some("NFS"));
        assert_eq!(network_file_system(0xef53), None);
    }
}
