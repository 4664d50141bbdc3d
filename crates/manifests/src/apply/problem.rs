//! What is wrong with a value that does not have the form of its type.

use std::fmt;

/// One thing that does not fit, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    path: String,
    message: String,
}

impl Problem {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            path: String::new(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// All that does not fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    pub(super) fn push(&mut self, message: impl Into<String>) {
        self.0.push(Problem::new(message));
    }

    /// Takes over the problems found below the element `prefix`.
    pub(super) fn extend_below(&mut self, prefix: impl fmt::Display, below: Self) {
        for mut problem in below.0 {
            problem.path.insert_str(0, &prefix.to_string());
            self.0.push(problem);
        }
    }

    pub(super) fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [problem] = self.0.as_slice() {
            return problem.fmt(f);
        }
        f.write_str("errors:")?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl std::error::Error for Problems {}
