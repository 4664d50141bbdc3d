//! The test programs of the workspace, as cargo says that it has built them.

use std::{
    ffi::OsStr,
    path::PathBuf,
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
    /// The name of its target.
    pub(super) target: String,
    /// Whether it holds the unit tests of a library or a program, which have the target's name.
    unit: bool,
}

/// The programs that take longest, in the order in which they are started (`cargo xtask test --slowest`).
const LONGEST: [&str; 16] = [
    "client_go",
    "pods",
    "training",
    "kubectl",
    "helm",
    "operator",
    "examples",
    "command_line",
    "service",
    "differential",
    "verbs",
    "images",
    "tasks",
    "task_survival",
    "packages",
    "python",
];

impl Program {
    /// The name that people know it by: `pods`, or `apiserver (unit)`.
    pub(super) fn name(&self) -> String {
        let package = self.package_name();
        if self.unit {
            return format!("{package} (unit)");
        }
        match package {
            "client-tests" | "trainyard" => self.target.clone(),
            package => format!("{package} {}", self.target),
        }
    }

    pub(super) fn package_name(&self) -> &str {
        self.package
            .file_name()
            .and_then(OsStr::to_str)
            .unwrap_or_default()
    }

    /// Its place in the order in which programs are started.
    pub(super) fn place(&self) -> usize {
        let place = LONGEST.iter().position(|name| *name == self.target);
        place.filter(|_| !self.unit).unwrap_or(LONGEST.len())
    }
}

/// Builds the tests that `cargo` is asked for, and returns their programs.
pub(super) fn build(cargo: &mut Command) -> Result<Vec<Program>> {
    let output = cargo
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the tests cannot be built: {}", output.status);
    }
    let messages = String::from_utf8(output.stdout).context("the output of cargo is not UTF-8")?;
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
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// The test program in a message of cargo, if it is about one.
fn program(message: &str) -> Result<Option<Program>> {
    let message: Message = serde_json::from_str(message).context("cargo prints an unknown message")?;
    let is_test =
        message.reason == "compiler-artifact" && message.profile.is_some_and(|profile| profile.test);
    let (Some(executable), Some(manifest), Some(target), true) =
        (message.executable, message.manifest_path, message.target, is_test)
    else {
        return Ok(None);
    };
    let package = manifest.parent().context("a package has no folder")?.to_owned();
    Ok(Some(Program {
        executable,
        package,
        unit: target.kind.iter().all(|kind| kind != "test"),
        target: target.name,
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
                "target": {{"name": "pods", "kind": ["test"]}}, "profile": {{"test": {test}}}}}"#
            )
        };
        let found = program(&artifact(r#""/t/pods-1""#, true)).unwrap().unwrap();
        assert_eq!(
            found,
            Program {
                executable: "/t/pods-1".into(),
                package: "/w/crates/trainyard".into(),
                target: "pods".to_owned(),
                unit: false,
            }
        );
        assert_eq!(found.name(), "pods");
        assert_eq!(found.place(), 1);
        for other in [
            artifact(r#""/t/trainyard""#, false),
            artifact("null", true),
            r#"{"reason": "build-finished", "success": true}"#.to_owned(),
        ] {
            assert_eq!(program(&other).unwrap(), None, "{other}");
        }
    }
}
