//! Programs of Debian's packages, which are installed with the system's own or not at all.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{cache, locked, make, on_path, once};
use crate::server::is_root;

/// What starts MPI programs, and what compiles them.
#[derive(Clone, Debug)]
pub struct OpenMpi {
    pub mpirun: PathBuf,
    pub mpicc: PathBuf,
}

/// OpenMPI as it is on this machine, with a compiler that compiles: `openmpi-bin` alone has an `mpicc` and no headers.
pub fn openmpi() -> Result<OpenMpi, String> {
    installed(&["openmpi-bin", "libopenmpi-dev", "gcc", "libc6-dev"], || {
        let found = OpenMpi {
            mpirun: on_path("mpirun")?,
            mpicc: on_path("mpicc")?,
        };
        compiles(&found.mpicc)?;
        Ok(found)
    })
}

/// PyTorch for Debian's own Python: the one that is made for processors alone. Gives its `torchrun`.
pub fn pytorch() -> Result<PathBuf, String> {
    installed(&["python3-torch"], || on_path("/usr/bin/torchrun"))
}

/// Compiles a program that uses MPI.
fn compiles(mpicc: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("mpicc cannot be tried: {error}");
    let folder = tempfile::tempdir().map_err(failed)?;
    let source = folder.path().join("trial.c");
    let program = "#include <mpi.h>\nint main(int c, char **v) { return MPI_Init(&c, &v); }\n";
    fs::write(&source, program).map_err(failed)?;
    let output = Command::new(mpicc)
        .arg("-o")
        .args([&folder.path().join("trial"), &source])
        .output()
        .map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let log = crate::text(&output.stderr);
    let reason = log
        .lines()
        .find(|line| line.contains("error"))
        .unwrap_or("it fails");
    Err(format!("mpicc cannot compile: {reason}"))
}

/// What `find` finds. Where it finds nothing, root, who may, installs the packages first.
fn installed<T>(packages: &[&str], find: impl Fn() -> Result<T, String>) -> Result<T, String> {
    let reason = match find() {
        Ok(found) => return Ok(found),
        Err(reason) => reason,
    };
    let wanted = packages.join(", ");
    let missing = format!("{reason} (Debian: {wanted})");
    if !is_root() {
        return Err(missing);
    }
    let name = packages.join("-");
    once(cache().join("clients").join(&name), |_| {
        let _one_at_a_time = locked(&name)?;
        // Another test program may have installed them meanwhile.
        if find().is_ok() {
            return Ok(());
        }
        install(packages, &wanted).map_err(|error| format!("{missing}: {error}"))
    })?;
    find()
}

fn install(packages: &[&str], shown: &str) -> Result<(), String> {
    let apt_get = on_path("apt-get")?;
    make(
        "the list of Debian's packages",
        Command::new(&apt_get).arg("update"),
    )?;
    let mut install = Command::new(&apt_get);
    install
        .args(["install", "--yes", "--no-install-recommends"])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive");
    make(shown, &mut install)
}
