//! Specs that are known to fail, each with its reason in the book's table.

use std::fs;

use anyhow::{Context as _, Result, bail};

use super::suite::Outcome;
use crate::run;

const TABLE: &str = "docs/upstream-specs.md";

/// Fails when a spec failed that the table does not have.
pub(super) fn check(outcomes: &[Outcome]) -> Result<()> {
    let path = run::root().join(TABLE);
    let table = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let is_known = |outcome: &&Outcome| table.lines().any(|line| names(line) == Some(&outcome.name));
    let (known, unknown): (Vec<_>, Vec<_>) = outcomes
        .iter()
        .filter(|outcome| !outcome.passed)
        .partition(is_known);
    if !known.is_empty() {
        println!("{} of the failures are in {TABLE}", known.len());
    }
    for outcome in outcomes.iter().filter(|outcome| outcome.passed).filter(is_known) {
        println!("passes now, and can leave {TABLE}: {}", outcome.name);
    }
    if !unknown.is_empty() {
        bail!("{} specs failed that should pass", unknown.len());
    }
    Ok(())
}

/// The spec a row of the table is about.
fn names(line: &str) -> Option<&str> {
    line.strip_prefix("| ")?.split(" | ").next()
}
