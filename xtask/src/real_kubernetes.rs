//! Upstream Kubernetes, built from the Go module registry at pinned versions into a cache, to run
//! beside ours: the conformance suite, the end-to-end suite and the benchmarks need it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;

use crate::run;

pub(crate) const VERSION: &str = "v1.34.4";
/// The published version of the modules that live inside the main repository.
const STAGING_VERSION: &str = "v0.34.4";

/// What can be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Component {
    KubeApiserver,
    Etcd,
    Kubectl,
    KubeControllerManager,
    KubeScheduler,
    E2eTest,
    Ginkgo,
    Kwok,
    Agnhost,
    MpiOperator,
    TrainingOperator,
    Kustomize,
}

impl Component {
    const ALL: [Self; 12] = [
        Self::KubeApiserver,
        Self::Etcd,
        Self::Kubectl,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::E2eTest,
        Self::Ginkgo,
        Self::Kwok,
        Self::Agnhost,
        Self::MpiOperator,
        Self::TrainingOperator,
        Self::Kustomize,
    ];

    fn binary(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::Etcd => "etcd",
            Self::Kubectl => "kubectl",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::E2eTest => "e2e.test",
            Self::Ginkgo => "ginkgo",
            Self::Kwok => "kwok",
            Self::Agnhost => "agnhost",
            Self::MpiOperator => "mpi-operator",
            Self::TrainingOperator => "training-operator",
            Self::Kustomize => "kustomize",
        }
    }

    /// Where the source is: the module that is required, its version, and the package to build.
    fn source(self) -> Source {
        let kubernetes = |package| Source {
            module: "k8s.io/kubernetes",
            version: VERSION,
            package,
        };
        match self {
            Self::KubeApiserver => kubernetes("k8s.io/kubernetes/cmd/kube-apiserver"),
            Self::Kubectl => kubernetes("k8s.io/kubernetes/cmd/kubectl"),
            Self::KubeControllerManager => kubernetes("k8s.io/kubernetes/cmd/kube-controller-manager"),
            Self::KubeScheduler => kubernetes("k8s.io/kubernetes/cmd/kube-scheduler"),
            Self::E2eTest => kubernetes("k8s.io/kubernetes/test/e2e"),
            Self::Agnhost => kubernetes("k8s.io/kubernetes/test/images/agnhost"),
            // The suite insists on the ginkgo it was built with, so this one comes from its module graph.
            Self::Ginkgo => kubernetes("github.com/onsi/ginkgo/v2/ginkgo"),
            Self::Etcd => Source {
                module: "go.etcd.io/etcd/server/v3",
                version: "v3.6.7",
                package: "go.etcd.io/etcd/server/v3",
            },
            Self::Kwok => Source {
                module: "sigs.k8s.io/kwok",
                version: "v0.8.0",
                package: "sigs.k8s.io/kwok/cmd/kwok",
            },
            Self::MpiOperator => Source {
                module: "github.com/kubeflow/mpi-operator",
                version: "v0.8.2",
                package: "./cmd/mpi-operator",
            },
            Self::TrainingOperator => Source {
                module: "github.com/kubeflow/training-operator",
                version: "v1.9.4",
                package: "./cmd/training-operator.v1",
            },
            // Older than the one in kubectl: packages are built as this release does.
            Self::Kustomize => Source {
                module: "sigs.k8s.io/kustomize/kustomize/v5",
                version: "v5.5.0",
                package: "sigs.k8s.io/kustomize/kustomize/v5",
            },
        }
    }
}

/// A program of a module. A package that is given by its folder is built in the module itself, with the
/// versions that its own file pins.
struct Source {
    module: &'static str,
    version: &'static str,
    package: &'static str,
}

pub(crate) fn run(components: &[Component]) -> Result<()> {
    let components = if components.is_empty() {
        &Component::ALL
    } else {
        components
    };
    for component in components {
        let path = ensure(*component)?;
        println!("{}", path.display());
    }
    Ok(())
}

/// The folder of the built programs.
pub(crate) fn bin_dir() -> Result<PathBuf> {
    Ok(run::cache()?.join("real-kubernetes").join(VERSION).join("bin"))
}

/// The path of a program, if it has been built.
pub(crate) fn find(component: Component) -> Result<Option<PathBuf>> {
    let path = bin_dir()?.join(component.binary());
    Ok(path.is_file().then_some(path))
}

