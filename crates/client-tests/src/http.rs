//! One plain HTTPS request, for what no Kubernetes client would ever send.

use crate::text;

/// The status and body of an answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

/// `GET path` from `https://host:port`, with a bearer token or without.
#[track_caller]
pub fn get(address: &str, path: &str, token: Option<&str>) -> Answer {
    ask(&format!("{address},"), path, token)
}

/// The same from a server that an authority of one's own vouches for: `https://host:port,,ca-file`.
#[track_caller]
pub fn get_from(server: &str, path: &str) -> Answer {
    ask(server, path, None)
}

#[track_caller]
fn ask(server: &str, path: &str, token: Option<&str>) -> Answer {
    let server: https_client::Server = format!("server={server}").parse().expect("the address is one");
    let authorization = token
        .map(|token| format!("Authorization: Bearer {token}\r\n"))
        .unwrap_or_default();
    let host = server.authority();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{authorization}Connection: close\r\n\r\n");
    let (head, body) = server
        .exchange(request.as_bytes(), false)
        .expect("the server answers");
    Answer {
        status: head.status,
        body: text(&body),
    }
}
