//! Shares of other machines. Mounting them takes root and the system's own `mount`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use containers::tier::Tier;

/// A share and how to mount it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub server: String,
    pub path: String,
    pub options: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum NfsError {
    #[error("an NFS share can only be mounted by root, and this node runs pods in the `{}` tier", .0.name())]
    Tier(Tier),
    #[error("cannot make {}", .path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot run mount")]
    Run(#[source] io::Error),
    #[error(
        "mount failed: {status}\nMounting command: mount\nMounting arguments: {arguments}\nOutput: {output}"
    )]
    Mount {
        status: String,
        arguments: String,
        output: String,
    },
}

/// Mounts the share at a place of the pod's, unless it is there already.
pub(super) fn mount(share: &Share, target: &Path, is_read_only: bool, tier: Tier) -> Result<(), NfsError> {
    if tier != Tier::Root {
        return Err(NfsError::Tier(tier));
    }
    if is_mounted(target) {
        return Ok(());
    }
    fs::create_dir_all(target).map_err(|source| NfsError::Folder {
        path: target.to_owned(),
        source,
    })?;
    let arguments = arguments(share, target, is_read_only);
    let output = Command::new("mount")
        .args(&arguments)
        .output()
        .map_err(NfsError::Run)?;
    if output.status.success() {
        return Ok(());
    }
    Err(NfsError::Mount {
        status: output.status.to_string(),
        arguments: arguments.join(" "),
        output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

fn arguments(share: &Share, target: &Path, is_read_only: bool) -> Vec<String> {
    let mut options = share.options.clone();
    if is_read_only && !options.iter().any(|option| option == "ro") {
        options.push("ro".to_owned());
    }
    let mut arguments = vec!["-t".to_owned(), "nfs".to_owned()];
    if !options.is_empty() {
        arguments.extend(["-o".to_owned(), options.join(",")]);
    }
    arguments.push(format!("{}:{}", share.server, share.path));
    arguments.push(target.display().to_string());
    arguments
}

fn is_mounted(target: &Path) -> bool {
    super::removal::mounts_below(target)
        .iter()
        .any(|mounted| mounted == target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share() -> Share {
        Share {
            server: "10.0.0.1".to_owned(),
            path: "/exports/data".to_owned(),
            options: vec!["nfsvers=4.2".to_owned()],
        }
    }

    #[test]
    fn options_and_read_only_reach_mount() {
        let arguments = arguments(&share(), Path::new("/pod/volumes/data"), true).join(" ");
        assert_eq!(
            arguments,
            "-t nfs -o nfsvers=4.2,ro 10.0.0.1:/exports/data /pod/volumes/data"
        );
    }

    #[test]
    fn without_root_the_reason_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let error = mount(&share(), folder.path(), false, Tier::Rootless).unwrap_err();
        assert!(
            error.to_string().contains("can only be mounted by root"),
            "{error}"
        );
    }
}
