//! Training jobs with the frameworks themselves, where these are too large for every run of the tests.

use anyhow::Result;
use clap::ValueEnum;

use crate::test;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only these
    #[arg(value_enum)]
    frameworks: Vec<Framework>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Framework {
    /// tensorflow-cpu from PyPI, 600 MB
    Tensorflow,
    /// Debian's python3-torch, which root installs where it is missing, 400 MB
    Pytorch,
}

impl Framework {
    /// The module its tests are in.
    fn module(self) -> &'static str {
        match self {
            Self::Tensorflow => "tensorflow::",
            Self::Pytorch => "pytorch::",
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let frameworks = match arguments.frameworks.as_slice() {
        [] => Framework::value_variants(),
        some => some,
    };
    let mut tests = test::cargo_test();
    tests
        .args(["--test", "training", "--", "--ignored"])
        .args(frameworks.iter().map(|framework| framework.module()));
    test::count(&mut tests)
}
