//! Reading and writing session files.

use std::fmt;

/// A piece of a session file, in its order.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    /// Prose and blank lines, kept as they are.
    Prose(String),
    Step(Step),
}

/// A command and what it must print.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Step {
    pub(super) command: String,
    /// Output lines, and `? N` last for an exit code other than 0.
    pub(super) expected: String,
}

pub(super) fn parse(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            parts.push(Part::Step(Step {
                command: command.to_owned(),
                expected: String::new(),
            }));
        } else if line.starts_with("# ") || line == "#" {
            parts.push(Part::Prose(line.to_owned()));
        } else {
            continue_part(&mut parts, line);
        }
    }
    for part in &mut parts {
        if let Part::Step(step) = part {
            step.expected.truncate(step.expected.trim_end().len());
        }
    }
    parts
}

fn continue_part(parts: &mut Vec<Part>, line: &str) {
    match parts.last_mut() {
        Some(Part::Step(step)) => match line.strip_prefix("> ").or((line == ">").then_some("")) {
            Some(more) if step.expected.is_empty() => {
                step.command.push('\n');
                step.command.push_str(more);
            }
            _ => {
                step.expected.push_str(line.trim_end());
                step.expected.push('\n');
            }
        },
        _ if line.is_empty() => {}
        _ => parts.push(Part::Prose(line.to_owned())),
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prose(line) => writeln!(f, "{line}"),
            Self::Step(step) => {
                writeln!(f, "$ {}", step.command.replace('\n', "\n> "))?;
                if !step.expected.is_empty() {
                    writeln!(f, "{}", step.expected)?;
                }
                writeln!(f)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "# Prose.\n$ cat <<END\n> a\n> END\na\n\nb\n\n# More.\n$ false\n? 1\n\n";

    #[test]
    fn a_session_is_read_and_written_alike() {
        let parts = parse(SESSION);
        let Part::Step(step) = &parts[1] else {
            panic!("{parts:?}")
        };
        assert_eq!(step.command, "cat <<END\na\nEND");
        assert_eq!(step.expected, "a\n\nb");
        let written: String = parts.iter().map(ToString::to_string).collect();
        assert_eq!(written, SESSION);
    }
}
