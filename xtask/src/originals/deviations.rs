//! The differences that are meant, each with its reason: `xtask/originals/deviations.toml`.

use std::{cell::RefCell, collections::BTreeSet, fs};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;

use super::{compare::Difference, glob};
use crate::run::root;

const FILE: &str = "xtask/originals/deviations.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deviations {
    deviation: Vec<Deviation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviation {
    why: String,
    /// Patterns of places.
    at: Vec<String>,
    /// A pattern of what the original has there: its text, or its JSON. `none` where it has nothing.
    #[serde(default = "anything")]
    original: String,
    #[serde(default = "anything")]
    ours: String,
}

fn anything() -> String {
    "*".to_owned()
}

pub(super) struct Judged<'a> {
    pub(super) listed: Vec<(&'a Difference, &'a str)>,
    pub(super) unlisted: Vec<&'a Difference>,
    /// Patterns that no difference is like.
    pub(super) unused: Vec<&'a str>,
}

impl Deviations {
    pub(super) fn read() -> Result<Self> {
        let path = root().join(FILE);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        toml::from_str(&text).with_context(|| format!("cannot read `{}`", path.display()))
    }

    pub(super) fn judge<'a>(&'a self, differences: &'a [Difference]) -> Judged<'a> {
        let used = RefCell::new(BTreeSet::new());
        let (mut listed, mut unlisted) = (Vec::new(), Vec::new());
        for difference in differences {
            // Each that fits is used, so that one does not hide that another is needed.
            let fitting: Vec<&Deviation> = self
                .deviation
                .iter()
                .filter(|deviation| {
                    let patterns = deviation.fitting(difference);
                    let fits = !patterns.is_empty();
                    used.borrow_mut().extend(patterns);
                    fits
                })
                .collect();
            match fitting.first() {
                Some(deviation) => listed.push((difference, deviation.why.as_str())),
                None => unlisted.push(difference),
            }
        }
        let used = used.into_inner();
        let all = self.deviation.iter().flat_map(|deviation| &deviation.at);
        let unused = all.map(String::as_str).filter(|pattern| !used.contains(pattern));
        Judged {
            listed,
            unlisted,
            unused: unused.collect(),
        }
    }
}

impl Deviation {
    /// The patterns that the difference is like.
    fn fitting(&self, difference: &Difference) -> Vec<&str> {
        let fits = glob::matches(&self.original, &text(difference.original.as_ref()))
            && glob::matches(&self.ours, &text(difference.ours.as_ref()));
        let patterns = self.at.iter().map(String::as_str);
        patterns
            .filter(|pattern| fits && glob::matches(pattern, &difference.place))
            .collect()
    }
}

fn text(value: Option<&Value>) -> String {
    match value {
        None => "none".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deviations(text: &str) -> Deviations {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn what_is_listed_is_no_fault_and_what_is_listed_in_vain_is() {
        let list = deviations(
            "[[deviation]]\nwhy = \"so it is\"\nat = [\"*.policy\", \"*.colour\"]\nours = \"Kept\"\n",
        );
        let difference = |place: &str, ours: &str| Difference {
            place: place.to_owned(),
            original: None,
            ours: Some(json!(ours)),
        };
        let differences = [difference("a.policy", "Kept"), difference("a.policy", "Lost")];
        let judged = list.judge(&differences);
        assert_eq!((judged.listed.len(), judged.unlisted.len()), (1, 1));
        assert_eq!(judged.unused, ["*.colour"]);
    }
}
