//! Made-up inputs for the pure crates, on the stable toolchain. The targets and the runner are in
//! `crates/fuzz-targets`; `cargo fuzz` guides the same targets by coverage.

use anyhow::Result;

use crate::run::{cargo, check};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Seconds for each target, `--seed`, `--input` and names of targets, as `--help` after `--` lists
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    check(
        cargo()
            .args(["run", "--quiet", "--package", "fuzz-targets", "--"])
            .args(&arguments.arguments),
    )
}
