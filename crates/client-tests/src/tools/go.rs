//! Clients in Go: kubectl, helm, and a client-go program of our own, built from the modules that
//! the files beside the program pin.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Tool, cache, kept, make, on_path, once};

/// Which Kubernetes a client is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The one the server is compatible with.
    Ours,
    /// The newest, which is what people install.
    Newest,
}

impl Release {
    pub const ALL: [Self; 2] = [Self::Ours, Self::Newest];

    /// The module file, without its ending.
    fn modules(self) -> &'static str {
        match self {
            Self::Ours => "go",
            Self::Newest => "go-0.37",
        }
    }
}

pub fn kubectl(release: Release) -> Tool {
    build(release, "kubectl", "./kubectl")
}

pub fn helm() -> Tool {
    build(Release::Newest, "helm", "helm.sh/helm/v4/cmd/helm")
}

/// The program changes with this repository, so it is kept in `folder`, and Go itself decides
/// whether to build it again.
pub fn client_go_program(release: Release, folder: &Path) -> Tool {
    let name = format!("{}-program", release.modules());
    once(folder.join(&name), |program| {
        make(&name, &mut go_build(release, program, ".")?)
    })
}

/// A program of upstream's, built once for what the module file pins.
fn build(release: Release, name: &str, package: &str) -> Tool {
    let name = format!("{}-{name}", release.modules());
    once(cache().join("clients").join(&name), |program| {
        let modules = source().join(format!("{}.mod", release.modules()));
        let pins = fs::read_to_string(&modules).map_err(|error| error.to_string())?;
        kept(&name, &pins, || {
            make(&name, &mut go_build(release, program, package)?)
        })
    })
}

/// One set of flags for all: what two programs have in common is compiled once.
fn go_build(release: Release, program: &Path, package: &str) -> Result<Command, String> {
    let mut command = Command::new(on_path("go")?);
    command
        .args(["build", "-trimpath", "-buildvcs=false", "-modfile"])
        .arg(format!("{}.mod", release.modules()))
        .arg("-o")
        .args([program, Path::new(package)])
        .current_dir(source())
        .env("CGO_ENABLED", "0")
        .env_remove("GOFLAGS");
    Ok(command)
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("go")
}
