//! The rules of ARCHITECTURE.md that a machine can check: which crate may use which, what pure
//! crates may not touch, and that each file says what it is for.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::run::{cargo, root};

/// Rows of the code map from top to bottom; a crate may use only rows below its own.
const ROWS: &[(&str, &[&str])] = &[
    ("binary", &["trainyard"]),
    ("surfaces", &["cli"]),
    ("whole", &["cluster"]),
    ("fronts", &["service"]),
    (
        "engines",
        &[
            "controllers",
            "scheduler",
            "simulated-nodes",
            "node-agent",
            "operator",
            "serving",
            "pipelines",
            "steps",
            "tasks",
            "apiserver",
        ],
    ),
    (
        "adapters",
        &[
            "store",
            "containers",
            "images",
            "listener",
            "network",
            "reconcile",
            "render-worker",
            "node-api",
            "trainer",
            "unverified-tls",
        ],
    ),
    ("verdicts", &["package-check"]),
    (
        "plans",
        &["onnx-model", "setters", "templates", "training", "workflows"],
    ),
    (
        "pure",
        &[
            "kinds",
            "schemas",
            "field-docs",
            "packages",
            "resources",
            "saved-model",
        ],
    ),
    ("documents", &["manifests", "spdy", "websocket"]),
    ("ground", &["this-program", "verified-tls"]),
];

/// Crates that may not know of time, files, network or threads.
const PURE: &[&str] = &[
    "kinds",
    "manifests",
    "onnx-model",
    "package-check",
    "packages",
    "resources",
    "saved-model",
    "schemas",
    "spdy",
    "setters",
    "templates",
    "training",
    "websocket",
    "workflows",
];
const IMPURE_DEPENDENCIES: &[&str] = &["tokio", "hyper", "rustix", "rustls", "ring"];
const IMPURE_WORDS: &[&str] = &[
    "std::fs",
    "std::net::Tcp",
    "std::net::Udp",
    "std::env",
    "std::process",
    "SystemTime",
    "Instant::now",
    "Timestamp::now",
];

/// Who may use an adapter.
const ONLY_USED_BY: &[(&str, &[&str])] = &[
    ("store", &["apiserver"]),
    ("containers", &["node-agent"]),
    ("images", &["node-agent", "cli"]),
    ("network", &["node-agent"]),
];

pub(crate) fn run() -> Result<()> {
    let mut problems = Vec::new();
    let metadata = metadata()?;
    let crates = crates(&metadata);
    check_default(&metadata, &mut problems);
    check_arrows(&crates, &mut problems);
    check_sources(&mut problems)?;
    check_features(&mut problems)?;
    if problems.is_empty() {
        println!("tidy: {} crates, every arrow points down", crates.len());
        return Ok(());
    }
    for problem in &problems {
        println!("tidy: {problem}");
    }
    bail!("{} problems in the structure of the workspace", problems.len());
}

fn metadata() -> Result<Value> {
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .context("cannot start cargo")?;
    serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")
}

/// The README's first command is `cargo run`, which must not have a choice.
fn check_default(metadata: &Value, problems: &mut Vec<String>) {
    let default = metadata["workspace_default_members"].as_array();
    let is_program = |id: &Value| id.as_str().is_some_and(|id| id.contains("/crates/trainyard#"));
    if !default.is_some_and(|ids| ids.iter().all(is_program)) {
        problems.push("`cargo run` does not mean `trainyard`: see default-members in Cargo.toml".to_owned());
    }
}

/// The workspace's crates with their ordinary dependencies.
fn crates(metadata: &Value) -> BTreeMap<String, Vec<String>> {
    let mut crates = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let names = dependencies
            .filter(|dependency| dependency["kind"].is_null())
            .filter_map(|dependency| dependency["name"].as_str())
            .map(str::to_owned)
            .collect();
        crates.insert(package["name"].as_str().unwrap_or_default().to_owned(), names);
    }
    crates
}

