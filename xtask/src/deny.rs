//! What may come into the workspace: from where, under which licences, and which crates not at all.
//!
//! The rules are those of `deny.toml`, so that cargo-deny, which takes minutes to build, can be used on
//! them too. Known vulnerabilities are left to it: their database is on no package registry.

mod licences;

use std::{collections::BTreeMap, fs};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::run::{cargo, root};

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What we read of `deny.toml`; the rest is for cargo-deny itself.
#[derive(Deserialize)]
struct Rules {
    licenses: LicenceRules,
    bans: BanRules,
}

#[derive(Deserialize)]
struct LicenceRules {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct BanRules {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

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
    let rules = rules()?;
    let Metadata {
        packages,
        workspace_members,
    } = metadata()?;
    let foreign: Vec<&Package> = packages
        .iter()
        .filter(|package| !workspace_members.contains(&package.id))
        .collect();
    let problems: Vec<String> = foreign
        .iter()
        .flat_map(|package| problems(package, &rules))
        .collect();
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

fn rules() -> Result<Rules> {
    let path = root().join("deny.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    toml::from_str(&text).with_context(|| format!("cannot read `{}`", path.display()))
}

/// What cargo would build for the system the binary runs on, by the lock file as it is.
fn metadata() -> Result<Metadata> {
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
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

fn problems(package: &Package, rules: &Rules) -> Vec<String> {
    let mut problems = Vec::new();
    let shown = format!("{} {}", package.name, package.version);
    if package.source.as_deref() != Some(REGISTRY) {
        problems.push(format!("{shown} does not come from the registry"));
    }
    let licence = package.license.as_deref().unwrap_or_default();
    if !licences::is_allowed(licence, &rules.licenses.allow) {
        problems.push(format!(
            "{shown} is under `{licence}`, which allows no licence of ours"
        ));
    }
    if let Some(ban) = rules.bans.deny.iter().find(|ban| ban.name == package.name) {
        problems.push(format!("{shown} is banned: {}", ban.reason));
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
