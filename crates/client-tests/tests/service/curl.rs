//! Requests as people send them: with curl.

use std::process::Command;

use client_tests::run;
use serde_json::Value;

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// Sends a request, with a body of JSON if there is one.
#[track_caller]
pub(crate) fn ask(url: &str, arguments: &[&str], body: Option<&str>) -> Reply {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--include", "--max-time", "120"]);
    command.args(arguments);
    let has_form = arguments
        .iter()
        .any(|argument| argument.to_lowercase().starts_with("content-type:"));
    if body.is_some() {
        if !has_form {
            command.args(["-H", "Content-Type: application/json"]);
        }
        command.args(["--data-binary", "@-"]);
    }
    let output = run(command.arg(url), body.unwrap_or_default());
    assert_eq!(output.code, 0, "curl {arguments:?} {url}: {}", output.stderr);
    read(&output.stdout)
}

fn read(text: &str) -> Reply {
    let mut rest = text;
    loop {
        let (head, body) = rest.split_once("\r\n\r\n").expect("an answer has headers");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap();
        // What the server says before the body is sent is not the answer.
        if status == "100" {
            rest = body;
            continue;
        }
        let headers = lines.filter_map(|line| line.split_once(": "));
        return Reply {
            status: status.parse().unwrap(),
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
                .collect(),
            body: body.to_owned(),
        };
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The body of an answer that must have this status.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        if self.body.is_empty() {
            Value::Null
        } else {
            self.json()
        }
    }

    /// The problem of an answer that must be one, with this status and code.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        let problem = self.expect(status);
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(problem["status"], status);
        for member in ["type", "title", "detail", "instance", "request_id"] {
            assert!(problem[member].is_string(), "{member}: {problem}");
        }
        problem
    }

    /// The places of everything that is wrong.
    #[track_caller]
    pub(crate) fn pointers(&self) -> Vec<String> {
        let problem = self.json();
        let errors = problem["errors"]
            .as_array()
            .unwrap_or_else(|| panic!("{problem}"));
        errors
            .iter()
            .map(|error| error["pointer"].as_str().unwrap().to_owned())
            .collect()
    }
}
