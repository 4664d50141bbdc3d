//! What may come into the workspace: from where, under which licences, and which crates not at all.
//!
//! Known vulnerabilities are not looked for here: their database is on no package registry.

mod licences;

use std::{collections::BTreeMap, process::Command};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::run::root;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

const BANNED: &[(&str, &str)] = &[
    ("native-tls", "rustls with ring needs no system library"),
    ("openssl", "rustls with ring needs no system library"),
    (
        "serde_yaml",
        "deprecated; manifests::yaml reads YAML the way kubectl does",
    ),
    (
        "serde_yml",
        "deprecated; manifests::yaml reads YAML the way kubectl does",
    ),
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

pub(crate) fn run() -> Result<()> {
    let Metadata {
        packages,
        workspace_members,
    } = metadata()?;
    let foreign: Vec<&Package> = packages
        .iter()
        .filter(|package| !workspace_members.contains(&package.id))
        .collect();
    let problems: Vec<String> = foreign.iter().flat_map(|package| problems(package)).collect();
    for problem in &problems {
        println!("deny: {problem}");
    }
    if !problems.is_empty() {
        bail!("{} crates that may not come in", problems.len());
    }
    println!("deny: {} crates from the registry, all allowed", foreign.len());
    let repeated = repeated(&foreign);
    if !repeated.is_empty() {
        println!("deny: in more than one version: {}", repeated.join(", "));
    }
    Ok(())
}

/// What cargo would build for the system the binary runs on, by the lock file as it is.
fn metadata() -> Result<Metadata> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    serde_json::from_slice(&output.stdout).context("cannot read what cargo metadata says")
}

fn problems(package: &Package) -> Vec<String> {
    let mut problems = Vec::new();
    let shown = format!("{} {}", package.name, package.version);
    if package.source.as_deref() != Some(REGISTRY) {
        problems.push(format!("{shown} does not come from the registry"));
    }
    let licence = package.license.as_deref().unwrap_or_default();
    if !licences::is_allowed(licence) {
        problems.push(format!(
            "{shown} is under `{licence}`, which allows no licence of ours"
        ));
    }
    if let Some((_, reason)) = BANNED.iter().find(|(name, _)| *name == package.name) {
        problems.push(format!("{shown} is banned: {reason}"));
    }
    problems
}

fn repeated(packages: &[&Package]) -> Vec<String> {
    let mut versions = BTreeMap::<&str, Vec<&str>>::new();
    for package in packages {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    versions
        .into_iter()
        .filter(|(_, versions)| versions.len() > 1)
        .map(|(name, versions)| format!("{name} ({})", versions.join(" and ")))
        .collect()
}
