//! `anyOf`, `oneOf`, `allOf` and `not`.

use manifests::field::{ErrorKind, FieldError};
use serde_json::Value;

use super::Validator;
use crate::{
    structural::{Checks, Structural},
    trail::Trail,
    validate::ratchet::Old,
};

impl Validator<'_> {
    pub(super) fn check_alternatives(
        &self,
        value: &Value,
        checks: &Checks,
        old: Option<Old<'_>>,
        trail: &Trail<'_>,
        errors: &mut Vec<FieldError>,
    ) -> usize {
        let mut matches = 0;
        let attempt = |schema: &Structural| {
            let mut errors = Vec::new();
            let matches = self.check_all(value, schema, old, trail, &mut errors);
            (errors, matches)
        };
        if !checks.any_of.is_empty() {
            let attempts: Vec<_> = tried(checks.any_of.iter().map(attempt));
            match attempts.last() {
                Some((failures, count)) if failures.is_empty() => matches += count,
                _ => {
                    errors.push(self.composite("must validate at least one schema (anyOf)", trail));
                    matches += blame(attempts, errors);
                }
            }
        }
        if !checks.one_of.is_empty() {
            let attempts: Vec<_> = checks.one_of.iter().map(attempt).collect();
            let valid = attempts
                .iter()
                .filter(|(failures, _)| failures.is_empty())
                .count();
            match valid {
                1 => {
                    let first = attempts.into_iter().find(|(failures, _)| failures.is_empty());
                    matches += first.map_or(0, |(_, count)| count);
                }
                0 => {
                    let text = "must validate one and only one schema (oneOf). Found none valid";
                    errors.push(self.composite(text, trail));
                    matches += blame(attempts, errors);
                }
                many => {
                    let text = format!(
                        "must validate one and only one schema (oneOf). Found {many} valid alternatives"
                    );
                    errors.push(self.composite(&text, trail));
                }
            }
        }
        matches += self.check_all_of(checks, attempt, trail, errors);
        if let Some(not) = &checks.not
            && attempt(not).0.is_empty()
        {
            errors.push(self.composite("must not validate the schema (not)", trail));
        }
        matches
    }

    fn check_all_of(
        &self,
        checks: &Checks,
        attempt: impl Fn(&Structural) -> (Vec<FieldError>, usize),
        trail: &Trail<'_>,
        errors: &mut Vec<FieldError>,
    ) -> usize {
        let mut matches = 0;
        let mut valid = 0;
        for (mut failures, count) in checks.all_of.iter().map(attempt) {
            valid += usize::from(failures.is_empty());
            matches += count;
            errors.append(&mut failures);
        }
        if valid < checks.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            errors.push(self.composite(&format!("must validate all the schemas (allOf){none}"), trail));
        }
        matches
    }

    /// An error about several schemas at once. It has no field of its own, only a mention.
    fn composite(&self, text: &str, trail: &Trail<'_>) -> FieldError {
        FieldError {
            kind: ErrorKind::Invalid,
            field: self.field(&Trail::ROOT),
            value: "\"\"".to_owned(),
            detail: format!("{} {text}", manifests::field::quoted(&trail.dotted())),
        }
    }
}

/// The attempts up to and including the first that went well.
fn tried<T>(attempts: impl Iterator<Item = (Vec<FieldError>, T)>) -> Vec<(Vec<FieldError>, T)> {
    let mut tried = Vec::new();
    for attempt in attempts {
        let done = attempt.0.is_empty();
        tried.push(attempt);
        if done {
            break;
        }
    }
    tried
}

/// Reports the attempt that got furthest, the first of those that got equally far.
fn blame(attempts: Vec<(Vec<FieldError>, usize)>, errors: &mut Vec<FieldError>) -> usize {
    let furthest = attempts.iter().map(|(_, count)| *count).max().unwrap_or_default();
    let Some((mut failures, count)) = attempts.into_iter().find(|(_, count)| *count == furthest) else {
        return 0;
    };
    errors.append(&mut failures);
    count
}
