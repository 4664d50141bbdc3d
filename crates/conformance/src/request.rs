//! Requests, written as a chain: `cx.get(path).query("limit", 1).expect(200)?`.

use std::fmt::{Display, Write as _};

use https_client::Server;
use serde_json::Value;

use crate::{
    answer::Answer,
    failure::{Failure, Outcome},
    watch::Watch,
};

/// A request in the making.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    server: &'a Server,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(server: &'a Server, method: &str, path: &str) -> Self {
        let authorization = ("Authorization".to_owned(), format!("Bearer {}", server.token));
        Self {
            server,
            method: method.to_owned(),
            path: path.to_owned(),
            headers: vec![authorization],
            body: None,
        }
    }

    /// Adds a query parameter, escaped.
    pub(crate) fn query(mut self, key: &str, value: impl Display) -> Self {
        self.path.push(if self.path.contains('?') { '&' } else { '?' });
        self.path.push_str(key);
        self.path.push('=');
        self.path.push_str(&escaped(&value.to_string()));
        self
    }

    /// Sets a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers
            .retain(|(key, _)| !key.eq_ignore_ascii_case(name) || is_repeatable(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn accept(self, media_types: &str) -> Self {
        self.header("Accept", media_types)
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.bytes("application/json", body.to_string())
    }

    /// Sets a body of any type.
    pub(crate) fn bytes(self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.header("Content-Type", content_type).untyped(body)
    }

    /// Sets a body without saying what it is.
    pub(crate) fn untyped(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Acts as somebody else, by the administrator's right to impersonate.
    pub(crate) fn impersonate(self, user: &str) -> Self {
        self.header("Impersonate-User", user)
    }

    pub(crate) fn impersonate_group(self, group: &str) -> Self {
        self.header("Impersonate-Group", group)
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// Puts the administrator's token in another form: where `TOKEN` stands.
    pub(crate) fn authorization(self, form: &str) -> Self {
        let value = form.replace("TOKEN", &self.server.token);
        self.header("Authorization", &value)
    }

    pub(crate) fn anonymous(mut self) -> Self {
        self.headers.retain(|(key, _)| key != "Authorization");
        self
    }

    /// Sends, and takes any answer.
    pub(crate) fn send(self) -> Outcome<Answer> {
        let shown = self.shown();
        let bytes = self.to_bytes();
        loop {
            let (head, body) = self
                .server
                .exchange(&bytes, self.method == "HEAD")
                .map_err(|error| Failure::of_connection(&shown, &error))?;
            let answer = Answer::new(shown.clone(), head, body);
            // The real server says so for a moment after a definition changed; clients retry.
            if answer.status() != 429 || !answer.body_text().contains("storage is (re)initializing") {
                return Ok(answer);
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }

    pub(crate) fn expect(self, status: u16) -> Outcome<Answer> {
        self.send()?.expect(status)
    }

    /// Sends, and fails unless the server refuses in exactly these words.
    pub(crate) fn refused(self, code: u16, reason: &str, message: &str) -> Outcome<Answer> {
        self.send()?.fails_with(code, reason, message)
    }

    /// Sends, and fails unless the server finds exactly these faults: field, reason, message.
    pub(crate) fn invalid(self, causes: &[(&str, &str, &str)]) -> Outcome<Answer> {
        self.send()?.has_faults(causes)
    }

    /// Opens a watch.
    pub(crate) fn watch(self) -> Outcome<Watch> {
        let request = self.query("watch", "true");
        let shown = request.shown();
        let (head, body) = request
            .server
            .open(&request.to_bytes(), false)
            .map_err(|error| Failure::of_connection(&shown, &error))?;
        Watch::new(shown, head, body)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\n",
            self.method,
            self.path,
            self.server.authority()
        );
        let mut line = |name: &str, value: &str| {
            let _ = write!(head, "{name}: {value}\r\n");
        };
        self.headers.iter().for_each(|(name, value)| line(name, value));
        if !self
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("user-agent"))
        {
            line("User-Agent", "conformance/1.0");
        }
        if let Some(body) = &self.body {
            line("Content-Length", &body.len().to_string());
        } else if self.method != "GET" {
            line("Content-Length", "0");
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }

    fn shown(&self) -> String {
        let mut shown = format!("{} {}", self.method, self.path);
        for (name, value) in self.headers.iter().filter(|(name, _)| name != "Authorization") {
            let _ = write!(shown, "\n          {name}: {value}");
        }
        if let Some(body) = &self.body {
            let text: String = String::from_utf8_lossy(body).chars().take(1500).collect();
            let _ = write!(shown, "\n          {text}");
        }
        shown
    }
}

/// Headers that are lists of lines.
fn is_repeatable(name: &str) -> bool {
    name.eq_ignore_ascii_case("Impersonate-Group")
}

/// Escapes everything a query value could break on.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}
