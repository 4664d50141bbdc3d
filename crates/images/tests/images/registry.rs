//! A small registry on this machine: http, with tokens or passwords if a test wants them.

use std::{
    collections::{BTreeMap, HashMap},
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use images::Digest;
use serde_json::json;

use crate::made::{Made, Packing};

/// What a client has to say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    Nothing,
    /// For `ada` with the password `secret`.
    Password,
    /// For a token, which it gives to `ada` with the password `secret`.
    Token,
}

pub(crate) const USER: &str = "ada";
pub(crate) const PASSWORD: &str = "secret";

struct State {
    asks: Asks,
    /// By path.
    content: Mutex<BTreeMap<String, Vec<u8>>>,
    /// How often each path was asked for.
    requests: Mutex<HashMap<String, usize>>,
    /// Bytes after which the next blob that is longer breaks off, once.
    breaks: Mutex<Option<usize>>,
    redirects: AtomicBool,
    ranges: Mutex<Vec<String>>,
}

#[derive(Clone)]
pub(crate) struct Registry {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

impl Registry {
    pub(crate) fn start(asks: Asks) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let registry = Self {
            address: listener.local_addr().unwrap(),
            state: Arc::new(State {
                asks,
                content: Mutex::default(),
                requests: Mutex::default(),
                breaks: Mutex::default(),
                redirects: AtomicBool::new(false),
                ranges: Mutex::default(),
            }),
        };
        let serving = registry.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let serving = serving.clone();
                thread::spawn(move || {
                    // A client that hangs up is none of our business.
                    let _ = serving.answer(stream);
                });
            }
        });
        registry
    }

    /// Offers an image for this machine, within an index that has one for another machine first.
    pub(crate) fn push(&self, repository: &str, tag: &str, made: &Made) -> Digest {
        let (manifest, blobs) = made.manifest(Packing::Gzip);
        for blob in &blobs {
            self.put(repository, "blobs", &Digest::sha256(blob).to_string(), blob);
        }
        let digest = Digest::sha256(&manifest);
        self.put(repository, "manifests", &digest.to_string(), &manifest);
        let machine = images::Platform::of_this_machine();
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [
                { "digest": Digest::sha256(b"absent"), "size": 1, "platform": { "os": "linux", "architecture": "s390x" } },
                { "digest": digest, "size": manifest.len(), "platform": machine },
            ],
        })
        .to_string();
        let digest = Digest::sha256(index.as_bytes());
        self.put(repository, "manifests", &digest.to_string(), index.as_bytes());
        self.put(repository, "manifests", tag, index.as_bytes());
        digest
    }

    pub(crate) fn put(&self, repository: &str, kind: &str, name: &str, bytes: &[u8]) {
        let path = format!("/v2/{repository}/{kind}/{name}");
        self.state.content.lock().unwrap().insert(path, bytes.to_vec());
    }

    /// The next blob that is longer breaks off after so many bytes.
    pub(crate) fn break_after(&self, bytes: usize) {
        *self.state.breaks.lock().unwrap() = Some(bytes);
    }

    /// Blobs are elsewhere from now on.
    pub(crate) fn redirect_blobs(&self) {
        self.state.redirects.store(true, Ordering::Relaxed);
    }

    pub(crate) fn blob_requests(&self) -> usize {
        let requests = self.state.requests.lock().unwrap();
        requests
            .iter()
            .filter(|(path, _)| path.contains("/blobs/"))
            .map(|(_, count)| count)
            .sum()
    }

    /// The ranges clients asked for.
    pub(crate) fn ranges(&self) -> Vec<String> {
        self.state.ranges.lock().unwrap().clone()
    }

    pub(crate) fn name(&self, rest: &str) -> String {
        format!("{}/{rest}", self.address)
    }

    fn answer(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(':') else {
                break;
            };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        *self
            .state
            .requests
            .lock()
            .unwrap()
            .entry(path.clone())
            .or_default() += 1;
        let authorization = headers.get("authorization").map(String::as_str);
        let range = headers.get("range").cloned();
        self.reply(stream, &path, authorization, range)
    }

    fn reply(
        &self,
        mut stream: TcpStream,
        path: &str,
        authorization: Option<&str>,
        range: Option<String>,
    ) -> std::io::Result<()> {
        let password = format!("Basic {}", BASE64_STANDARD.encode(format!("{USER}:{PASSWORD}")));
        if path.starts_with("/token") {
            let is_known = authorization == Some(password.as_str());
            let (status, body) = if is_known {
                ("200 OK", r#"{"token":"a-token"}"#)
            } else {
                ("401 Unauthorized", "{}")
            };
            return send(&mut stream, status, "", body.as_bytes(), None);
        }
        let address = self.address;
        let (wanted, challenge) = match self.state.asks {
            Asks::Nothing => (None, String::new()),
            Asks::Password => (Some(password.as_str()), "Basic realm=\"here\"".to_owned()),
            Asks::Token => (
                Some("Bearer a-token"),
                format!("Bearer realm=\"http://{address}/token\",service=\"here\""),
            ),
        };
        let is_elsewhere = path.starts_with("/elsewhere");
        if is_elsewhere && authorization.is_some() {
            return send(&mut stream, "400 Bad Request", "", b"a secret was told", None);
        }
        if !is_elsewhere && wanted.is_some() && wanted != authorization {
            let header = format!("WWW-Authenticate: {challenge}\r\n");
            return send(&mut stream, "401 Unauthorized", &header, b"{}", None);
        }
        if path.contains("/blobs/") && !is_elsewhere && self.state.redirects.load(Ordering::Relaxed) {
            // The same machine by another name is another place.
            let port = address.port();
            let header = format!("Location: http://localhost:{port}/elsewhere{path}\r\n");
            return send(&mut stream, "307 Temporary Redirect", &header, b"", None);
        }
        let content = self.state.content.lock().unwrap();
        let Some(bytes) = content.get(path.trim_start_matches("/elsewhere")).cloned() else {
            let body = br#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}"#;
            return send(&mut stream, "404 Not Found", "", body, None);
        };
        drop(content);
        let is_long = |limit: &mut usize| path.contains("/blobs/") && bytes.len() > *limit;
        let breaks = self.state.breaks.lock().unwrap().take_if(is_long);
        match range
            .as_deref()
            .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok())
        {
            Some(from) if from < bytes.len() => {
                self.state.ranges.lock().unwrap().extend(range);
                send(&mut stream, "206 Partial Content", "", &bytes[from..], breaks)
            }
            _ => send(&mut stream, "200 OK", "", &bytes, breaks),
        }
    }
}

fn send(
    stream: &mut TcpStream,
    status: &str,
    headers: &str,
    body: &[u8],
    breaks: Option<usize>,
) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n"
    )?;
    stream.write_all(&body[..breaks.map_or(length, |bytes| bytes.min(length))])?;
    stream.flush()
}
