//! `trainyard __deliver`: leaves this program where other containers of the pod find it.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};

/// Copy this program to a path
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Arguments {
    /// Where to
    path: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let path = &arguments.path;
    // Whoever sees it sees all of it, also where a pod is started again.
    let part = path.with_extension("part");
    let copied = fs::copy(&program, &part)
        .and_then(|_| fs::set_permissions(&part, fs::Permissions::from_mode(0o755)))
        .and_then(|()| fs::rename(&part, path));
    copied.with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_delivered_can_be_run_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trainyard");
        for _ in 0..2 {
            run(&Arguments { path: path.clone() }).unwrap();
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
