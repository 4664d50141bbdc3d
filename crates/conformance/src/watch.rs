//! An open watch: events as they come.

use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

use https_client::{Body, Head};
use serde_json::{Value, json};

use crate::{
    failure::{Failure, Outcome},
    pattern::{Extent, compare},
};

/// Longer than any event of a busy server takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A watch that the server has accepted.
#[derive(Debug)]
pub(crate) struct Watch {
    request: String,
    pub(crate) head: Head,
    body: Body,
    /// Read, but not yet a whole line.
    rest: Vec<u8>,
    /// Every event so far, for reports.
    seen: Vec<Value>,
}

impl Watch {
    pub(crate) fn new(request: String, head: Head, mut body: Body) -> Outcome<Self> {
        if head.status == 200 {
            return Ok(Self {
                request,
                head,
                body,
                rest: Vec::new(),
                seen: Vec::new(),
            });
        }
        let mut bytes = Vec::new();
        while let Ok(Some(part)) = body.next(Instant::now() + PATIENCE) {
            bytes.extend_from_slice(&part);
        }
        Err(Failure::new(&request, "a watch", String::from_utf8_lossy(&bytes)))
    }

    /// The next event; fails when none comes in time.
    pub(crate) fn next(&mut self) -> Outcome<Value> {
        match self.next_within(PATIENCE)? {
            Some(event) => Ok(event),
            None => Err(self.failure("an event", "the stream ended")),
        }
    }

    /// Fails unless the next event has this type, and an object with at least this.
    pub(crate) fn expect(&mut self, kind: &str, object: Value) -> Outcome<Value> {
        let event = self.next()?;
        let pattern = json!({"type": kind, "object": object});
        match compare(&pattern, &event, Extent::Subset) {
            Ok(()) => Ok(event),
            Err(mismatch) => {
                let expected = format!("an event with `{}` = {}", mismatch.path, mismatch.expected);
                Err(self.failure(&expected, &event.to_string()))
            }
        }
    }

    /// Fails unless the next event is of this type and about this name.
    pub(crate) fn expect_named(&mut self, kind: &str, name: &str) -> Outcome<Value> {
        self.expect(kind, json!({"metadata": {"name": name}}))
    }

    /// Fails unless the stream ends without another event.
    pub(crate) fn expect_end(&mut self, within: Duration) -> Outcome {
        match self.next_within(within)? {
            None => Ok(()),
            Some(event) => Err(self.failure("the end of the stream", &event.to_string())),
        }
    }

    /// Fails if an event comes within a short while.
    pub(crate) fn expect_silence(&mut self, during: Duration) -> Outcome {
        let event = self.next_line(Instant::now() + during);
        match event {
            Err(error) if error.kind() == ErrorKind::TimedOut => Ok(()),
            Ok(None) => Err(self.failure("an open stream", "its end")),
            Ok(Some(line)) => Err(self.failure("no event", &String::from_utf8_lossy(&line))),
            Err(error) => Err(self.failure("no event", &error.to_string())),
        }
    }

    fn next_within(&mut self, patience: Duration) -> Outcome<Option<Value>> {
        match self.next_line(Instant::now() + patience) {
            Ok(None) => Ok(None),
            Ok(Some(line)) => match serde_json::from_slice::<Value>(&line) {
                Ok(event) => {
                    self.seen.push(event.clone());
                    Ok(Some(event))
                }
                Err(_) => Err(self.failure("a line of JSON", &String::from_utf8_lossy(&line))),
            },
            Err(error) => Err(self.failure("an event", &error.to_string())),
        }
    }

    fn next_line(&mut self, deadline: Instant) -> std::io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let rest = self.rest.split_off(end + 1);
                return Ok(Some(std::mem::replace(&mut self.rest, rest)));
            }
            match self.body.next(deadline)? {
                Some(part) => self.rest.extend_from_slice(&part),
                None => return Ok(None),
            }
        }
    }

    fn failure(&self, expected: &str, got: &str) -> Failure {
        let before: Vec<String> = self.seen.iter().map(summary).collect();
        Failure::new(&self.request, expected, format!("{got} (after {before:?})"))
    }
}

fn summary(event: &Value) -> String {
    format!(
        "{} {}",
        event["type"].as_str().unwrap_or("?"),
        event["object"]["metadata"]["name"].as_str().unwrap_or("")
    )
}
