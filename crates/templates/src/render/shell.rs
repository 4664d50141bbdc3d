//! Texts that shells and interpreters read as programs. A value in the middle of one could say anything there, so it is
//! let in only if nothing in it means anything to them, or if the template quotes it.

use serde_json::Value;

use crate::problem::{Code, Problem};

/// A text that the template wrote, with texts of users in it.
pub(crate) struct Mixed {
    pub(crate) pointer: String,
    /// The name and text of the template, and where in it.
    pub(crate) place: (String, String, usize),
}

/// Programs that take a program as an argument, and the options they take it with.
const INTERPRETERS: &[(&str, &[char])] = &[
    ("sh", &['c']),
    ("bash", &['c']),
    ("ash", &['c']),
    ("dash", &['c']),
    ("ksh", &['c']),
    ("zsh", &['c']),
    ("busybox", &['c']),
    ("python", &['c']),
    ("perl", &['e', 'E']),
    ("ruby", &['e']),
    ("node", &['e', 'p']),
];

/// Whether no shell does anything with a text but pass it on, as one word.
pub(crate) fn is_inert(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c))
}

pub(super) fn problems(object: &Value, mixed: &[Mixed]) -> Vec<Problem> {
    let programs = mixed.iter().filter(|mixed| is_program(object, &mixed.pointer));
    programs
        .map(|mixed| {
            let (name, text, offset) = &mixed.place;
            let message = format!(
                "a value in `{}` has characters that a shell would act on",
                mixed.pointer
            );
            let problem = Problem::new(Code::Shell, message).at(name, text, *offset);
            let problem = match super::variable(&text[*offset..]) {
                Some(path) => problem.pointer(format!("/{}", path.replace('.', "/"))),
                None => problem,
            };
            problem.hint(
                "pass it as a variable of the environment, or write `{{ value | quote }}`; \
                 a number should be declared as an integer",
            )
        })
        .collect()
}

/// Whether what is at a pointer is read as a program.
pub(crate) fn is_program(object: &Value, pointer: &str) -> bool {
    let Some((list, word)) = pointer.rsplit_once('/') else {
        return false;
    };
    let Some((container, field)) = list.rsplit_once('/') else {
        return false;
    };
    // The script of a workflow's step.
    if word == "source" && field == "script" {
        return true;
    }
    let Ok(index) = word.parse::<usize>() else {
        return false;
    };
    let Some(container) = object.pointer(container) else {
        return false;
    };
    let words = |field: &str| -> Vec<&str> {
        let items = container.get(field).and_then(Value::as_array);
        items
            .into_iter()
            .flatten()
            .map(|word| word.as_str().unwrap_or_default())
            .collect()
    };
    let command = words("command");
    let index = match field {
        "command" => index,
        "args" => command.len() + index,
        _ => return false,
    };
    let words = [command, words("args")].concat();
    let before = &words[..index.min(words.len())];
    // `env FOO=1 bash -c …`, `timeout 5 sh -c …`: wherever the interpreter stands.
    before.iter().enumerate().any(|(at, word)| {
        let program = word.rsplit('/').next().unwrap_or_default();
        let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let interpreter = INTERPRETERS.iter().find(|(name, _)| *name == stem);
        let option = before[at + 1..].last();
        interpreter.zip(option).is_some_and(|((_, letters), option)| {
            option.starts_with('-') && !option.starts_with("--") && option.ends_with(*letters)
        })
    })
}
