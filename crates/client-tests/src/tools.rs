//! The clients tests drive, found on this machine or made from the public package registries.
//!
//! A tool that cannot be had is a reason to skip a test, but not in the merge gate.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::{process::Output, run};

/// A program, or why there is none.
pub type Tool = Result<PathBuf, String>;

/// The version of Kubernetes the server is compatible with.
const KUBERNETES: &str = "v1.34.4";

/// What a test needs; without it the test ends here, or fails in the merge gate.
#[track_caller]
pub fn needed<T>(tool: Result<T, String>) -> Option<T> {
    match tool {
        Ok(tool) => Some(tool),
        Err(reason) => {
            assert!(
                std::env::var_os("CI").is_none_or(|value| value != "true"),
                "cannot run in CI: {reason}"
            );
            println!("skipped: {reason}");
            None
        }
    }
}

/// Where large things that are the same for every checkout are kept.
pub fn cache() -> PathBuf {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".cache");
    base.unwrap_or_else(home).join("trainyard")
}

/// The kubectl of the release the server is compatible with.
pub fn kubectl() -> Tool {
    static KUBECTL: OnceLock<Tool> = OnceLock::new();
    KUBECTL.get_or_init(|| real_kubernetes("kubectl")).clone()
}

/// Every kubectl to test with: the pinned one, and this machine's own if the sessions know its words.
pub fn clients() -> Result<Vec<PathBuf>, String> {
    let own = on_path("kubectl").filter(|kubectl| is_known(kubectl));
    Ok(own.into_iter().chain([kubectl()?]).collect())
}

/// Whether a kubectl says things as the releases do that the sessions were recorded with.
fn is_known(kubectl: &Path) -> bool {
    let version = run(Command::new(kubectl).args(["version", "--client"]), "").stdout;
    ["v1.32.", "v1.33.", "v1.34."]
        .iter()
        .any(|known| version.contains(known))
}

pub fn helm() -> Tool {
    static HELM: OnceLock<Tool> = OnceLock::new();
    HELM.get_or_init(|| real_kubernetes("helm")).clone()
}

pub fn go() -> Tool {
    on_path("go").ok_or_else(|| "Go is not installed".to_owned())
}

/// A Python with the packages of a requirements file, in a virtual environment made once.
pub fn python(requirements: &str) -> Tool {
    let folder = cache()
        .join("python")
        .join(requirements.trim().replace(['=', '\n'], "-"));
    let python = folder.join("bin/python");
    // The marker is written last: an interrupted installation is made again.
    let complete = folder.join("complete");
    if complete.is_file() {
        return Ok(python);
    }
    let _one_at_a_time = lock(&folder.with_extension("lock"))?;
    if complete.is_file() {
        return Ok(python);
    }
    let base = on_path("python3").ok_or("Python is not installed")?;
    succeeded(run(
        Command::new(base).args(["-m", "venv", "--clear"]).arg(&folder),
        "",
    ))?;
    let mut install = Command::new(&python);
    install
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(requirements.lines());
    succeeded(run(&mut install, ""))?;
    fs::write(&complete, requirements).map_err(|error| error.to_string())?;
    Ok(python)
}

/// A component of upstream Kubernetes: from the cache, or built now by the developer command.
pub(crate) fn real_kubernetes(name: &str) -> Tool {
    let path = cache()
        .join("real-kubernetes")
        .join(KUBERNETES)
        .join("bin")
        .join(name);
    if path.is_file() {
        return Ok(path);
    }
    go()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "run",
        "--quiet",
        "--package",
        "xtask",
        "--",
        "real-kubernetes",
        name,
    ]);
    succeeded(run(command.current_dir(env!("CARGO_MANIFEST_DIR")), ""))?;
    path.is_file()
        .then_some(path)
        .ok_or_else(|| format!("`cargo xtask real-kubernetes {name}` built nothing"))
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}

fn succeeded(output: Output) -> Result<(), String> {
    if output.code == 0 {
        Ok(())
    } else {
        Err(format!("{}{}", output.stdout, output.stderr))
    }
}

/// Test programs run side by side, and two of them may want the same tool.
fn lock(path: &Path) -> Result<fs::File, String> {
    let open = || {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        let file = fs::File::create(path)?;
        file.lock()?;
        Ok::<_, std::io::Error>(file)
    };
    open().map_err(|error| format!("cannot lock `{}`: {error}", path.display()))
}
