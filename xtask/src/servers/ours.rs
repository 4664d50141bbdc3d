//! `trainyard up` in a folder of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::{Server, free_ports};
use crate::{processes::Background, run};

/// How the binary is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Debug,
    Release,
}

pub(crate) struct Ours {
    binary: PathBuf,
    work: PathBuf,
    port: u16,
    extent: Extent,
}

/// How much of it runs.
#[derive(Clone, Copy)]
enum Extent {
    Api,
    Cluster { simulated_nodes: usize },
}

/// Builds ours and what else is wanted of the workspace, and says in which folder the binaries are.
/// Cargo chooses the features of dependencies for what is built together: for tests that is all, once; what is
/// measured is the program as `cargo build --release` makes it, so the others are built apart from it.
pub(crate) fn build(profile: Profile, others: &[&str]) -> Result<PathBuf> {
    let packages = [&["trainyard"], others].concat();
    match profile {
        Profile::Debug => cargo_build(&["--no-default-features"], &packages)?,
        Profile::Release => {
            for package in packages {
                cargo_build(&["--release"], &[package])?;
            }
        }
    }
    Ok(run::target_dir().join(profile.folder()))
}

fn cargo_build(flags: &[&str], packages: &[&str]) -> Result<()> {
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    run::check(run::cargo().args(["build", "--quiet"]).args(flags).args(packages))
}

impl Profile {
    fn folder(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Release => "release",
        }
    }
}

impl Ours {
    /// The API server alone.
    pub(crate) fn prepare(binaries: &Path, work: &Path) -> Result<Self> {
        Self::with(Extent::Api, binaries, work)
    }

    /// Everything, with so many simulated nodes beside this machine.
    pub(crate) fn cluster(binaries: &Path, work: &Path, simulated_nodes: usize) -> Result<Self> {
        Self::with(Extent::Cluster { simulated_nodes }, binaries, work)
    }

    fn with(extent: Extent, binaries: &Path, work: &Path) -> Result<Self> {
        let [port] = free_ports()?;
        Ok(Self {
            binary: binaries.join("trainyard"),
            work: work.to_owned(),
            port,
            extent,
        })
    }

    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// Where its kubeconfig is once it is ready.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.data().join("kubeconfig")
    }

    pub(super) fn data(&self) -> PathBuf {
        self.work.join("data")
    }
}

impl Server for Ours {
    fn name(&self) -> &'static str {
        "ours"
    }

    fn start(&self) -> Result<Vec<Background>> {
        let mut command = Command::new(&self.binary);
        command
            .arg("up")
            .arg(format!("--listen=127.0.0.1:{}", self.port))
            .arg("--data-dir")
            .arg(self.data());
        match self.extent {
            Extent::Api => command.arg("--api-only"),
            Extent::Cluster { simulated_nodes } => {
                command.arg(format!("--simulated-nodes={simulated_nodes}"))
            }
        };
        Ok(vec![Background::start("trainyard", &mut command, &self.work)?])
    }

    fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    fn authority(&self) -> PathBuf {
        self.data().join("pki/ca.crt")
    }

    fn token(&self) -> Result<String> {
        let path = self.data().join("pki/admin.token");
        let token = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok(token.trim().to_owned())
    }
}
