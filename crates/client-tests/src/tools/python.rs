//! The official Python client, in a virtual environment of its own.

use std::process::Command;

use super::{Tool, cache, kept, make, on_path, once};

/// A Python with these packages.
pub fn python(requirements: &[&str]) -> Tool {
    let environment = cache().join("clients/python");
    let shown = requirements.join(", ");
    once(environment.join("bin/python"), |python| {
        kept("python", &shown, || {
            let mut create = Command::new(on_path("python3")?);
            create.args(["-m", "venv", "--clear"]).arg(&environment);
            make("a Python environment", &mut create)?;
            let mut install = Command::new(python);
            install
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(requirements);
            make(&shown, &mut install)
        })
    })
}
