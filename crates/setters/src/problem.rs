//! What is wrong, where, and what to do about it.

use std::fmt;

/// A complaint about a package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    pub message: String,
    pub file: Option<String>,
    /// Line and column, counted from one.
    pub place: Option<(u64, u64)>,
    pub hint: Option<String>,
}

impl Problem {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        self.file = Some(file.to_owned());
        self
    }

    #[must_use]
    pub fn at(self, file: &str, line: u64, column: u64) -> Self {
        Self {
            place: Some((line, column)),
            ..self.in_file(file)
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// `FILE:LINE:COLUMN: MESSAGE`; the hint is for whoever shows it to lay out.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            if let Some((line, column)) = self.place {
                write!(f, "{line}:{column}:")?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}
