//! Where in a document decoding stands, kept on the stack and put into words only for an error.

use std::fmt::Write as _;

use super::DecodeError;
use crate::types::Struct;

/// A place below the places of the calls above it.
#[derive(Clone, Copy)]
pub(super) struct Position<'a> {
    parent: Option<&'a Position<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'static Struct, &'a str),
    Index(usize),
    Key(&'a str),
    /// From here on errors name the place above.
    Hidden,
}

impl<'a> Position<'a> {
    pub(super) const ROOT: Position<'static> = Position {
        parent: None,
        step: Step::Root,
    };

    pub(super) fn field(&'a self, owner: &'static Struct, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Field(owner, name),
        }
    }

    pub(super) fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Key(key),
        }
    }

    pub(super) fn hidden(&'a self) -> Self {
        Self {
            parent: Some(self),
            step: Step::Hidden,
        }
    }

    /// The error for a value of the wrong type. It names fields only: no list indices, no map keys.
    pub(super) fn mismatch(&self, value: impl Into<String>, go_type: &str) -> DecodeError {
        let mut owner = None;
        let mut path = String::new();
        for step in self.visible_steps() {
            if let Step::Field(described, name) = step {
                owner = Some(described);
                path.push('.');
                path.push_str(name);
            }
        }
        let target = match owner {
            Some(owner) => format!("struct field {}{path} of type {go_type}", owner.name),
            None => format!("value of type {go_type}"),
        };
        DecodeError::WrongType {
            value: value.into(),
            target,
        }
    }

    /// The path of a field that is not known here, unless it lies in a part that is not looked at.
    pub(super) fn path_of_unknown(&self, name: &str) -> Option<String> {
        if self.steps().iter().any(|step| matches!(step, Step::Hidden)) {
            return None;
        }
        let mut path = self.path();
        push_name(&mut path, name);
        Some(path)
    }

    /// `spec.containers[0].image`
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for step in self.visible_steps() {
            match step {
                Step::Root | Step::Hidden => {}
                Step::Field(_, name) | Step::Key(name) => push_name(&mut path, name),
                Step::Index(index) => {
                    let _ = write!(path, "[{index}]");
                }
            }
        }
        path
    }

    fn visible_steps(&self) -> impl Iterator<Item = Step<'_>> {
        self.steps()
            .into_iter()
            .take_while(|step| !matches!(step, Step::Hidden))
    }

    /// All steps from the root to here.
    fn steps(&self) -> Vec<Step<'_>> {
        let mut steps: Vec<_> = std::iter::successors(Some(self), |position| position.parent)
            .map(|position| position.step)
            .collect();
        steps.reverse();
        steps
    }
}

fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}