fn check_arrows(crates: &BTreeMap<String, Vec<String>>, problems: &mut Vec<String>) {
    let row = |name: &str| ROWS.iter().position(|(_, names)| names.contains(&name));
    for (name, dependencies) in crates {
        let Some(own) = row(name) else { continue };
        for dependency in dependencies {
            if let Some(other) = row(dependency)
                && other <= own
            {
                problems.push(format!(
                    "`{name}` ({}) must not use `{dependency}` ({})",
                    ROWS[own].0, ROWS[other].0
                ));
            }
            if PURE.contains(&name.as_str()) && IMPURE_DEPENDENCIES.contains(&dependency.as_str()) {
                problems.push(format!("`{name}` is pure and must not use `{dependency}`"));
            }
            let allowed = ONLY_USED_BY.iter().find(|(adapter, _)| adapter == dependency);
            if allowed.is_some_and(|(_, users)| !users.contains(&name.as_str())) {
                problems.push(format!("`{dependency}` is not for `{name}`"));
            }
        }
    }
}

fn check_sources(problems: &mut Vec<String>) -> Result<()> {
    let mut files = Vec::new();
    collect(&root().join("crates"), &mut files)?;
    collect(&root().join("xtask/src"), &mut files)?;
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let shown = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        let is_source =
            shown.contains("/src/") && !shown.ends_with("/tests.rs") && !shown.contains("/tests/");
        if is_source && !text.starts_with("//!") {
            problems.push(format!("{shown}: no `//!` header that says what the file is for"));
        }
        if file.file_name().is_some_and(|name| name == "mod.rs") {
            problems.push(format!(
                "{shown}: modules are `foo.rs` beside `foo/`, not `mod.rs`"
            ));
        }
        check_purity(&shown, &text, problems);
        if has_documentation_test(&text) {
            problems.push(format!(
                "{shown}: code in documentation is not run by the tests; mark the block as `text`"
            ));
        }
    }
    Ok(())
}

/// Whether a block of code in the documentation would be compiled as a test.
fn has_documentation_test(text: &str) -> bool {
    let documentation = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    });
    let fences = documentation.filter_map(|line| line.trim().strip_prefix("```"));
    // Every other fence closes a block.
    fences
        .step_by(2)
        .any(|language| matches!(language, "" | "rust" | "no_run" | "should_panic"))
}

/// Features of dependencies belong into the root manifest: with others, a part of the tests would be built of other crates
/// than the program.
fn check_features(problems: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(root().join("crates"))? {
        let path = entry?.path().join("Cargo.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        for line in text.lines().filter(|line| asks_for_features(line)) {
            problems.push(format!(
                "{}: `{line}`: features belong into the root manifest",
                path.display()
            ));
        }
    }
    Ok(())
}

fn asks_for_features(line: &str) -> bool {
    line.contains("workspace = true") && (line.contains("features =") || line.contains("features="))
}

fn check_purity(shown: &str, text: &str, problems: &mut Vec<String>) {
    let pure = PURE
        .iter()
        .any(|name| shown.starts_with(&format!("crates/{name}/src/")));
    if !pure || shown.ends_with("/tests.rs") {
        return;
    }
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    for word in IMPURE_WORDS.iter().filter(|word| code.contains(**word)) {
        problems.push(format!("{shown}: pure crates do not use `{word}`"));
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_documentation_is_found_and_text_is_not() {
        assert!(has_documentation_test(
            "/// ```\n/// let a = 1;\n/// ```\nfn a() {}"
        ));
        assert!(has_documentation_test(
            "//! ```text\n//! a\n//! ```\n//! ```rust\n//! ```\n"
        ));
        assert!(!has_documentation_test("/// ```text\n/// a\n/// ```\n// ```\n"));
    }

    #[test]
    fn features_in_the_manifest_of_a_crate_are_found() {
        assert!(asks_for_features(
            r#"tokio = { workspace = true, features = ["time"] }"#
        ));
        assert!(!asks_for_features(
            "tikv-jemallocator = { workspace = true, optional = true }"
        ));
        assert!(!asks_for_features("tokio.workspace = true"));
    }
}
