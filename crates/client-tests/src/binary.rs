//! The program under test.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use serde_json::Value;

/// The path of `trainyard`: `TRAINYARD_BIN`, or this workspace's own, built once.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("TRAINYARD_BIN") {
        Some(path) => std::path::absolute(path).expect("TRAINYARD_BIN is a path"),
        None => build(),
    })
}

/// Cargo in this workspace, without what the cargo that runs the tests says about them: build scripts look at such
/// variables, and everything above them would be built again.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    for (name, _) in std::env::vars_os() {
        let about_tests = ["CARGO_PKG_", "CARGO_MANIFEST_"];
        if name
            .to_str()
            .is_some_and(|name| about_tests.iter().any(|start| name.starts_with(start)))
        {
            cargo.env_remove(&name);
        }
    }
    cargo
}

fn build() -> PathBuf {
    let output = cargo()
        .args([
            "build",
            "--quiet",
            // The whole workspace, so that dependencies are those of `cargo test --workspace`.
            "--workspace",
            "--no-default-features",
            "--bin",
            "trainyard",
            "--message-format",
            "json-render-diagnostics",
        ])
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "trainyard does not build");
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = messages.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        (message["target"]["name"] == "trainyard").then_some(())?;
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    executable.expect("cargo names the program it built")
}
