//! The tests of the workspace, with what they need.

use std::process::Command;

use anyhow::Result;

use crate::run::{check, root};

/// Real clients as black boxes: kubectl, helm, the Python client, kube-rs, a client-go program.
const CLIENTS: &str = "client-tests";

pub(crate) fn run() -> Result<()> {
    check(
        Command::new("cargo")
            .args(["test", "--workspace", "--exclude", CLIENTS])
            .current_dir(root()),
    )
}

/// The black-box tests drive the program users get, with clients that take minutes to build.
pub(crate) fn run_clients() -> Result<()> {
    check(
        Command::new("cargo")
            .args(["build", "--package", "trainyard"])
            .current_dir(root()),
    )?;
    check(
        Command::new("cargo")
            .args(["test", "--package", CLIENTS])
            .current_dir(root()),
    )
}
