//! What one try of a probe gave.

/// The texts are for events, in the words users know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    /// Passed, with something to say about it.
    Warned(String),
    Failed(String),
    /// The probe itself could not be made; it counts neither way.
    Errored(String),
}

impl Verdict {
    /// What counts: passed or failed.
    pub fn has_passed(&self) -> Option<bool> {
        match self {
            Self::Passed | Self::Warned(_) => Some(true),
            Self::Failed(_) => Some(false),
            Self::Errored(_) => None,
        }
    }
}
