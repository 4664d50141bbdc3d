//! Debian's OpenMPI, which is installed with the system's own packages or not at all.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{kept, make, on_path, once};
use crate::server::is_root;

const PACKAGES: [&str; 2] = ["openmpi-bin", "libopenmpi-dev"];

/// What starts MPI programs, and what compiles them.
#[derive(Clone, Debug)]
pub struct OpenMpi {
    pub mpirun: PathBuf,
    pub mpicc: PathBuf,
}

/// OpenMPI as it is on this machine; root, who may, installs it where it is missing.
pub fn openmpi() -> Result<OpenMpi, String> {
    once(PathBuf::from("/usr/bin/mpirun"), install)?;
    Ok(OpenMpi {
        mpirun: on_path("mpirun")?,
        mpicc: on_path("mpicc")?,
    })
}

fn install(program: &Path) -> Result<(), String> {
    let is_there = || on_path("mpirun").is_ok() && on_path("mpicc").is_ok();
    if is_there() {
        return Ok(());
    }
    let wanted = PACKAGES.join(", ");
    if !is_root() {
        return Err(format!("mpirun and mpicc are not installed ({wanted})"));
    }
    kept(program, "openmpi", &wanted, || {
        let apt_get = on_path("apt-get")?;
        make(
            "the list of Debian's packages",
            Command::new(&apt_get).arg("update"),
        )?;
        let mut install = Command::new(&apt_get);
        install
            .args(["install", "--yes", "--no-install-recommends"])
            .args(PACKAGES)
            .env("DEBIAN_FRONTEND", "noninteractive");
        make(&wanted, &mut install)
    })
}
