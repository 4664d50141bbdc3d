//! The program beside this file, kept running: a request and an answer a line.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use client_tests::{needed, packages};
use serde_json::{Value, json};

const REQUIREMENTS: [&str; 3] = ["Jinja2==3.1.6", "PyYAML==6.0.3", "MarkupSafe==3.0.3"];

pub(crate) struct Oracle {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What it is asked for.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    Text,
    Plain,
    Placed,
}

impl Oracle {
    /// None where there is no Python to compare with, which in the merge gate is a failure.
    pub(crate) fn start() -> Option<Self> {
        let folder = needed(packages("jinja", &REQUIREMENTS))?;
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jinja/oracle.py");
        let mut child = Command::new("python3")
            .arg(program)
            .env("PYTHONPATH", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Some(Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        })
    }

    pub(crate) fn ask(
        &mut self,
        mode: Mode,
        undefined: &str,
        template: &str,
        includes: &Value,
        values: &Value,
    ) -> Result<Value, String> {
        let mode = match mode {
            Mode::Text => "text",
            Mode::Plain => "plain",
            Mode::Placed => "placed",
        };
        let request = json!({
            "mode": mode, "undefined": undefined, "template": template, "includes": includes, "values": values,
        });
        writeln!(self.input, "{request}").unwrap();
        self.input.flush().unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer["ok"].take()),
        }
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
