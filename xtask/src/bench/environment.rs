//! Pythons with packages, for the other side of a comparison.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

/// A virtual environment with these packages, made once.
pub(super) fn environment(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = cache()?.join(name);
    let (python, complete) = (folder.join("bin/python"), folder.join("complete"));
    if fs::read_to_string(&complete).is_ok_and(|known| known == packages.join("\n")) {
        return Ok(python);
    }
    eprintln!("installing {}", packages.join(", "));
    let mut create = Command::new("python3");
    create.args(["-m", "venv", "--clear"]).arg(&folder);
    ensure!(
        create.status()?.success(),
        "python3 cannot make a virtual environment"
    );
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    ensure!(
        install.args(packages).status()?.success(),
        "the packages cannot be installed"
    );
    fs::write(&complete, packages.join("\n"))?;
    Ok(python)
}

/// The environment that tests have made of the same packages, where they have: some are gigabytes.
pub(super) fn of_tests(name: &str, packages: &[&str]) -> Option<PathBuf> {
    let clients = cache().ok()?.join("clients");
    let pins = fs::read_to_string(clients.join(format!("{name}.pins"))).ok()?;
    let python = clients.join(name).join("bin/python");
    (pins == packages.join(", ") && python.is_file()).then_some(python)
}

fn cache() -> Result<PathBuf> {
    let home = std::env::var_os("HOME").context("HOME is not set")?;
    Ok(Path::new(&home).join(".cache/trainyard"))
}
