//! Random packages, built by us and by `kubectl kustomize`: the same verdict and the same bytes. Without
//! kubectl nothing is checked. `TRAINYARD_DIFFERENTIAL` says how many packages, `TRAINYARD_SEED` where the
//! seeds begin.

#[path = "support/disk.rs"]
mod disk;
#[path = "support/generator.rs"]
mod generator;

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use disk::Disk;
use packages::{Options, build};

const PACKAGES: u64 = 200;
/// Kubectl waits for files and its own start more than it computes.
const THREADS: usize = 2;

#[test]
fn random_packages_build_as_in_the_reference() {
    if !has_reference() {
        println!("skipped: there is no kubectl with kustomize v5.5.0 on the path");
        return;
    }
    let number = |name: &str, default| {
        let value = std::env::var_os(name).and_then(|value| value.to_string_lossy().parse().ok());
        value.unwrap_or(default)
    };
    let first = number("TRAINYARD_SEED", 0);
    let end = first + number("TRAINYARD_DIFFERENTIAL", PACKAGES);
    let next = AtomicU64::new(first);
    let (built, failures) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    match check(seed) {
                        Ok(is_built) => {
                            built.fetch_add(is_built.into(), Ordering::Relaxed);
                        }
                        Err(failure) => {
                            let mut failures = failures.lock().expect("no thread panics with the lock");
                            failures.push(format!("== seed {seed}: {failure}"));
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no thread panicked with the lock");
    println!(
        "{} packages, of which {} build; {} differ",
        end - first,
        built.into_inner(),
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn has_reference() -> bool {
    let version = Command::new("kubectl").args(["version", "--client"]).output();
    version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("v5.5.0"))
}

/// Whether the package builds, when both agree on it.
fn check(seed: u64) -> Result<bool, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    for (path, text) in generator::package(seed) {
        let path = folder.path().join(path);
        let parent = path.parent().expect("files are in folders");
        fs::create_dir_all(parent).map_err(|error| error.to_string())?;
        fs::write(&path, text).map_err(|error| error.to_string())?;
    }
    let top = folder.path().join("top");
    let expected = reference(&top)?;
    let ours = build(&Disk, &top, &Options::default());
    match (expected.status.success(), ours) {
        (false, Err(_)) => Ok(false),
        (true, Ok(built)) if built.to_yaml().as_bytes() == expected.stdout => Ok(true),
        (true, Ok(built)) => Err(first_difference(&expected.stdout, &built.to_yaml())),
        (true, Err(error)) => Err(format!("we refuse it: {error}")),
        (false, Ok(_)) => Err(format!(
            "we build it, but: {}",
            String::from_utf8_lossy(&expected.stderr)
        )),
    }
}

fn reference(folder: &Path) -> Result<Output, String> {
    let output = Command::new("kubectl").arg("kustomize").arg(folder).output();
    output.map_err(|error| error.to_string())
}

fn first_difference(expected: &[u8], actual: &str) -> String {
    let expected = String::from_utf8_lossy(expected);
    let lines = expected.lines().zip(actual.lines()).enumerate();
    let different = lines.into_iter().find(|(_, (left, right))| left != right);
    match different {
        Some((line, (left, right))) => format!("line {}: `{left}`, but ours `{right}`", line + 1),
        None => "one is longer".to_owned(),
    }
}
