//! The merge gate, the same here as anywhere.

use anyhow::Result;

use crate::{corpus, deny, run, test, tidy};

/// Form and structure: nothing is run but the compiler.
pub(crate) fn check() -> Result<()> {
    run::check(run::cargo().args(["fmt", "--all", "--check"]))?;
    tidy::run()?;
    deny::run()?;
    run::check(run::cargo().args([
        "clippy",
        "--workspace",
        // As the tests: without jemalloc, whose build takes longer than all lints.
        "--no-default-features",
        "--all-targets",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ]))
}

pub(crate) fn run() -> Result<()> {
    check()?;
    test::run(&test::Arguments::default())?;
    corpus::run(&corpus::Arguments::default())
}
