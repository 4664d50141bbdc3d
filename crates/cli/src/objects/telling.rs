//! What is said of each object: a line as soon as it is known, or all of it as JSON in the end.

use serde_json::{Value, json};

use super::Placed;
use crate::{Answer, Output};

#[derive(Debug)]
pub(super) struct Telling {
    output: Output,
    is_dry_run: bool,
    rows: Vec<Value>,
}

impl Telling {
    pub(super) fn new(answer: Answer, is_dry_run: bool) -> Self {
        Self {
            output: answer.output,
            is_dry_run,
            rows: Vec::new(),
        }
    }

    /// What became of an object that is somewhere on the cluster.
    pub(super) fn tell(&mut self, placed: &Placed, result: &str) {
        self.tell_of(&placed.shown, &placed.object, result);
    }

    /// What became of an object, by the name it is shown with.
    pub(super) fn tell_of(&mut self, shown: &str, object: &Value, result: &str) {
        if self.output == Output::Text {
            let dry_run = if self.is_dry_run { " (dry run)" } else { "" };
            println!("{shown} {result}{dry_run}");
        }
        self.note(object, result, None);
    }

    /// That an object is not there, of which nothing has to become anything.
    pub(super) fn tell_absent(&mut self, shown: &str, object: &Value) {
        if self.output == Output::Text {
            println!("{shown} is not there");
        }
        self.note(object, "absent", None);
    }

    /// That something could not be done to an object. People read it where errors are.
    pub(super) fn refuse(&mut self, source: &str, object: &Value, message: &str, hint: Option<&str>) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        let place = if source.is_empty() {
            String::new()
        } else {
            format!("{source}: ")
        };
        eprintln!("error: {place}{kind} {name:?}: {message}");
        if let Some(hint) = hint {
            eprintln!("  {hint}");
        }
        self.note(object, "refused", Some(message));
    }

    fn note(&mut self, object: &Value, result: &str, message: Option<&str>) {
        let metadata = &object["metadata"];
        self.rows.push(json!({
            "apiVersion": object["apiVersion"],
            "kind": object["kind"],
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "result": result,
            "message": message,
            "dryRun": self.is_dry_run,
        }));
    }

    /// Whoever wants JSON has it now, whatever became of the rest.
    pub(super) fn end(self) {
        if self.output == Output::Json {
            println!("{:#}", Value::Array(self.rows));
        }
    }
}
