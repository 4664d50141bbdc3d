//! Errors as people read them in events: with why.

use std::{error::Error, fmt::Write as _};

/// The error and its causes, the last of which is often the only one that helps.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot run `trainyard`")]
    struct Run(#[source] io::Error);

    #[test]
    fn causes_follow_the_error() {
        let error = Run(io::Error::other("there is no such file"));
        assert_eq!(
            with_causes(&error),
            "cannot run `trainyard`: there is no such file"
        );
    }
}
