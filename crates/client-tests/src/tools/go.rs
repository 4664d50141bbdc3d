//! Clients in Go: kubectl, helm, and a client-go program of our own, built from the modules that
//! the files beside the program pin.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{Tool, cache, kept, make, on_path, once};

/// Where Argo's command line comes from.
const ARGO: &str = "github.com/argoproj/argo-workflows/v3@v3.7.15";
const KUEUE: &str = "sigs.k8s.io/kueue@v0.16.1";

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

/// Argo's command line. Its source has a place for web pages, which are not published with it and which it does not
/// compile without; so it is built in a copy that has an empty one.
pub fn argo() -> Tool {
    of_module("argo", ARGO, "./cmd/argo", |source| {
        let pages = source.join("ui/dist/app");
        fs::create_dir_all(&pages)
            .and_then(|()| fs::write(pages.join("index.html"), ""))
            .map_err(|error| format!("cannot write `{}`: {error}", pages.display()))
    })
}

/// Kueue's program, and the folder of what a cluster is given before it runs there.
#[derive(Clone, Debug)]
pub struct Kueue {
    pub program: PathBuf,
    pub config: PathBuf,
}

/// Kueue as it is released. Where it has no service of a cluster it is given certificates, which `openssl` makes.
pub fn kueue() -> Result<Kueue, String> {
    on_path("openssl")?;
    let program = of_module("kueue", KUEUE, "./cmd/kueue", |_| Ok(()))?;
    let config = module(&on_path("go")?, KUEUE)?.join("config/default");
    Ok(Kueue { program, config })
}

/// A program that is built with the versions its own module pins, in a copy of that module which may be made ready.
fn of_module(
    name: &str,
    module: &str,
    package: &str,
    prepare: impl FnOnce(&Path) -> Result<(), String>,
) -> Tool {
    once(cache().join("clients").join(name), |program| {
        kept(program, name, module, || {
            let go = on_path("go")?;
            let source = cache().join("clients").join(format!("{name}-source"));
            copy_module(&go, module, &source)?;
            prepare(&source)?;
            let mut build = Command::new(go);
            build
                .args(["build", "-trimpath", "-buildvcs=false", "-mod=mod", "-o"])
                .args([program, Path::new(package)])
                .current_dir(&source)
                .env("CGO_ENABLED", "0")
                .env_remove("GOFLAGS");
            let made = make(name, &mut build);
            // Nobody needs it again.
            let _ = fs::remove_dir_all(&source);
            made
        })
    })
}

/// The folder in which Go keeps the source of a module, where nothing can be written.
fn module(go: &Path, module: &str) -> Result<PathBuf, String> {
    let answer = Command::new(go)
        .args(["mod", "download", "-json", module])
        .output()
        .map_err(|error| format!("cannot download {module}: {error}"))?;
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap_or_default();
    match answer["Dir"].as_str() {
        Some(folder) => Ok(folder.into()),
        None => Err(format!("cannot download {module}: {}", answer["Error"])),
    }
}

/// The source of a module in a folder that can be written to.
fn copy_module(go: &Path, name: &str, folder: &Path) -> Result<(), String> {
    let original = module(go, name)?;
    let _ = fs::remove_dir_all(folder);
    let copied = Command::new("cp")
        .args(["-r", "--no-preserve=mode"])
        .args([&original, folder])
        .status();
    match copied {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("cannot copy `{}`", original.display())),
    }
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
        kept(program, &name, &pins, || {
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
