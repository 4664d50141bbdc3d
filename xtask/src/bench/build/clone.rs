//! A clone of the repository whose programs find nothing cached.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::units;
use crate::run;

pub(super) struct Clone {
    source: PathBuf,
    /// The home folder, empty at first: cargo, Go, pip and the tests keep everything in it.
    home: PathBuf,
    rustup: PathBuf,
    units: PathBuf,
}

impl Clone {
    pub(super) fn make(folder: &Path, name: &str, commit: &str) -> Result<Self> {
        let [source, home] = ["source", "home"].map(|part| folder.join(name).join(part));
        fs::create_dir_all(home.join(".cargo"))
            .with_context(|| format!("cannot make `{}`", home.display()))?;
        run::check(
            Command::new("git")
                .args(["clone", "--quiet", "--no-checkout"])
                .args([&run::root(), &source]),
        )?;
        run::check(
            Command::new("git")
                .arg("-C")
                .arg(&source)
                .args(["checkout", "--quiet", "--detach", commit]),
        )?;
        let own_home = PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?);
        let of = |variable: &str, folder: &str| {
            std::env::var_os(variable).map_or_else(|| own_home.join(folder), PathBuf::from)
        };
        // Where crates come from stays; what was downloaded does not.
        for name in ["config.toml", "config", "credentials.toml"] {
            let settings = of("CARGO_HOME", ".cargo").join(name);
            if settings.is_file() {
                fs::copy(&settings, home.join(".cargo").join(name))?;
            }
        }
        Ok(Self {
            source,
            home,
            rustup: of("RUSTUP_HOME", ".rustup"),
            units: folder.join(units::FILE),
        })
    }

    /// A command in the clone, whose compilers are recorded.
    pub(super) fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.source)
            .env("HOME", &self.home)
            .env("RUSTUP_HOME", &self.rustup)
            .env("CARGO_TARGET_DIR", self.source.join("target"))
            .env(units::LOG, &self.units);
        let ours = [
            "CARGO_PKG_",
            "CARGO_MANIFEST_",
            "GO",
            "XDG_",
            "PIP_CACHE_DIR",
            "CARGO_HOME",
            "CARGO_INCREMENTAL",
        ];
        for (name, _) in std::env::vars_os() {
            let is_ours = name
                .to_str()
                .is_some_and(|name| ours.iter().any(|start| name.starts_with(start)) && !is_registry(name));
            if is_ours {
                command.env_remove(&name);
            }
        }
        if let Ok(this) = std::env::current_exe() {
            command.env("RUSTC_WRAPPER", this);
        }
        command
    }

    /// Adds a line of code to a crate.
    pub(super) fn change(&self, name: &str) -> Result<()> {
        let path = self.source.join("crates").join(name).join("src/lib.rs");
        let mut file = fs::OpenOptions::new().append(true).open(&path)?;
        writeln!(file, "const _: &str = \"changed\";")
            .with_context(|| format!("cannot change `{}`", path.display()))
    }
}

/// Where packages come from is part of the machine, not of a cache.
fn is_registry(variable: &str) -> bool {
    matches!(
        variable,
        "GOPROXY" | "GOSUMDB" | "GONOSUMDB" | "GOFLAGS" | "GOTOOLCHAIN" | "GOROOT" | "GOINSECURE"
    )
}
