//! Why a sandbox did not do what was asked.

use std::{io, path::PathBuf};

use crate::protocol::{Failure, Response};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot write the sandbox's folder `{path}`")]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot run `{binary}`")]
    Run { binary: PathBuf, source: io::Error },
    #[error("the sandbox did not start: {reason}")]
    Start { reason: String },
    #[error("no sandbox lives in `{dir}`: {reason}")]
    Gone { dir: PathBuf, reason: String },
    #[error("cannot talk to the sandbox in `{dir}`")]
    Talk { dir: PathBuf, source: io::Error },
    /// The sandbox said no.
    #[error(transparent)]
    Refused(#[from] Failure),
    #[error("the sandbox gave an answer to another question: {0}")]
    Unexpected(String),
    #[error("{0}")]
    Connect(#[source] io::Error),
    #[error("cannot open the streams of a process")]
    Streams(#[source] io::Error),
}

impl Error {
    pub(super) fn unexpected(response: Response) -> Self {
        match response {
            Response::Failed(failure) => Self::Refused(failure),
            other => Self::Unexpected(format!("{other:?}")),
        }
    }
}
