//! The other side: a Python with everything it needs, and the two programs that are run with it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::http::Client;
use crate::{
    processes::{Background, wait_until},
    servers::free_ports,
};

const SERVICE: &str = include_str!("service.py");
const RENDERS: &str = include_str!("renders.py");
const PACKAGES: [&str; 5] = [
    "flask==3.1.2",
    "jinja2==3.1.6",
    "pyyaml==6.0.3",
    "kubernetes==34.1.0",
    "waitress==3.0.2",
];

/// A Python with all of them.
pub(super) fn environment() -> Result<PathBuf> {
    crate::bench::environment::environment("bench-tasks-python", &PACKAGES)
}

/// Starts the service of Flask.
pub(super) fn serve(
    python: &Path,
    kubeconfig: &Path,
    template: &str,
    folder: &Path,
) -> Result<(Background, Client)> {
    let program = folder.join("service.py");
    fs::write(&program, SERVICE)?;
    fs::write(folder.join("template.yaml.j2"), template)?;
    let [port] = free_ports()?;
    let mut command = Command::new(python);
    command
        .arg(&program)
        .arg(port.to_string())
        .arg(folder.join("template.yaml.j2"))
        .env("KUBECONFIG", kubeconfig);
    let mut process = Background::start("flask", &mut command, folder)?;
    wait_until("the service of Flask", Duration::from_mins(1), || {
        process.check_alive()?;
        Ok(Client::new(port, "").get("/readyz").is_ok())
    })?;
    Ok((process, Client::new(port, "")))
}

/// Renders a second, text and YAML.
pub(super) fn renders(
    python: &Path,
    template: &str,
    values: &Value,
    count: usize,
    folder: &Path,
) -> Result<f64> {
    let program = folder.join("renders.py");
    fs::write(&program, RENDERS)?;
    fs::write(folder.join("template.yaml.j2"), template)?;
    fs::write(folder.join("values.json"), values.to_string())?;
    let output = Command::new(python)
        .arg(&program)
        .arg(folder.join("template.yaml.j2"))
        .arg(folder.join("values.json"))
        .arg(count.to_string())
        .output()?;
    ensure!(
        output.status.success(),
        "rendering failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().context("renders.py prints a number")
}
