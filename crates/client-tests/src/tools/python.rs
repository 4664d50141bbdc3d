//! Python packages: the official Kubernetes client in a virtual environment, and programs for pods in
//! folders.

use std::process::Command;

use super::{Tool, cache, kept, make, on_path, once};

/// The Python of this machine, which pods on the image `host` find too.
pub fn python3() -> Tool {
    on_path("python3")
}

/// A Python with these packages.
pub fn python(requirements: &[&str]) -> Tool {
    environment("python", requirements)
}

/// A Python of its own for these packages, which others would get in the way of; its programs are beside it.
pub fn environment(name: &str, requirements: &[&str]) -> Tool {
    let environment = cache().join("clients").join(name);
    let shown = requirements.join(", ");
    once(environment.join("bin/python"), |python| {
        kept(python, name, &shown, || {
            let mut create = Command::new(on_path("python3")?);
            create.args(["-m", "venv", "--clear"]).arg(&environment);
            make("a Python environment", &mut create)?;
            let mut install = Command::new(python);
            install.args(INSTALL).args(requirements);
            make(&shown, &mut install)
        })
    })
}

/// A folder with these packages, for `PYTHONPATH`: unlike an environment, it may be anywhere when it is
/// used.
pub fn packages(name: &str, requirements: &[&str]) -> Tool {
    let folder = cache().join("clients").join(name);
    let shown = requirements.join(", ");
    let marker = folder.join("complete");
    once(marker.clone(), |marker| {
        kept(marker, name, &shown, || {
            let mut install = Command::new(on_path("python3")?);
            install
                .args(INSTALL)
                .args(["--upgrade", "--target"])
                .arg(&folder)
                .args(requirements);
            make(&shown, &mut install)?;
            std::fs::write(marker, "").map_err(|error| error.to_string())
        })
    })?;
    Ok(folder)
}

/// A folder with everything these packages have, programs and libraries too, as below `/usr`. It may be
/// anywhere when it is used.
pub fn prefix(name: &str, requirements: &[&str]) -> Tool {
    let folder = cache().join("clients").join(name);
    let shown = requirements.join(", ");
    once(folder.join("complete"), |marker| {
        kept(marker, name, &shown, || {
            let mut install = Command::new(on_path("python3")?);
            install
                .args(INSTALL)
                .args(["--ignore-installed", "--prefix"])
                .arg(&folder)
                .args(requirements);
            make(&shown, &mut install)?;
            std::fs::write(marker, "").map_err(|error| error.to_string())
        })
    })?;
    Ok(folder)
}

const INSTALL: [&str; 5] = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
