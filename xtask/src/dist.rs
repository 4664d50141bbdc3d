//! The fully static binary, which runs inside any image.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::run::{check, root};

const TARGET: &str = "x86_64-unknown-linux-gnu";

pub(crate) fn run() -> Result<()> {
    // Naming the target keeps the flag away from build scripts and proc macros, which must be dynamic.
    let mut build = Command::new("cargo");
    build
        .args([
            "build",
            "--release",
            "--package",
            "trainyard",
            "--target",
            TARGET,
            "--target-dir",
            "target/dist",
        ])
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .current_dir(root());
    check(&mut build)?;
    let binary = root().join("target/dist").join(TARGET).join("release/trainyard");
    let size = std::fs::metadata(&binary)
        .with_context(|| format!("`{}` is missing", binary.display()))?
        .len();
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
