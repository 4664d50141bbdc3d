//! Checks over the corpus: manifests of real users, which lie beside the repository and are no part of it.
//! Tests over them are ignored by `cargo test`, and have `corpus` in their name.

use std::path::PathBuf;

use anyhow::Result;

use crate::{run::root, test};

#[derive(Default, clap::Args)]
pub(crate) struct Arguments {
    /// Where the corpus is
    #[arg(long, value_name = "DIR", env = VARIABLE)]
    corpus: Option<PathBuf>,
}

/// Tells the tests where the corpus is.
const VARIABLE: &str = "TRAINYARD_CORPUS";
const BESIDE: &str = "../shared/corpus";

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let folder = match &arguments.corpus {
        Some(folder) => std::path::absolute(folder)?,
        None => root().join(BESIDE),
    };
    if !folder.is_dir() {
        println!(
            "skipped: the checks over the corpus: there is none in `{}`; --corpus names another folder",
            folder.display()
        );
        return Ok(());
    }
    test::ignored(|tests| {
        tests.arg("corpus").env(VARIABLE, &folder);
    })
}
