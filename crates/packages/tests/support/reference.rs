//! Kustomize v5.5.0, which says what a package is: the program that `cargo xtask real-kubernetes kustomize` builds,
//! or a kubectl of that release on the path, which takes three times as long to start.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

pub(crate) struct Reference {
    program: PathBuf,
    subcommand: &'static str,
}

impl Reference {
    /// None where there is none, said once; where the merge gate runs that is a failure.
    pub(crate) fn find() -> Option<Self> {
        let found = Self::built().or_else(Self::of_kubectl);
        if found.is_none() {
            let reason = "kustomize v5.5.0 is neither built (`cargo xtask real-kubernetes kustomize`) nor in a kubectl on the path";
            assert!(!is_ci(), "{reason}");
            println!("skipped: {reason}");
        }
        found
    }

    fn built() -> Option<Self> {
        let cache = match std::env::var_os("XDG_CACHE_HOME") {
            Some(cache) => PathBuf::from(cache),
            None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
        };
        let program = cache.join("trainyard/real-kubernetes/v1.34.4/bin/kustomize");
        program.is_file().then_some(Self {
            program,
            subcommand: "build",
        })
    }

    fn of_kubectl() -> Option<Self> {
        let version = Command::new("kubectl").args(["version", "--client"]).output();
        let is_it = version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("v5.5.0"));
        is_it.then(|| Self {
            program: "kubectl".into(),
            subcommand: "kustomize",
        })
    }

    pub(crate) fn build(&self, folder: &Path) -> io::Result<Output> {
        Command::new(&self.program)
            .arg(self.subcommand)
            .arg(folder)
            // It lives for some milliseconds, and another one runs beside it.
            .envs([("GOGC", "off"), ("GOMAXPROCS", "1")])
            .output()
    }
}

fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

/// How many seeds to try where nothing else is said: 2,100 packages in all at the merge gate, and as many as nobody minds
/// waiting for elsewhere.
const SEEDS_AT_GATE: u64 = 700;
const SEEDS: u64 = 300;

/// What a seed led to: whether it is a package that builds, or how the two differ.
pub(crate) type Verdict = Result<bool, String>;

/// How many packages were compared, and how many of them both build.
pub(crate) struct Tried {
    pub(crate) packages: u64,
    pub(crate) built: u64,
}

/// Tries seeds on every core, from `TRAINYARD_SEED`, as many as `TRAINYARD_DIFFERENTIAL` says; none where there is
/// no reference.
pub(crate) fn compare(check: impl Fn(&Reference, u64) -> Verdict + Sync) -> Option<Tried> {
    let reference = Reference::find()?;
    let number = |name: &str, default| {
        let value = std::env::var_os(name).and_then(|value| value.to_string_lossy().parse().ok());
        value.unwrap_or(default)
    };
    let first = number("TRAINYARD_SEED", 0);
    let seeds = number(
        "TRAINYARD_DIFFERENTIAL",
        if is_ci() { SEEDS_AT_GATE } else { SEEDS },
    );
    let next = AtomicU64::new(first);
    let (built, failures) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds {
                return;
            }
            match check(&reference, seed) {
                Ok(is_built) => {
                    built.fetch_add(is_built.into(), Ordering::Relaxed);
                }
                Err(failure) => {
                    let mut failures = failures.lock().expect("no thread panics with the lock");
                    failures.push(format!("== seed {seed}: {failure}"));
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().expect("no thread panicked with the lock");
    let built = built.into_inner();
    println!(
        "{seeds} packages, of which {built} build; {} differ",
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    Some(Tried {
        packages: seeds,
        built,
    })
}

/// Writes a package and looks at it there. One that differs is left behind, and it is said where.
pub(crate) fn in_folder<Text: AsRef<[u8]>>(
    package: &BTreeMap<String, Text>,
    check: impl FnOnce(&Path) -> Verdict,
) -> Verdict {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    for (path, text) in package {
        let path = folder.path().join(path);
        let parent = path.parent().expect("files are in folders");
        fs::create_dir_all(parent).map_err(|error| error.to_string())?;
        fs::write(&path, text).map_err(|error| error.to_string())?;
    }
    check(folder.path()).map_err(|failure| format!("{}: {failure}", folder.keep().display()))
}

/// What a program said, without the stack of a crash.
pub(crate) fn last_words(stderr: &[u8]) -> String {
    let words = String::from_utf8_lossy(stderr);
    words.lines().take(3).collect::<Vec<_>>().join(" / ")
}
