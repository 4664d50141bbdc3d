//! The merge gate, the same here as anywhere.

use anyhow::Result;

use crate::{run::run, test, tidy};

pub(crate) fn run_all() -> Result<()> {
    run("cargo", &["fmt", "--all", "--check"])?;
    tidy::run()?;
    run("cargo", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])?;
    test::run()
}

pub(crate) use run_all as run;
