//! The file of accelerators that `up`, `operator` and `render` are given.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, anyhow};
use training::Accelerators;

/// Without a file there are none.
pub(crate) fn read(path: Option<&Path>) -> Result<Accelerators> {
    let Some(path) = path else {
        return Ok(Accelerators::default());
    };
    let shown = path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{shown}`"))?;
    parse(&shown, &text)
}

/// What is wrong is said with its place.
pub(crate) fn parse(place: &str, text: &str) -> Result<Accelerators> {
    Accelerators::parse(text).map_err(|error| anyhow!("{place}: {error}"))
}
