//! The test programs of the workspace, as cargo says that it has built them.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

/// One program of tests.
#[derive(Debug, PartialEq)]
pub(super) struct Program {
    pub(super) executable: PathBuf,
    /// The folder of its package, where cargo runs it.
    pub(super) package: PathBuf,
    /// Its first source file.
    pub(super) source: PathBuf,
}

impl Program {
    /// Whether its tests drive whole clusters, and so take long and mostly wait.
    pub(super) fn drives_clusters(&self) -> bool {
        let package = self.package.file_name().and_then(OsStr::to_str);
        matches!(package, Some("client-tests" | "trainyard"))
    }
}

/// Builds the tests that `cargo` is told of, and says which programs they are.
pub(super) fn build(cargo: &mut Command) -> Result<Vec<Program>> {
    let output = cargo
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the tests cannot be built: {}", output.status);
    }
    let messages = String::from_utf8(output.stdout).context("cargo prints what is no text")?;
    let programs = messages.lines().filter_map(|line| program(line).transpose());
    programs.collect()
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// The program that a message of cargo tells of, where it tells of one with tests.
fn program(message: &str) -> Result<Option<Program>> {
    let message: Message = serde_json::from_str(message).context("cargo prints what is no message")?;
    let is_test =
        message.reason == "compiler-artifact" && message.profile.is_some_and(|profile| profile.test);
    let (Some(executable), Some(manifest), Some(target), true) =
        (message.executable, message.manifest_path, message.target, is_test)
    else {
        return Ok(None);
    };
    let package = manifest.parent().context("a package is in no folder")?.to_owned();
    Ok(Some(Program {
        executable,
        source: target
            .src_path
            .strip_prefix(&package)
            .map_or(target.src_path.clone(), Path::to_owned),
        package,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_with_tests_are_told_from_everything_else_that_is_built() {
        let artifact = |executable: &str, test: bool| {
            format!(
                r#"{{"reason": "compiler-artifact", "executable": {executable}, "manifest_path": "/w/crates/trainyard/Cargo.toml",
                "target": {{"src_path": "/w/crates/trainyard/tests/pods/main.rs"}}, "profile": {{"test": {test}}}}}"#
            )
        };
        let found = program(&artifact(r#""/t/pods-1""#, true)).unwrap().unwrap();
        assert_eq!(
            found,
            Program {
                executable: "/t/pods-1".into(),
                package: "/w/crates/trainyard".into(),
                source: "tests/pods/main.rs".into(),
            }
        );
        assert!(found.drives_clusters());
        for other in [
            artifact(r#""/t/trainyard""#, false),
            artifact("null", true),
            r#"{"reason": "build-finished", "success": true}"#.to_owned(),
        ] {
            assert_eq!(program(&other).unwrap(), None, "{other}");
        }
    }
}
