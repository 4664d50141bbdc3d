//! The fully static binary, which runs inside any image.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::run::{cargo, check, target_dir};

/// The binary is copied into images and onto nodes; it stays small.
const MAX_SIZE: u64 = 64_000_000;

/// Static, and the addresses that are filled in at the start in their short form, which is 3 MB less. The C library
/// must know that form (glibc 2.36): a program that is linked with one that does not cannot start.
const FLAGS: &str = "-C target-feature=+crt-static -C link-arg=-Wl,-z,pack-relative-relocs";

pub(crate) fn run() -> Result<()> {
    // The tests are development builds, with the allocator of the system; limits on memory depend on the allocator.
    check(cargo().args([
        "test",
        "--quiet",
        "--package",
        "render-worker",
        "--features",
        "jemalloc",
    ]))?;
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let folder = target_dir().join("dist");
    // Naming the target keeps the flag away from build scripts and proc macros, which must be dynamic.
    let mut build = cargo();
    build
        .args(["build", "--profile", "dist", "--package", "trainyard"])
        .args(["--target", &target, "--target-dir"])
        .arg(&folder)
        .env("RUSTFLAGS", FLAGS);
    check(&mut build)?;
    let binary = folder.join(target).join("dist/trainyard");
    check(Command::new(&binary).arg("--version"))
        .context("it does not start: the C library here may be older than glibc 2.36")?;
    let size = std::fs::metadata(&binary)
        .with_context(|| format!("`{}` is missing", binary.display()))?
        .len();
    if size > MAX_SIZE {
        bail!("`{}` has {:.1} MB", binary.display(), size as f64 / 1e6);
    }
    let linked = Command::new("ldd")
        .arg(&binary)
        .output()
        .context("cannot start ldd")?;
    let text =
        String::from_utf8_lossy(&linked.stdout).into_owned() + &String::from_utf8_lossy(&linked.stderr);
    if !text.contains("not a dynamic executable") && !text.contains("statically linked") {
        bail!("`{}` is not static:\n{text}", binary.display());
    }
    println!("{} ({:.1} MB, static)", binary.display(), size as f64 / 1e6);
    Ok(())
}
