//! What is wrong with a package, as it is shown: where, what, the line itself, and what to do about it.

use anyhow::{Error, anyhow};

use super::snippet::snippet;
use crate::advised;

#[derive(Debug, Default)]
pub(crate) struct Complaint<'a> {
    pub(crate) message: String,
    /// The file as its user would name it.
    pub(crate) file: Option<String>,
    /// Line and column, counted from one.
    pub(crate) place: Option<(u64, u64)>,
    /// What is in the file.
    pub(crate) text: Option<&'a str>,
    pub(crate) hint: Option<String>,
}

impl Complaint<'_> {
    pub(crate) fn into_error(self) -> Error {
        let shown = self.shown();
        match self.hint {
            Some(hint) => advised(shown, hint),
            None => anyhow!(shown),
        }
    }

    /// Without the hint.
    pub(super) fn shown(&self) -> String {
        let Some(file) = &self.file else {
            return self.message.clone();
        };
        let Some((line, column)) = self.place else {
            return format!("{file}: {}", self.message);
        };
        let line_itself = self.text.and_then(|text| snippet(text, line, column));
        let line_itself = line_itself.map(|shown| format!("\n{shown}")).unwrap_or_default();
        format!("{file}:{line}:{column}: {}{line_itself}", self.message.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_says_as_much_as_is_known() {
        let complaint = Complaint {
            message: "there is no field `b`".to_owned(),
            file: Some("p/a.yaml".to_owned()),
            place: Some((1, 1)),
            text: Some("b: 1\n"),
            hint: None,
        };
        assert_eq!(
            complaint.shown(),
            "p/a.yaml:1:1: there is no field `b`\n  |\n1 | b: 1\n  | ^"
        );
        let nowhere = Complaint {
            place: None,
            ..complaint
        };
        assert_eq!(nowhere.shown(), "p/a.yaml: there is no field `b`");
        let of_nothing = Complaint {
            file: None,
            ..nowhere
        };
        assert_eq!(of_nothing.shown(), "there is no field `b`");
    }
}
