//! From an account to a WebSocket: TCP, TLS, and a request that the server answers by changing the
//! protocol, or with why not.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, anyhow, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, Request, Response, StatusCode, header, request};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{
    body::{Bytes, Incoming},
    upgrade::Upgraded,
};
use hyper_util::rt::TokioIo;
use ring::digest;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{account::Account, session::random};

/// The one protocol whose client can end its input without ending the connection.
const PROTOCOL: &str = "v5.channel.k8s.io";
/// How long the server may take for its answer, which needs the node of the pod.
const PATIENCE: Duration = Duration::from_mins(1);
const LONGEST_REFUSAL: usize = 1 << 20;
const KEY_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

pub(super) async fn open(account: &Account, path: &str) -> Result<Upgraded> {
    timeout(PATIENCE, upgrade(account, path))
        .await
        .context("the API server does not answer")?
}

/// An object, if there is one at the path.
pub(crate) async fn get(account: &Account, path: &str) -> Result<Option<Value>> {
    timeout(PATIENCE, look(account, path))
        .await
        .context("the API server does not answer")?
}

async fn look(account: &Account, path: &str) -> Result<Option<Value>> {
    let stream = reach(account).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let mut driver = tokio::task::JoinSet::new();
    driver.spawn(connection);
    let request = authorized(account, path).body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    match response.status() {
        StatusCode::OK => {
            let body = response.into_body().collect().await?.to_bytes();
            Ok(Some(serde_json::from_slice(&body)?))
        }
        StatusCode::NOT_FOUND => Ok(None),
        _ => Err(refusal(response).await),
    }
}

async fn reach(account: &Account) -> Result<TlsStream<TcpStream>> {
    secure(account)
        .await
        .with_context(|| format!("cannot reach the API server at {}:{}", account.host, account.port))
}

async fn upgrade(account: &Account, path: &str) -> Result<Upgraded> {
    let stream = reach(account).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let mut driver = tokio::task::JoinSet::new();
    driver.spawn(connection.with_upgrades());
    let key = BASE64_STANDARD.encode(random::<16>()?);
    let response = sender.send_request(request(account, path, &key)?).await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(refusal(response).await);
    }
    check(response.headers(), &key)?;
    Ok(hyper::upgrade::on(response).await?)
}

async fn secure(account: &Account) -> Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&account.authorities) {
        roots.add(certificate.context("the account's `ca.crt` is damaged")?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect((account.host.as_str(), account.port)).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from(account.host.clone())?;
    Ok(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
}

fn authorized(account: &Account, path: &str) -> request::Builder {
    Request::get(path)
        .header(header::HOST, format!("{}:{}", account.host, account.port))
        .header(header::AUTHORIZATION, format!("Bearer {}", account.token))
}

fn request(account: &Account, path: &str, key: &str) -> Result<Request<Empty<Bytes>>> {
    Ok(authorized(account, path)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, key)
        .header(header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL)
        .body(Empty::new())?)
}

/// What the server said instead of changing the protocol.
async fn refusal(response: Response<Incoming>) -> anyhow::Error {
    let status = response.status();
    let body = Limited::new(response.into_body(), LONGEST_REFUSAL)
        .collect()
        .await;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let message = serde_json::from_slice::<Value>(&body)
        .ok()
        .and_then(|status| status["message"].as_str().map(str::to_owned))
        .unwrap_or_else(|| String::from_utf8_lossy(&body).trim().to_owned());
    if message.is_empty() {
        return anyhow!("the API server answered {status}");
    }
    anyhow!(message)
}

/// Whether it was a WebSocket server that answered, in the protocol it was asked for.
fn check(headers: &HeaderMap, key: &str) -> Result<()> {
    let said = |name| headers.get(name).map(http::HeaderValue::as_bytes);
    let hash = digest::digest(
        &digest::SHA1_FOR_LEGACY_USE_ONLY,
        format!("{key}{KEY_SUFFIX}").as_bytes(),
    );
    let accept = BASE64_STANDARD.encode(hash);
    ensure!(
        said(header::SEC_WEBSOCKET_ACCEPT) == Some(accept.as_bytes()),
        "the answer is not that of a WebSocket server"
    );
    ensure!(
        said(header::SEC_WEBSOCKET_PROTOCOL) == Some(PROTOCOL.as_bytes()),
        "the API server does not speak {PROTOCOL}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_our_own_key_is_taken() {
        // The example of RFC 6455.
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        let mut headers = HeaderMap::new();
        headers.insert(
            header::SEC_WEBSOCKET_ACCEPT,
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".parse().unwrap(),
        );
        assert!(check(&headers, key).is_err());
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL.parse().unwrap());
        check(&headers, key).unwrap();
        assert!(check(&headers, "another").is_err());
    }
}
