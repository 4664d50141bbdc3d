//! `./trainyard`, the script that builds the program from a clone and runs it, on machines where something is missing.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use client_tests::{Output, run};
use tempfile::TempDir;

/// A clone of nothing but the script, on a machine whose tools are played by scripts.
struct Machine {
    folder: TempDir,
}

impl Machine {
    /// Everything a build needs, and a build that makes a program which prints its arguments.
    fn new() -> Self {
        let machine = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        fs::create_dir_all(machine.path("clone/crates/one/src")).unwrap();
        fs::write(machine.path("clone/crates/one/Cargo.toml"), "").unwrap();
        fs::create_dir_all(machine.path("home")).unwrap();
        fs::create_dir_all(machine.path("bin")).unwrap();
        for name in ["trainyard", "Cargo.toml", "Cargo.lock"] {
            fs::copy(root.join(name), machine.path("clone").join(name)).unwrap();
        }
        machine.tool(
            "rustc",
            "echo 'rustc 1.95.0 (59807616e 2026-04-14)'; [ $# = 1 ] || echo 'host: x86_64-unknown-linux-gnu'",
        );
        machine.tool(
            "cargo",
            "case $1 in build) mkdir -p target/debug\n\
             printf '#!/bin/sh\\necho \"$TRAINYARD_CALLED_AS\" \"$@\"\\n' > target/debug/trainyard\n\
             chmod +x target/debug/trainyard;; esac",
        );
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn tool(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self) -> Command {
        let mut command = Command::new("./trainyard");
        command
            .arg("demo")
            .current_dir(self.path("clone"))
            .env("HOME", self.path("home"))
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()))
            .env_remove("CARGO_HOME")
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CC");
        command
    }
}

/// Two lines: what is wrong, and what to do.
#[track_caller]
fn refused(output: &Output, error: &str, hint: &str) {
    assert_eq!(output.code, 2, "{}", output.stderr);
    let lines: Vec<&str> = output.stderr.lines().rev().take(2).collect();
    let [last, before] = lines.as_slice() else {
        panic!("{}", output.stderr);
    };
    assert!(
        before.starts_with("error: ") && before.contains(error),
        "{before}"
    );
    assert!(last.starts_with("hint: ") && last.contains(hint), "{last}");
}

#[test]
fn the_program_is_built_and_told_what_it_was_called() {
    let machine = Machine::new();
    let output = run(&mut machine.command(), "");
    assert_eq!(output.success(), "./trainyard demo\n");
}

#[test]
fn a_program_that_is_built_is_run_without_cargo_until_a_source_changes() {
    let machine = Machine::new();
    run(&mut machine.command(), "").success();
    machine.tool("cargo", "case $1 in build) echo again; exit 101;; esac");
    assert_eq!(run(&mut machine.command(), "").success(), "./trainyard demo\n");
    let source = fs::File::create(machine.path("clone/crates/one/src/lib.rs")).unwrap();
    source
        .set_modified(SystemTime::now() + Duration::from_secs(1))
        .unwrap();
    let changed = run(&mut machine.command(), "");
    assert_eq!(
        (changed.code, changed.stdout.as_str()),
        (2, "again\n"),
        "{}",
        changed.stderr
    );
}

#[test]
fn a_machine_without_rust_is_told_where_to_get_it() {
    let machine = Machine::new();
    fs::remove_file(machine.path("bin/cargo")).unwrap();
    refused(
        &run(&mut machine.command(), ""),
        "cargo is not installed",
        "https://rustup.rs",
    );
}

#[test]
fn an_old_rust_is_named_with_the_version_that_is_needed() {
    let machine = Machine::new();
    machine.tool("rustc", "echo 'rustc 1.9.0 (abc 2016-05-24)'");
    refused(
        &run(&mut machine.command(), ""),
        "Rust 1.9.0 is too old",
        "rustup update",
    );
}

#[test]
fn a_c_compiler_that_is_missing_or_cannot_compile_is_refused() {
    let machine = Machine::new();
    let mut absent = machine.command();
    absent.env("CC", "no-such-compiler");
    refused(&run(&mut absent, ""), "no-such-compiler", "apt-get install gcc");
    machine.tool("half", "echo 'stdio.h: No such file or directory' >&2; exit 1");
    let mut half = machine.command();
    half.env("CC", "half");
    refused(&run(&mut half, ""), "stdio.h: No such file", "libc6-dev");
}

#[test]
fn folders_that_are_missing_or_read_only_are_named() {
    let machine = Machine::new();
    let mut homeless = machine.command();
    homeless.env_remove("HOME");
    refused(&run(&mut homeless, ""), "HOME is not set", "HOME=");
    let mut read_only = machine.command();
    // Not even root can make folders there.
    read_only.env("CARGO_TARGET_DIR", "/proc/target");
    refused(
        &run(&mut read_only, ""),
        "`/proc/target` cannot be written to",
        "CARGO_TARGET_DIR",
    );
    let mut downloads = machine.command();
    downloads.env("CARGO_HOME", "/proc/cargo");
    refused(
        &run(&mut downloads, ""),
        "`/proc/cargo` cannot be written to",
        "CARGO_HOME",
    );
}

#[test]
fn a_disk_without_room_is_refused_before_and_told_after() {
    let machine = Machine::new();
    let free = "printf 'Filesystem 1024-blocks Used Available Capacity Mounted\\n/dev/a 9 9 %s 1%% /\\n'";
    machine.tool("df", &format!("{free} 1048576"));
    refused(&run(&mut machine.command(), ""), "has 1024 MB left", "make room");
    machine.tool(
        "df",
        &format!("{free} $([ -e used ] && echo 10240 || echo 99999999)"),
    );
    machine.tool(
        "cargo",
        "case $1 in build) touch used; echo 'No space left on device' >&2; exit 101;; esac",
    );
    refused(&run(&mut machine.command(), ""), "is full", "make room");
}

#[test]
fn a_registry_that_does_not_answer_is_told_with_what_to_check() {
    let machine = Machine::new();
    machine.tool(
        "cargo",
        "case $1 in fetch) echo 'error: failed to download' >&2; exit 101;; esac",
    );
    refused(
        &run(&mut machine.command(), ""),
        "cannot be downloaded",
        "HTTPS_PROXY",
    );
}

#[test]
fn a_build_that_fails_ends_in_where_to_look() {
    let machine = Machine::new();
    machine.tool(
        "cargo",
        "case $1 in build) echo 'error[E0000]: no' >&2; exit 101;; esac",
    );
    refused(
        &run(&mut machine.command(), ""),
        "cannot be built",
        "first error above",
    );
}
