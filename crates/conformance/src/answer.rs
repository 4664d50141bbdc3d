//! An answer of the server, and what can be asked of it.

use https_client::Head;
use serde_json::{Value, json};

use crate::{
    failure::{Failure, Outcome},
    pattern::{Extent, compare, is_like},
};

/// A complete answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The request as it is shown in reports.
    pub(crate) request: String,
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
    /// The body, or null when it is not JSON.
    pub(crate) json: Value,
}

impl Answer {
    pub(crate) fn new(request: String, head: Head, body: Vec<u8>) -> Self {
        let json = serde_json::from_slice(&body).unwrap_or_default();
        Self {
            request,
            head,
            body,
            json,
        }
    }

    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    pub(crate) fn body_text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Fails unless the answer has this status.
    pub(crate) fn expect(self, status: u16) -> Outcome<Self> {
        if self.status() == status {
            return Ok(self);
        }
        Err(Failure::new(
            &self.request,
            format!("status {status}"),
            format!("{} {}", self.status(), self.body_text()),
        ))
    }

    /// Fails unless the body holds at least the pattern.
    pub(crate) fn has(self, pattern: Value) -> Outcome<Self> {
        self.compare("", &pattern, Extent::Subset)
    }

    /// Fails unless the value at a JSON pointer is the pattern, key for key.
    pub(crate) fn exactly(self, pointer: &str, pattern: Value) -> Outcome<Self> {
        self.compare(pointer, &pattern, Extent::Exact)
    }

    fn compare(self, pointer: &str, pattern: &Value, extent: Extent) -> Outcome<Self> {
        let value = self.json.pointer(pointer).unwrap_or(&Value::Null);
        match compare(pattern, value, extent) {
            Ok(()) => Ok(self),
            Err(mismatch) => {
                let place = format!("{}{}", pointer.replace('/', "."), mismatch.path);
                Err(Failure::new(
                    &self.request,
                    format!("`{place}` = {}", mismatch.expected),
                    format!(
                        "{}\n          in {} {}",
                        mismatch.got,
                        self.status(),
                        self.body_text()
                    ),
                ))
            }
        }
    }

    /// Fails unless the body is a failure Status with exactly this reason and message.
    pub(crate) fn fails_with(self, code: u16, reason: &str, message: &str) -> Outcome<Self> {
        self.expect(code)?.has(json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "reason": reason, "message": message, "code": code,
        }))
    }

    /// Fails unless the body is an `Invalid` Status with exactly these causes: field, reason, message.
    pub(crate) fn has_faults(self, causes: &[(&str, &str, &str)]) -> Outcome<Self> {
        let causes: Vec<Value> = causes
            .iter()
            .map(|(field, reason, message)| json!({"field": field, "reason": reason, "message": message}))
            .collect();
        self.expect(422)?
            .has(json!({"kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422}))?
            .exactly("/details/causes", Value::from(causes))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.head.header(name).unwrap_or_default()
    }

    /// Fails unless a header is like the pattern.
    pub(crate) fn has_header(self, name: &str, pattern: &str) -> Outcome<Self> {
        let value = self.header(name);
        if is_like(pattern, value) {
            return Ok(self);
        }
        Err(Failure::new(
            &self.request,
            format!("header {name}: {pattern}"),
            format!("`{value}`"),
        ))
    }

    /// Fails unless the warnings are exactly these, in this order.
    pub(crate) fn warns(self, warnings: &[&str]) -> Outcome<Self> {
        let got: Vec<&str> = self
            .head
            .headers
            .iter()
            .filter(|(name, _)| name == "warning")
            .map(|(_, value)| value.as_str())
            .collect();
        let expected: Vec<String> = warnings
            .iter()
            .map(|text| format!("299 - {}", Value::from(*text)))
            .collect();
        let same = got.len() == expected.len()
            && got
                .iter()
                .zip(&expected)
                .all(|(got, expected)| is_like(expected, got));
        if same {
            return Ok(self);
        }
        Err(Failure::new(
            &self.request,
            format!("the warnings {expected:?}"),
            format!("{got:?}"),
        ))
    }

    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.json.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// The text at a JSON pointer; empty when there is none.
    pub(crate) fn text(&self, pointer: &str) -> String {
        self.at(pointer).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn resource_version(&self) -> String {
        self.text("/metadata/resourceVersion")
    }

    pub(crate) fn uid(&self) -> String {
        self.text("/metadata/uid")
    }

    /// The names of a list's items, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let items = self.at("/items").as_array().into_iter().flatten();
        let mut names: Vec<String> = items
            .map(|item| item["metadata"]["name"].as_str().unwrap_or_default().to_owned())
            .collect();
        names.sort();
        names
    }

    /// Fails unless the list holds exactly these names.
    pub(crate) fn lists(self, names: &[&str]) -> Outcome<Self> {
        let got = self.names();
        if got == names {
            return Ok(self);
        }
        Err(Failure::new(
            &self.request,
            format!("the items {names:?}"),
            format!("{got:?}"),
        ))
    }

    /// Fails unless a fact about the answer holds.
    pub(crate) fn satisfies(self, expected: &str, holds: impl FnOnce(&Self) -> bool) -> Outcome<Self> {
        if holds(&self) {
            return Ok(self);
        }
        Err(Failure::new(
            &self.request,
            expected,
            format!("{} {}", self.status(), self.body_text()),
        ))
    }

    /// Ends a chain: everything asked of the answer held.
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "the last link of a chain of results"
    )]
    pub(crate) fn done(self) -> Outcome {
        Ok(())
    }
}
