//! What the engine says is wrong, told without any value and with the place in the template as it was written.

use minijinja::{Error, ErrorKind};

use super::Source;
use crate::problem::{Code, Problem};

/// What is wrong with a text that is not a template.
pub(super) fn syntax_failure(name: &str, text: &str, error: &Error) -> Problem {
    let problem = Problem::new(Code::Syntax, sentence(error, &[]));
    let offset = error
        .range()
        .map_or_else(|| line_start(text, error.line()), |range| range.start);
    problem.at(name, text, offset)
}

/// What went wrong in a run. `secrets` are texts of values, which are not to be shown.
pub(crate) fn failure(sources: &[Source], error: &Error, secrets: &[&str]) -> Problem {
    let error = innermost(error);
    let mut problem = Problem::new(code(error.kind()), sentence(error, secrets));
    if let Some(source) = error
        .name()
        .and_then(|name| sources.iter().find(|source| source.name == name))
    {
        let annotated = error.range().map_or_else(
            || line_start(&source.annotated, error.line()),
            |range| range.start,
        );
        problem = problem.at(&source.name, &source.text, source.origin(annotated));
    }
    if let Some(hint) = hint(error) {
        problem = problem.hint(hint);
    }
    problem
}

/// An error in what is included is told by the one who includes it; the cause knows more.
fn innermost(error: &Error) -> &Error {
    let mut innermost = error;
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        if let Some(cause) = cause.downcast_ref::<Error>()
            && cause.line().is_some()
        {
            innermost = cause;
        }
        next = cause.source();
    }
    innermost
}

fn code(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::SyntaxError => Code::Syntax,
        ErrorKind::UndefinedError => Code::Undefined,
        ErrorKind::OutOfFuel | ErrorKind::WriteFailure => Code::Limit,
        ErrorKind::BadInclude | ErrorKind::TemplateNotFound => Code::Include,
        _ => Code::Evaluation,
    }
}

fn sentence(error: &Error, secrets: &[&str]) -> String {
    // The details of some errors quote what they are about.
    let is_secret = |detail: &&str| secrets.iter().any(|secret| detail.contains(secret));
    let detail = error.detail().filter(|detail| !is_secret(detail));
    match (error.kind(), detail) {
        (ErrorKind::OutOfFuel, _) => "the template takes too many steps".to_owned(),
        (ErrorKind::WriteFailure, _) => "the template writes too much".to_owned(),
        (ErrorKind::UndefinedError, None) => "the value is not there".to_owned(),
        (_, Some(detail)) => detail.to_owned(),
        (kind, None) => kind.to_string(),
    }
}

fn hint(error: &Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::UndefinedError => {
            Some("fill the value in, or give the template a default: `{{ x or 'default' }}`")
        }
        ErrorKind::OutOfFuel => Some("loop over less"),
        ErrorKind::UnknownMethod => Some(
            "the value may be null where the template expects a mapping: ask `{% if x %}` before `x.get(…)`",
        ),
        _ => None,
    }
}

fn line_start(text: &str, line: Option<usize>) -> usize {
    let before = line.unwrap_or(1).saturating_sub(1);
    text.split_inclusive('\n').take(before).map(str::len).sum()
}
