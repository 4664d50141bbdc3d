//! How what the service answers is shown: as JSON for programs, as lines and YAML for people.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;

use super::{carry_out, place::Place};
use crate::{Answer, Output, Surroundings, jobs::table::table};

/// A member that is text; empty where there is none.
pub(super) fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// A list, a line for each; `nothing` is said where there are none.
pub(super) fn list<const N: usize>(
    answer: Answer,
    items: Vec<Value>,
    heads: [&str; N],
    row: impl Fn(&Value) -> [String; N],
    nothing: &str,
) -> ExitCode {
    match answer.output {
        Output::Json => println!("{:#}", Value::Array(items)),
        Output::Text if items.is_empty() => eprintln!("{nothing}"),
        Output::Text => {
            let rows: Vec<_> = items.iter().map(row).collect();
            print!("{}", table(heads, &rows));
        }
    }
    ExitCode::SUCCESS
}

/// One answer; people are shown these words instead, as they are.
pub(super) fn one(answer: Answer, value: &Value, words: impl FnOnce(&Value) -> String) -> ExitCode {
    match answer.output {
        Output::Json => println!("{value:#}"),
        Output::Text => print!("{}", words(value)),
    }
    ExitCode::SUCCESS
}

/// Asks for what is at a path, and shows it as YAML.
pub(super) fn whole(
    place: &Place,
    surroundings: &Surroundings,
    answer: Answer,
    path: &str,
) -> Result<ExitCode> {
    carry_out(place, surroundings, async |rest| {
        let found = rest.get(path, &[]).await?.body;
        Ok(one(answer, &found, manifests::yaml::to_string))
    })
}
