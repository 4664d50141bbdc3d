//! A small registry that speaks TLS and asks for a password.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::Arc,
    thread,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use images::Digest;
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};

use crate::made::Made;

pub(crate) const USER: &str = "ada";
pub(crate) const PASSWORD: &str = "secret";

pub(crate) struct Registry {
    pub(crate) address: SocketAddr,
    /// Who vouches for it, in PEM.
    pub(crate) authority: String,
}

impl Registry {
    /// Offers one image.
    pub(crate) fn start(repository: &str, tag: &str, image: &Made) -> Self {
        let mut content = BTreeMap::new();
        for blob in &image.blobs {
            content.insert(
                format!("/v2/{repository}/blobs/{}", Digest::sha256(blob)),
                blob.clone(),
            );
        }
        for name in [tag.to_owned(), Digest::sha256(&image.manifest).to_string()] {
            content.insert(
                format!("/v2/{repository}/manifests/{name}"),
                image.manifest.clone(),
            );
        }
        // By an address of this machine that is not loopback: to those nobody speaks TLS.
        let host = address_of_this_machine();
        let made = rcgen::generate_simple_self_signed([host.to_string()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let (config, content) = (Arc::new(config), Arc::new(content));
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (config, content) = (config.clone(), content.clone());
                thread::spawn(move || {
                    // A client that hangs up is none of our business.
                    let _ = answer(stream, config, &content);
                });
            }
        });
        Self {
            address,
            authority: made.cert.pem(),
        }
    }

    pub(crate) fn image(&self, rest: &str) -> String {
        format!("{}/{rest}", self.address)
    }
}

/// The address from which this machine would reach others. No packet is sent.
fn address_of_this_machine() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:9").unwrap();
    socket.local_addr().unwrap().ip()
}

fn answer(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    content: &BTreeMap<String, Vec<u8>>,
) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut reader = BufReader::new(StreamOwned::new(connection, stream));
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let path = head
        .first()
        .and_then(|line| line.split(' ').nth(1))
        .unwrap_or_default();
    let password = format!("Basic {}", BASE64_STANDARD.encode(format!("{USER}:{PASSWORD}")));
    let is_known = head.iter().any(|line| {
        let header = line.split_once(": ");
        header.is_some_and(|(name, value)| name.eq_ignore_ascii_case("authorization") && value == password)
    });
    let (status, headers, body) = match content.get(path) {
        _ if !is_known => (
            "401 Unauthorized",
            "WWW-Authenticate: Basic realm=\"here\"\r\n",
            &b"{}"[..],
        ),
        Some(bytes) if path.contains("/manifests/") => (
            "200 OK",
            "Content-Type: application/vnd.oci.image.manifest.v1+json\r\n",
            bytes.as_slice(),
        ),
        Some(bytes) => ("200 OK", "", bytes.as_slice()),
        None => ("404 Not Found", "", &b"{}"[..]),
    };
    let mut stream = reader.into_inner();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n",
        body.len()
    )?;
    stream.write_all(body)?;
    stream.conn.send_close_notify();
    stream.flush()
}
