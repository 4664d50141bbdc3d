//! What is said about an object that does not fit a limit range.

use std::{collections::BTreeSet, fmt};

/// All that is wrong with an object by one limit range: one sentence alone, several in brackets, each
/// once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub(super) Vec<String>);

impl std::error::Error for Violation {}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seen = BTreeSet::new();
        let complaints: Vec<&str> = self
            .0
            .iter()
            .map(String::as_str)
            .filter(|complaint| seen.insert(*complaint))
            .collect();
        match complaints.as_slice() {
            [complaint] => f.write_str(complaint),
            complaints => write!(f, "[{}]", complaints.join(", ")),
        }
    }
}
