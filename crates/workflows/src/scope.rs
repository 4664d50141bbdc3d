//! What a text may speak of at one moment: variables, and artifacts by the names they have there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::expression::Environment;

/// Names such as `inputs.parameters.x` and `steps.a.outputs.result`, and what they stand for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    texts: BTreeMap<String, String>,
    /// Where each artifact lies.
    artifacts: BTreeMap<String, Value>,
    /// Outputs of what was skipped: they exist, and there is nothing in them.
    absent: BTreeSet<String>,
}

impl Scope {
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let name = name.into();
        self.absent.remove(&name);
        self.texts.insert(name, value.into());
    }

    pub fn set_artifact(&mut self, name: impl Into<String>, artifact: Value) {
        self.artifacts.insert(name.into(), artifact);
    }

    pub fn set_absent(&mut self, name: impl Into<String>) {
        self.absent.insert(name.into());
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    pub fn artifact(&self, name: &str) -> Option<&Value> {
        self.artifacts.get(name)
    }

    pub fn is_absent(&self, name: &str) -> bool {
        self.absent.contains(name)
    }

    /// Everything of both; where both know a name, the other's meaning counts.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let mut merged = self.clone();
        merged.absorb(other);
        merged
    }

    pub fn absorb(&mut self, other: &Self) {
        for (name, value) in &other.texts {
            self.set(name.clone(), value.clone());
        }
        let artifacts = other.artifacts.iter();
        self.artifacts
            .extend(artifacts.map(|(name, value)| (name.clone(), value.clone())));
        self.absent.extend(other.absent.iter().cloned());
    }

    /// The same for expressions.
    pub fn environment(&self) -> Environment {
        let texts = self
            .texts
            .iter()
            .map(|(name, value)| (name.as_str(), json!(value)));
        let artifacts = self
            .artifacts
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()));
        let absent = self.absent.iter().map(|name| (name.as_str(), Value::Null));
        Environment::of(texts.chain(artifacts).chain(absent))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().map(String::as_str)
    }
}
