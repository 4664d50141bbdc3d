//! What stops a build: what is wrong, where, and what to do about it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use super::node::At;

/// Why a package does not build.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BuildError {
    pub message: String,
    pub place: Option<Place>,
    pub help: Option<String>,
}

/// A place in a file; lines and columns are counted from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    pub line: u32,
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        Ok(())
    }
}

/// An error while the names of files are still numbers.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    message: String,
    at: Option<At>,
    /// What else is concerned, and its place.
    other: Option<(&'static str, At)>,
    help: Option<String>,
}

pub(super) type Outcome<T = ()> = Result<T, Problem>;

impl Problem {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            at: None,
            other: None,
            help: None,
        }
    }

    pub(super) fn at(mut self, at: At) -> Self {
        self.at = self.at.or(Some(at));
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The place of what it is in conflict with.
    pub(super) fn other(mut self, at: At) -> Self {
        self.other = Some(("the other one", at));
        self
    }

    /// The place of the object it is about.
    pub(super) fn object(mut self, at: At) -> Self {
        self.other = Some(("the object", at));
        self
    }

    /// Says first what was being done.
    pub(super) fn within(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    pub(super) fn into_error<'f>(self, file: impl Fn(u16) -> Option<&'f Path>) -> BuildError {
        let place = |at: At| {
            Some(Place {
                file: file(at.file)?.to_owned(),
                line: at.line,
                column: at.column.into(),
            })
        };
        let other = self.other.and_then(|(what, at)| Some((what, place(at)?)));
        let other = other.map(|(what, place)| format!("{what} is at {place}"));
        let help: Vec<String> = other.into_iter().chain(self.help).collect();
        BuildError {
            message: self.message,
            place: self.at.and_then(place),
            help: (!help.is_empty()).then(|| help.join("; ")),
        }
    }
}