/// The path of a program, built now unless it is in the cache.
pub(crate) fn ensure(component: Component) -> Result<PathBuf> {
    if let Some(path) = find(component)?
        && is_as_built_now(component, &path)
    {
        return Ok(path);
    }
    if !run::is_installed("go") {
        bail!("building {} needs Go, which is not installed", component.binary());
    }
    let source = component.source();
    let work = run::cache()?
        .join("real-kubernetes")
        .join("build")
        .join(source.module.replace('/', "_"));
    if source.package.starts_with("./") {
        copy_module(&source, &work)?;
    } else {
        fs::create_dir_all(&work).with_context(|| format!("cannot create `{}`", work.display()))?;
        write_module(&work, &source)?;
    }
    let target = bin_dir()?.join(component.binary());
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    // Built beside its place and moved there, so that an interrupted build leaves nothing behind.
    let building = target.with_extension("building");
    let mut command = Command::new("go");
    match component {
        Component::E2eTest => command.args(["test", "-c"]),
        _ => command.arg("build"),
    };
    command.arg("-trimpath");
    let flags = linker_flags(component);
    command.arg("-ldflags").arg(&flags);
    command.arg("-o").arg(&building).arg(source.package);
    command
        .current_dir(&work)
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=mod -buildvcs=false");
    eprintln!(
        "building {}; the first time this takes minutes",
        component.binary()
    );
    run::check(&mut command)?;
    fs::rename(&building, &target).context("cannot move the built program to its place")?;
    fs::write(flags_of(&target), flags)?;
    Ok(target)
}

/// What a release says of itself: some clients, Kueue among them, do not start before a server has a version.
fn linker_flags(component: Component) -> String {
    if component.source().module != "k8s.io/kubernetes" {
        return String::new();
    }
    let mut numbers = VERSION.trim_start_matches('v').split('.');
    let mut number = || numbers.next().unwrap_or_default();
    let (major, minor) = (number(), number());
    let set = [("gitVersion", VERSION), ("gitMajor", major), ("gitMinor", minor)];
    let flags = set.map(|(name, value)| format!("-X k8s.io/component-base/version.{name}={value}"));
    flags.join(" ")
}

/// Whether a program was built with the flags that it is built with now.
fn is_as_built_now(component: Component, program: &Path) -> bool {
    let built = fs::read_to_string(flags_of(program)).unwrap_or_default();
    built == linker_flags(component)
}

/// Where the flags of a program are kept.
fn flags_of(program: &Path) -> PathBuf {
    program.with_extension("flags")
}

/// The folder of a component's own source: manifests are found there.
pub(crate) fn source_dir(component: Component) -> Result<PathBuf> {
    let source = component.source();
    module_dir(source.module, source.version)
}

/// A copy of a module that can be built in; the registry's own cannot be written to.
fn copy_module(source: &Source, work: &Path) -> Result<()> {
    let original = module_dir(source.module, source.version)?;
    let _ = fs::remove_dir_all(work);
    if let Some(parent) = work.parent() {
        fs::create_dir_all(parent)?;
    }
    run::check(
        Command::new("cp")
            .args(["-r", "--no-preserve=mode"])
            .arg(original)
            .arg(work),
    )
}

/// The folder of a module's source, downloaded if it is not there.
pub(crate) fn module_dir(module: &str, version: &str) -> Result<PathBuf> {
    let answer = download(module, version)?;
    let Some(dir) = answer["Dir"].as_str() else {
        bail!("cannot download {module}@{version}: {}", answer["Error"]);
    };
    Ok(dir.into())
}

fn download(module: &str, version: &str) -> Result<serde_json::Value> {
    let output = Command::new("go")
        .args(["mod", "download", "-json", &format!("{module}@{version}")])
        .output()
        .context("cannot start go")?;
    serde_json::from_slice(&output.stdout).context("`go mod download` did not answer in JSON")
}

/// A module of our own that requires the one to build, with the replacements its own file has for
/// modules that are published apart.
fn write_module(work: &Path, source: &Source) -> Result<()> {
    let mut text = format!(
        "module real\n\ngo 1.24.0\n\nrequire {} {}\n",
        source.module, source.version
    );
    if source.module == "k8s.io/kubernetes" {
        text.push_str("\nreplace (\n");
        for module in staging_modules(source)? {
            text.push_str(&format!("\t{module} => {module} {STAGING_VERSION}\n"));
        }
        text.push_str(")\n");
    }
    let path = work.join("go.mod");
    // An existing file has been completed by Go; it is written anew only when the pins changed.
    if fs::read_to_string(&path)
        .is_ok_and(|old| old.contains(&format!("{} {}", source.module, source.version)))
    {
        return Ok(());
    }
    fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

/// The modules Kubernetes keeps in its own tree: each `=> ./staging/...` line of its go.mod.
fn staging_modules(source: &Source) -> Result<Vec<String>> {
    let answer = download(source.module, source.version)?;
    let Some(path) = answer["GoMod"].as_str() else {
        bail!(
            "cannot download {}@{}: {}",
            source.module,
            source.version,
            answer["Error"]
        );
    };
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{path}`"))?;
    let module = |line: &str| {
        let (name, target) = line.split_once("=>")?;
        target
            .trim()
            .starts_with("./staging/")
            .then(|| name.trim().trim_start_matches("replace ").to_owned())
    };
    Ok(text.lines().filter_map(module).collect())
}
