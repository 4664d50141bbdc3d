//! Why a check failed.

use std::{fmt, io};

/// What was asked, what was expected, and what came instead.
#[derive(Clone, Debug)]
pub struct Failure {
    pub request: String,
    pub expected: String,
    pub got: String,
}

/// The result of a check.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Longer answers are cut in reports: their beginning says enough.
const SHOWN: usize = 3000;

impl Failure {
    pub(crate) fn new(request: &str, expected: impl fmt::Display, got: impl fmt::Display) -> Self {
        Self {
            request: request.to_owned(),
            expected: cut(&expected.to_string()),
            got: cut(&got.to_string()),
        }
    }

    pub(crate) fn of_connection(request: &str, error: &io::Error) -> Self {
        Self::new(request, "an answer", error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.request.is_empty() {
            writeln!(formatter, "request:  {}", self.request)?;
        }
        writeln!(formatter, "expected: {}", self.expected)?;
        write!(formatter, "got:      {}", self.got)
    }
}

/// Fails unless a fact holds.
pub(crate) fn ensure(holds: bool, expected: &str, got: impl fmt::Display) -> Outcome {
    if holds {
        Ok(())
    } else {
        Err(Failure::new("", expected, got))
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
