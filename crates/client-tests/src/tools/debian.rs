//! Programs of Debian's packages, which are installed with the system's own or not at all.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{kept, make, on_path, once};
use crate::server::is_root;

const PYTORCH: &str = "/usr/bin/torchrun";

/// What starts MPI programs, and what compiles them.
#[derive(Clone, Debug)]
pub struct OpenMpi {
    pub mpirun: PathBuf,
    pub mpicc: PathBuf,
}

/// OpenMPI as it is on this machine.
pub fn openmpi() -> Result<OpenMpi, String> {
    installed(&["mpirun", "mpicc"], &["openmpi-bin", "libopenmpi-dev"])?;
    Ok(OpenMpi {
        mpirun: on_path("mpirun")?,
        mpicc: on_path("mpicc")?,
    })
}

/// PyTorch for Debian's own Python: the one that is made for processors alone. Gives its `torchrun`.
pub fn pytorch() -> Result<PathBuf, String> {
    installed(&[PYTORCH], &["python3-torch"])?;
    Ok(PYTORCH.into())
}

/// Sees to it that programs are there; root, who may, installs what has them.
fn installed(programs: &[&str], packages: &[&str]) -> Result<(), String> {
    let name = packages.join("-");
    let first = programs.first().copied().unwrap_or_default();
    once(Path::new("/usr/bin").join(first), |program| {
        if programs.iter().all(|program| on_path(program).is_ok()) {
            return Ok(());
        }
        let wanted = packages.join(", ");
        if !is_root() {
            return Err(format!("{first} is not installed ({wanted})"));
        }
        kept(program, &name, &wanted, || install(packages, &wanted))
    })?;
    Ok(())
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
