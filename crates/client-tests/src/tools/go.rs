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
    once(cache().join("clients/argo"), |program| {
        kept(program, "argo", ARGO, || {
            let go = on_path("go")?;
            let source = cache().join("clients/argo-source");
            copy_module(&go, ARGO, &source)?;
            let pages = source.join("ui/dist/app");
            fs::create_dir_all(&pages)
                .and_then(|()| fs::write(pages.join("index.html"), ""))
                .map_err(|error| format!("cannot write `{}`: {error}", pages.display()))?;
            let mut build = Command::new(go);
            build
                .args(["build", "-trimpath", "-buildvcs=false", "-mod=mod", "-o"])
                .args([program, Path::new("./cmd/argo")])
                .current_dir(&source)
                .env("CGO_ENABLED", "0")
                .env_remove("GOFLAGS");
            let made = make("argo", &mut build);
            // Nobody needs it again.
            let _ = fs::remove_dir_all(&source);
            made
        })
    })
}

/// The source of a module in a folder that can be written to.
fn copy_module(go: &Path, module: &str, folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot download {module}: {error}");
    let answer = Command::new(go)
        .args(["mod", "download", "-json", module])
        .output()
        .map_err(failed)?;
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap_or_default();
    let Some(original) = answer["Dir"].as_str() else {
        return Err(format!("cannot download {module}: {}", answer["Error"]));
    };
    let _ = fs::remove_dir_all(folder);
    let copied = Command::new("cp")
        .args(["-r", "--no-preserve=mode", original])
        .arg(folder)
        .status()
        .map_err(failed)?;
    if copied.success() {
        Ok(())
    } else {
        Err(format!("cannot copy `{original}`"))
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
