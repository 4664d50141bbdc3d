//! The programs that took longest.

use std::{fmt::Write as _, time::Duration};

use super::{progress::duration, side_by_side::Ran};

const SHOWN: usize = 25;

/// A table of the programs that took longest, and the sum over all.
pub(super) fn table(results: &[Ran]) -> String {
    let mut slowest: Vec<&Ran> = results.iter().collect();
    slowest.sort_by_key(|ran| std::cmp::Reverse(ran.took));
    let mut text = String::from("\n| program | time | processor | tests |\n|---|---|---|---|\n");
    for ran in slowest.iter().take(SHOWN) {
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            ran.name,
            duration(ran.took),
            duration(ran.processor),
            ran.counts.total()
        );
    }
    let processor: Duration = results.iter().map(|ran| ran.processor).sum();
    let took: Duration = results.iter().map(|ran| ran.took).sum();
    let _ = writeln!(
        text,
        "| all {} | {} | {} | {} |\n",
        results.len(),
        duration(took),
        duration(processor),
        results.iter().map(|ran| ran.counts.total()).sum::<u64>()
    );
    text
}
