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

fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            // The whole workspace, so that dependencies are those of `cargo test --workspace`.
            "--workspace",
            "--bins",
            "--message-format",
            "json-render-diagnostics",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
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
