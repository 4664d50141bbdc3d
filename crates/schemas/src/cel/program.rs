//! Compilation with the errors people read: position, message, excerpt and an arrow.

use kube_cel::cel::parser::Parser;

use super::{
    check::{Checked, check},
    parse::{Issue, parse},
    types::Type,
};

/// Parses and checks an expression.
pub(crate) fn compile(source: &str, variables: &[(&str, Type)]) -> Result<Checked, String> {
    let parsed = parse(source).map_err(|issue| syntax_error(source, issue))?;
    check(parsed, variables).map_err(|issues| render(source, &issues))
}

/// Syntax errors are worded by the grammar of the reference implementation, which `cel` has too; it
/// is asked only then, because it is slow, and only about what it does not lose count of.
fn syntax_error(source: &str, issue: Issue) -> String {
    if !issue.message.starts_with("Syntax error") || !is_modest(source) {
        return render(source, &[issue]);
    }
    let Err(errors) = Parser::new().enable_optional_syntax(true).parse(source) else {
        return render(source, &[issue]);
    };
    let located = |line: isize, column: isize| {
        let before: usize = source
            .split('\n')
            .take((line - 1).max(0) as usize)
            .map(|text| text.chars().count() + 1)
            .sum();
        before + (column - 1).max(0) as usize
    };
    let issues: Vec<Issue> = errors
        .errors
        .iter()
        .map(|error| Issue {
            offset: located(error.pos.0, error.pos.1),
            message: if error.msg.starts_with("Syntax error") {
                error.msg.clone()
            } else {
                format!("Syntax error: {}", error.msg)
            },
        })
        .collect();
    render(source, &issues)
}

/// Whether an expression is short, and cannot nest deeper than the parser of `cel` can count.
fn is_modest(source: &str) -> bool {
    const LONG: usize = 8 * 1024;
    const DEEP: usize = 64;
    source.len() <= LONG && source.matches(['(', '[', '{', '?']).count() <= DEEP
}

fn render(source: &str, issues: &[Issue]) -> String {
    issues
        .iter()
        .map(|issue| rendered(source, issue))
        .collect::<Vec<_>>()
        .join("\n")
}

fn rendered(source: &str, issue: &Issue) -> String {
    let mut rest = issue.offset;
    for (number, line) in (1..).zip(source.split('\n')) {
        let length = line.chars().count();
        if rest <= length {
            let dots = ".".repeat(rest);
            let excerpt = line.replace('\t', " ");
            return format!(
                "ERROR: <input>:{number}:{}: {}\n | {excerpt}\n | {dots}^",
                rest + 1,
                issue.message
            );
        }
        rest -= length + 1;
    }
    format!("ERROR: <input>:1:1: {}\n | {source}\n | ^", issue.message)
}
