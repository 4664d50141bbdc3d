//! A server under test: where it is, how to be its administrator, and its open connections.

use std::{
    io,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustls::ClientConfig;

use crate::{Body, Connection, Head, tls};

/// No answer of a healthy server takes longer.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server under test.
#[derive(Clone, Debug)]
pub struct Server {
    pub name: String,
    /// The bearer token of an administrator.
    pub token: String,
    host: String,
    port: u16,
    tls: Arc<ClientConfig>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("a server is written NAME=https://HOST:PORT,TOKEN[,CA-FILE], not `{0}`")]
    Form(String),
    #[error("cannot read the certificate authority `{path}`")]
    Read { path: String, source: io::Error },
    #[error("the certificate authority is not a PEM certificate")]
    Authority,
    #[error("cannot set up TLS")]
    Tls(#[from] rustls::Error),
}

impl FromStr for Server {
    type Err = ServerError;

    fn from_str(text: &str) -> Result<Self, ServerError> {
        let form = || ServerError::Form(text.to_owned());
        let (name, rest) = text.split_once('=').ok_or_else(form)?;
        let mut parts = rest.split(',');
        let address = parts
            .next()
            .and_then(|url| url.strip_prefix("https://"))
            .ok_or_else(form)?;
        let (host, port) = address.trim_end_matches('/').rsplit_once(':').ok_or_else(form)?;
        let token = parts.next().ok_or_else(form)?;
        let authority = parts.next().map(read_authority).transpose()?;
        Ok(Self {
            name: name.to_owned(),
            token: token.to_owned(),
            host: host.to_owned(),
            port: port.parse().map_err(|_| form())?,
            tls: Arc::new(tls::client_config(authority.as_deref())?),
            idle: Arc::default(),
        })
    }
}

fn read_authority(path: &str) -> Result<Vec<u8>, ServerError> {
    std::fs::read(path).map_err(|source| ServerError::Read {
        path: path.to_owned(),
        source,
    })
}

impl Server {
    /// The host and port as they stand in a `Host` header.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Whether the server says that it is ready, now or within some time.
    pub fn becomes_ready(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let request = format!("GET /readyz HTTP/1.1\r\nHost: {}\r\n\r\n", self.authority());
        loop {
            if self
                .exchange(request.as_bytes(), false)
                .is_ok_and(|(head, _)| head.status == 200)
            {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Sends the bytes of a request and reads the whole answer.
    pub fn exchange(&self, request: &[u8], no_body: bool) -> io::Result<(Head, Vec<u8>)> {
        let deadline = Instant::now() + PATIENCE;
        let (head, mut body) = self.open(request, no_body)?;
        let bytes = body.read_to_end(deadline)?;
        if let Some(connection) = body.into_reusable(&head) {
            self.idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(connection);
        }
        Ok((head, bytes))
    }

    /// Sends the bytes of a request and reads only the head of the answer; the body can be streamed.
    pub fn open(&self, request: &[u8], no_body: bool) -> io::Result<(Head, Body)> {
        let deadline = Instant::now() + PATIENCE;
        let reused = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut connection) = reused {
            connection.send(request);
            if let Ok(head) = connection.read_head(deadline) {
                return Ok((head.clone(), Body::new(connection, &head, no_body)));
            }
            // The server closed it while it was idle: once more on a new one.
        }
        let mut connection = Connection::open(&self.host, self.port, Arc::clone(&self.tls))?;
        connection.send(request);
        let head = connection.read_head(deadline)?;
        Ok((head.clone(), Body::new(connection, &head, no_body)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_read_from_its_argument() {
        let server: Server = "real=https://127.0.0.1:6443,secret".parse().unwrap();
        assert_eq!(
            (
                server.name.as_str(),
                server.authority().as_str(),
                server.token.as_str()
            ),
            ("real", "127.0.0.1:6443", "secret")
        );
    }

    #[test]
    fn a_server_without_a_token_is_refused() {
        let error = "real=https://127.0.0.1:6443".parse::<Server>().unwrap_err();
        assert!(error.to_string().contains("NAME=https://HOST:PORT,TOKEN"));
    }
}
