//! Shell sessions as test data: commands, and what they must print.
//!
//! ```text
//! # A line of prose.
//! $ kubectl get configmap settings
//! NAME       DATA   AGE
//! settings   1      [..]
//!
//! $ kubectl get configmap nothing
//! Error from server (NotFound): configmaps "nothing" not found
//! ? 1
//! ```
//!
//! `> ` continues a command, `? N` is an exit code other than 0, `[..]` stands for any text within
//! a line, and a line `[...]` for any lines. With `UPDATE_SESSIONS=1` what does not match is written
//! into the file instead.

use std::{fmt::Write as _, fs, path::Path};

use crate::Shell;

mod matching;
mod parsing;

pub(crate) use matching::line_matches;
use matching::matches;
use parsing::{Part, Step, parse};

/// A command of a session and what it must print.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) command: String,
    /// Patterns of lines.
    pub(crate) lines: Vec<String>,
}

/// The commands of a session, and of its lines `# not run: COMMAND (REASON)`.
pub(crate) fn expected(text: &str) -> Vec<Expected> {
    let parts = parse(text).into_iter();
    let expected = parts.filter_map(|part| match part {
        Part::Step(step) => Some(Expected {
            lines: step.expected.lines().map(str::to_owned).collect(),
            command: step.command,
        }),
        Part::Prose(line) => {
            let (command, _reason) = line.strip_prefix(NOT_RUN)?.rsplit_once(" (")?;
            Some(Expected {
                command: command.to_owned(),
                lines: Vec::new(),
            })
        }
    });
    expected.collect()
}

/// Prose that names a command of a document which the session leaves out.
const NOT_RUN: &str = "# not run: ";

/// Runs the session in `file` and fails with every step that printed something else.
#[track_caller]
pub fn check(shell: &Shell<'_>, file: &Path) {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
    let mut parts = parse(&text);
    let mut failures = String::new();
    for part in &mut parts {
        let Part::Step(step) = part else { continue };
        let actual = run(shell, step);
        if !matches(&step.expected, &actual) {
            let command = step.command.lines().next().unwrap_or_default();
            let _ = writeln!(
                failures,
                "$ {command}\n--- expected\n{}\n--- printed\n{actual}\n",
                step.expected
            );
            step.expected = actual;
        }
    }
    if failures.is_empty() {
        return;
    }
    if std::env::var_os("UPDATE_SESSIONS").is_some() {
        let text: String = parts.iter().map(ToString::to_string).collect();
        fs::write(file, text).expect("the session can be written");
        return;
    }
    panic!(
        "{}: these commands printed something else\n\n{failures}",
        file.display()
    );
}

/// What a step prints: its output, then its errors, then its exit code if that is not 0.
fn run(shell: &Shell<'_>, step: &Step) -> String {
    let output = shell.run(&step.command);
    let mut text = output.stdout;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&output.stderr);
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let code = format!("? {}", output.code);
    if output.code != 0 {
        lines.push(&code);
    }
    lines.join("\n")
}
