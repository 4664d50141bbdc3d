//! Every test, with what it needs.

use std::process::Command;

use anyhow::Result;

use crate::run::{check, root};

pub(crate) fn run() -> Result<()> {
    // The black-box tests drive the program users get.
    check(
        Command::new("cargo")
            .args(["build", "--package", "trainyard"])
            .current_dir(root()),
    )?;
    check(
        Command::new("cargo")
            .args(["test", "--workspace"])
            .current_dir(root()),
    )
}
