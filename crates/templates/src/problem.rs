//! What is wrong with a template or what was made of it, and where. Problems show lines of templates, never values:
//! values may be secrets.

use serde::{Deserialize, Serialize};

/// A place in the text of a template; lines and columns are counted from one, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The name of the template, or of what it includes.
    pub template: String,
    pub line: u32,
    pub column: u32,
}

/// What kind of problem it is; stable, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Code {
    /// The template is not Jinja, or uses what templates may not.
    Syntax,
    /// It uses a value that is not there.
    Undefined,
    /// An expression failed: a wrong type, an unknown filter, a division by zero.
    Evaluation,
    /// What it includes is missing, or includes itself.
    Include,
    /// Something is too large or takes too long.
    Limit,
    /// What it writes is not YAML.
    Yaml,
    /// A document is not an object of Kubernetes.
    Object,
    /// The values cannot be used at all.
    Values,
    /// A value of a user would be read by a shell.
    Shell,
    /// The objects may not be made.
    Policy,
    /// The definition's own texts are wrong.
    Definition,
    /// The process that renders failed.
    Worker,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub code: Code,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The line of the template with a caret under the place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where in the filled values the cause is, as a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

impl Problem {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            place: None,
            snippet: None,
            hint: None,
            pointer: None,
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// Says where in `text`, the template called `name`, it is.
    #[must_use]
    pub fn at(mut self, name: &str, text: &str, offset: usize) -> Self {
        let (line, column) = line_and_column(text, offset);
        self.snippet = snippet(text, line, column);
        self.place = Some(Place {
            template: name.to_owned(),
            line,
            column,
        });
        self
    }
}

/// `countdown-task:12:9: …`, the line with its caret, and the hint.
impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{}:{}:{}: ", place.template, place.line, place.column)?;
        }
        f.write_str(&self.message)?;
        if let Some(snippet) = &self.snippet {
            write!(f, "\n{snippet}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// Counted from one, columns in characters. An offset inside a character counts as its beginning.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (u32, u32) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line as u32, column as u32)
}

/// As much of a line as a terminal has room for.
const WIDTH: usize = 100;

fn snippet(text: &str, line: u32, column: u32) -> Option<String> {
    let shown: Vec<char> = text
        .split('\n')
        .nth(line as usize - 1)?
        .trim_end_matches('\r')
        .chars()
        .map(|c| if c == '\t' { ' ' } else { c })
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    let at = (column as usize - 1).min(shown.len());
    let start = at
        .saturating_sub(WIDTH * 2 / 3)
        .min(shown.len().saturating_sub(WIDTH));
    let window: String = shown.iter().skip(start).take(WIDTH).collect();
    let number = line.to_string();
    let margin = " ".repeat(number.len());
    let indent = " ".repeat(at - start);
    Some(format!(
        "{margin} |\n{number} | {}\n{margin} | {indent}^",
        window.trim_end()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_shows_its_line() {
        let problem = Problem::new(Code::Syntax, "unexpected end of block")
            .at("mine", "a: 1\r\nb: é {{ x \r\n", 14)
            .hint("close it");
        assert_eq!(
            problem.to_string(),
            "mine:2:8: unexpected end of block\n  |\n2 | b: é {{ x\n  |        ^\nhint: close it"
        );
    }

    #[test]
    fn places_beyond_the_text_are_its_end() {
        assert_eq!(line_and_column("a\nb", 99), (2, 2));
        assert_eq!(line_and_column("", 0), (1, 1));
        assert_eq!(line_and_column("é", 1), (1, 1));
    }
}
