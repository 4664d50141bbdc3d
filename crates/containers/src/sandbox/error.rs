//! What a sandbox could not do. The text crosses process boundaries, so the cause is part of it.

use std::{fmt::Display, io};

use crate::protocol::{Failure, FailureKind};

/// A step of setting something up, and why the system refused it.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing}: {cause}")]
pub(super) struct SetupError {
    kind: FailureKind,
    doing: String,
    pub(super) cause: io::Error,
}

impl SetupError {
    /// For errors that the agent tells apart from others.
    pub(super) fn of_kind(self, kind: FailureKind) -> Self {
        Self { kind, ..self }
    }
}

/// Says what was being done when an operation of the system failed.
pub(super) trait Doing<T> {
    fn doing<D: Display>(self, what: impl FnOnce() -> D) -> Result<T, SetupError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing<D: Display>(self, what: impl FnOnce() -> D) -> Result<T, SetupError> {
        self.map_err(|cause| SetupError {
            kind: FailureKind::Setup,
            doing: what().to_string(),
            cause: cause.into(),
        })
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        Failure::new(error.kind, error.to_string())
    }
}
