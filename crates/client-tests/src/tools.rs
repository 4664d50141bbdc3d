//! The clients tests drive, made from the public package registries and kept.
//!
//! A tool that cannot be had is a reason to skip a test, but not in the merge gate.

mod debian;
mod go;
mod python;

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    time::Instant,
};

pub use debian::{OpenMpi, openmpi, pytorch};
pub use go::{Kueue, Release, argo, client_go_program, helm, kubectl, kueue};
pub use python::{environment, packages, prefix, python, python3};

/// A program, or why there is none.
pub type Tool = Result<PathBuf, String>;

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
            let test = std::thread::current().name().unwrap_or("a test").to_owned();
            say(&format!("skipped: {test}: {reason}"));
            None
        }
    }
}

/// Where large things that are the same for every checkout are kept.
fn cache() -> PathBuf {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".cache");
    base.unwrap_or_else(home).join("trainyard")
}

/// A program of this machine.
pub fn on_path(name: &str) -> Tool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| format!("{name} is not installed"))
}

/// Runs a command that may take minutes, and says so.
fn make(what: &str, command: &mut Command) -> Result<(), String> {
    say(&format!("making {what}; the first time this takes a while"));
    let start = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !output.status.success() {
        let log = crate::text(&output.stdout) + &crate::text(&output.stderr);
        return Err(format!("cannot make {what}: {}", log.trim_end()));
    }
    say(&format!("made {what} in {} s", start.elapsed().as_secs()));
    Ok(())
}

/// A line for whoever watches the tests. Unlike `println!`, this is not kept for a failure.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Makes a program at most once in a process: a registry that does not answer is asked once only.
fn once(program: PathBuf, make: impl FnOnce(&Path) -> Result<(), String>) -> Tool {
    static DONE: Mutex<BTreeMap<PathBuf, Result<(), String>>> = Mutex::new(BTreeMap::new());
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    done.entry(program.clone())
        .or_insert_with(|| make(&program))
        .clone()
        .map(|()| program)
}

/// Makes a program in the cache unless it is there for these `pins`, and no other process is at it.
fn kept(
    program: &Path,
    name: &str,
    pins: &str,
    make: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let _lock = locked(name)?;
    // Written last: what was interrupted is made again.
    let made_for = cache().join("clients").join(format!("{name}.pins"));
    if program.is_file() && fs::read_to_string(&made_for).is_ok_and(|text| text == pins) {
        return Ok(());
    }
    make()?;
    fs::write(&made_for, pins).map_err(|error| format!("cannot write `{}`: {error}", made_for.display()))
}

/// A lock among the processes of this machine, held as long as the file is open.
fn locked(name: &str) -> Result<fs::File, String> {
    let folder = cache().join("clients");
    let failed = |error: std::io::Error| format!("cannot use `{}`: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(failed)?;
    let lock = fs::File::create(folder.join(format!("{name}.lock"))).map_err(failed)?;
    lock.lock().map_err(failed)?;
    Ok(lock)
}
