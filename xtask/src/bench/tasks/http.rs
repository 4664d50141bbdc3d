//! As much of HTTP as a load needs: one connection that stays open, and answers that say how long they are.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    sync::Mutex,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

pub(super) struct Client {
    port: u16,
    token: String,
    connection: Mutex<Option<BufReader<TcpStream>>>,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Client {
    pub(super) fn new(port: u16, token: &str) -> Self {
        Self {
            port,
            token: token.to_owned(),
            connection: Mutex::new(None),
        }
    }

    /// The same with a connection of its own.
    pub(super) fn another(&self) -> Self {
        Self::new(self.port, &self.token)
    }

    /// The same server with another token.
    pub(super) fn with_token(&self, token: &str) -> Self {
        Self::new(self.port, token)
    }

    pub(super) fn get(&self, path: &str) -> Result<Answer> {
        self.ask("GET", path, None)
    }

    /// The body of an answer that must have this status.
    pub(super) fn expect(&self, status: u16, method: &str, path: &str, body: &Value) -> Result<Vec<u8>> {
        let answer = self.ask(method, path, Some(body))?;
        if answer.status != status {
            let said = String::from_utf8_lossy(&answer.body).into_owned();
            bail!("{method} {path}: {} instead of {status}: {said}", answer.status);
        }
        Ok(answer.body)
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Answer> {
        let mut held = self
            .connection
            .lock()
            .map_err(|_| anyhow::anyhow!("a client panicked"))?;
        let mut connection = if let Some(connection) = held.take() {
            connection
        } else {
            let stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_mins(1)))?;
            BufReader::new(stream)
        };
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        connection.get_mut().write_all(request.as_bytes())?;
        let (answer, stays) = read(&mut connection)?;
        if stays {
            *held = Some(connection);
        }
        Ok(answer)
    }
}

/// An answer, and whether the connection can be used again.
fn read(connection: &mut BufReader<TcpStream>) -> Result<(Answer, bool)> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.context("the connection was closed")?;
    let (mut length, mut stays) = (None, true);
    loop {
        let mut line = String::new();
        connection.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.trim().parse::<usize>().ok(),
            "connection" => stays = !value.trim().eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    let mut body = vec![0; length.context("the answer does not say how long it is")?];
    connection.read_exact(&mut body)?;
    Ok((Answer { status, body }, stays))
}
