//! Asks for start-up addresses in their short form, 3 MB less, where the C library can read it.

use std::{env, process::Command};

#[expect(
    clippy::disallowed_methods,
    reason = "a build script is told everything by its environment"
)]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Another machine's C library is not ours to ask; a static one is `cargo xtask dist`'s.
    let is_for_here = env::var("HOST") == env::var("TARGET");
    let is_glibc = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    let is_optimized = env::var("OPT_LEVEL").is_ok_and(|level| level != "0");
    if is_for_here && is_glibc && is_optimized && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of the C library that programs made here will meet: `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let answer = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
