//! Parts of the tests: which packages and test programs the names on the command line stand for.

use std::{collections::BTreeSet, path::PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use super::programs::Program;
use crate::run::cargo;

/// The test programs to build and run.
#[derive(Debug, PartialEq)]
pub(super) enum Selection {
    All,
    Parts(Parts),
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Parts {
    /// Packages all of whose tests are wanted.
    packages: BTreeSet<String>,
    /// Single test programs, and the packages they are in.
    programs: BTreeSet<(String, String)>,
    /// The test programs of `packages`, by name.
    of_packages: BTreeSet<String>,
}

/// They drive the program that users get.
const DRIVERS: [&str; 2] = ["client-tests", "trainyard"];

impl Selection {
    pub(super) fn of(parts: &[String]) -> Result<Self> {
        if parts.is_empty() {
            return Ok(Self::All);
        }
        let output = cargo()
            .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
            .output()
            .context("cannot start cargo")?;
        if !output.status.success() {
            bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
        }
        let metadata: Metadata =
            serde_json::from_slice(&output.stdout).context("cargo metadata is not readable")?;
        select(&metadata, parts).map(Self::Parts)
    }

    pub(super) fn contains(&self, program: &Program) -> bool {
        let Self::Parts(parts) = self else {
            return true;
        };
        let package = program.package_name().to_owned();
        parts.packages.contains(&package) || parts.programs.contains(&(package, program.target.clone()))
    }

    pub(super) fn drives_the_program(&self) -> bool {
        match self {
            Self::All => true,
            Self::Parts(parts) => DRIVERS.iter().any(|driver| {
                parts.packages.contains(*driver)
                    || parts.programs.iter().any(|(package, _)| package == driver)
            }),
        }
    }

    /// Whether packages are compared with those that kustomize builds.
    pub(super) fn compares_packages(&self) -> bool {
        match self {
            Self::All => true,
            Self::Parts(parts) => {
                parts.packages.contains("packages")
                    || parts.programs.iter().any(|(_, name)| name == "differential")
            }
        }
    }

    /// What cargo builds. The features of dependencies are those of all packages that are named: with the program
    /// among them they are the same for every part, and nothing is compiled twice.
    pub(super) fn cargo_arguments(&self) -> Vec<String> {
        let Self::Parts(parts) = self else {
            return vec!["--workspace".to_owned()];
        };
        let of_programs = parts.programs.iter().map(|(package, _)| package.as_str());
        let packages: BTreeSet<&str> = parts
            .packages
            .iter()
            .map(String::as_str)
            .chain(of_programs)
            .chain(DRIVERS)
            .collect();
        let mut arguments: Vec<String> = packages
            .into_iter()
            .map(|package| format!("--package={package}"))
            .collect();
        if !parts.packages.is_empty() {
            arguments.extend(["--lib", "--bins", "--examples"].map(str::to_owned));
        }
        let programs: BTreeSet<&String> = parts
            .programs
            .iter()
            .map(|(_, program)| program)
            .chain(&parts.of_packages)
            .collect();
        arguments.extend(programs.into_iter().map(|program| format!("--test={program}")));
        arguments
    }
}

fn select(metadata: &Metadata, parts: &[String]) -> Result<Parts> {
    let mut selected = Parts::default();
    for part in parts {
        let mut found = false;
        for package in &metadata.packages {
            let whole = package.name == *part;
            if whole {
                selected.packages.insert(part.clone());
                found = true;
            }
            for target in package.targets.iter().filter(|target| target.is_test_program()) {
                if whole {
                    selected.of_packages.insert(target.name.clone());
                } else if target.name == *part {
                    selected.programs.insert((package.name.clone(), part.clone()));
                    found = true;
                }
            }
        }
        if !found {
            bail!(
                "`{part}` is neither a crate nor a test program{}",
                suggestion(metadata, part)
            );
        }
    }
    Ok(selected)
}

/// The names that begin like the one that is not there.
fn suggestion(metadata: &Metadata, part: &str) -> String {
    let start: String = part.chars().take(3).collect();
    let packages = metadata.packages.iter().map(|package| package.name.as_str());
    let programs = metadata
        .packages
        .iter()
        .flat_map(|package| &package.targets)
        .filter(|target| target.is_test_program())
        .map(|target| target.name.as_str());
    let names: BTreeSet<&str> = packages
        .chain(programs)
        .filter(|name| name.starts_with(&start))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = names.into_iter().collect();
    format!("\nhint: names that begin alike: {}", names.join(", "))
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    #[serde(rename = "src_path")]
    _source: PathBuf,
}

impl Target {
    fn is_test_program(&self) -> bool {
        self.kind.iter().any(|kind| kind == "test")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Metadata {
        serde_json::from_str(
            r#"{"packages": [
                {"name": "packages", "targets": [
                    {"name": "packages", "kind": ["lib"], "src_path": "a"},
                    {"name": "cases", "kind": ["test"], "src_path": "b"}]},
                {"name": "client-tests", "targets": [{"name": "packages", "kind": ["test"], "src_path": "c"}]},
                {"name": "trainyard", "targets": [{"name": "pods", "kind": ["test"], "src_path": "d"}]}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_part_is_a_crate_and_every_program_of_its_name() {
        let selection = Selection::Parts(select(&metadata(), &["packages".to_owned()]).unwrap());
        assert_eq!(
            selection.cargo_arguments(),
            [
                "--package=client-tests",
                "--package=packages",
                "--package=trainyard",
                "--lib",
                "--bins",
                "--examples",
                "--test=cases",
                "--test=packages"
            ]
        );
        assert!(selection.drives_the_program());
        assert!(selection.compares_packages());
    }

    #[test]
    fn a_program_is_built_alone() {
        let selection = Selection::Parts(select(&metadata(), &["pods".to_owned()]).unwrap());
        assert_eq!(
            selection.cargo_arguments(),
            ["--package=client-tests", "--package=trainyard", "--test=pods"]
        );
    }

    #[test]
    fn a_name_that_is_not_there_is_refused_with_those_alike() {
        let error = select(&metadata(), &["package".to_owned()])
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "`package` is neither a crate nor a test program\nhint: names that begin alike: packages"
        );
    }
}
