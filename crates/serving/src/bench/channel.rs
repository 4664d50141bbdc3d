//! A connection to one of several servers that is made again when it breaks.

use std::{
    fmt,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use prost::Message;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout_at,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::run::Settings;
use crate::{
    failure::{Code, Failure, Outcome},
    grpc::{CONTENT_TYPE, framed, message, unescaped},
    tls::ClientTls,
};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Answers that are larger are a mistake.
const MOST_BYTES: usize = 1 << 30;
const WINDOW: u32 = 4 << 20;

/// A server that is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `HOST:PORT`.
    pub address: String,
    /// TLS, for servers that speak it.
    pub is_encrypted: bool,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted { "https://" } else { "" };
        write!(f, "{scheme}{}", self.address)
    }
}

/// Who asks: one request at a time.
pub(crate) struct Channel {
    servers: Vec<Endpoint>,
    /// How to speak with those that are encrypted.
    tls: Option<ClientTls>,
    /// The one that is asked.
    turn: usize,
    connection: Option<Sender>,
    timeout: Duration,
    retries: u32,
}

/// An answer, and how many requests it took.
pub(crate) struct Answered<M> {
    pub(crate) message: M,
    pub(crate) attempts: u32,
}

impl Channel {
    /// One of several that ask; `turn` says whom first.
    pub(crate) fn new(settings: &Settings, turn: usize) -> Self {
        Self {
            servers: settings.servers.clone(),
            tls: settings.tls.clone(),
            turn,
            connection: None,
            timeout: settings.timeout,
            retries: settings.retries,
        }
    }

    /// Asks until there is an answer. A server that is away is asked again, or the next one; one that refuses is not.
    pub(crate) async fn call<M: Message + Default>(
        &mut self,
        path: &str,
        request: &impl Message,
    ) -> Outcome<Answered<M>> {
        let bytes = framed(request);
        let mut pause = FIRST_PAUSE;
        for attempts in 1.. {
            match self.attempt(path, bytes.clone()).await {
                Ok(answer) => {
                    let message = M::decode(answer).map_err(|error| {
                        Failure::new(Code::Internal, format!("the answer cannot be read: {error}"))
                    })?;
                    return Ok(Answered { message, attempts });
                }
                Err(failure) if failure.code == Code::Unavailable && attempts <= self.retries => {
                    self.connection = None;
                    self.turn += 1;
                    // Another server may be there at once.
                    if (attempts as usize).is_multiple_of(self.servers.len()) {
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                    }
                }
                Err(failure) => {
                    self.connection = None;
                    return Err(failure);
                }
            }
        }
        Err(Failure::new(Code::Unavailable, "it was never asked"))
    }

    /// The server that is asked.
    pub(crate) fn server(&self) -> &Endpoint {
        &self.servers[self.turn % self.servers.len()]
    }

    async fn attempt(&mut self, path: &str, bytes: Bytes) -> Outcome<Bytes> {
        let limit = self.timeout;
        let deadline = Instant::now() + limit;
        let server = self.server().clone();
        let asked = async {
            let connection = match self.connection.take() {
                Some(connection) if !connection.is_closed() => connection,
                _ => connect(&server, self.tls.as_ref()).await?,
            };
            exchange(self.connection.insert(connection), &server, path, bytes, limit).await
        };
        timeout_at(deadline.into(), asked).await.unwrap_or_else(|_| {
            Err(Failure::new(
                Code::DeadlineExceeded,
                format!("{server} did not answer within {} ms", limit.as_millis()),
            ))
        })
    }
}

type Sender = http2::SendRequest<Full<Bytes>>;

async fn connect(server: &Endpoint, tls: Option<&ClientTls>) -> Outcome<Sender> {
    let stream = TcpStream::connect(&server.address).await;
    let stream = stream.map_err(|error| away(server, &error))?;
    stream.set_nodelay(true).map_err(|error| away(server, &error))?;
    match (server.is_encrypted, tls) {
        (false, _) => speak(server, stream).await,
        (true, Some(tls)) => speak(server, encrypted(server, tls, stream).await?).await,
        (true, None) => Err(Failure::new(
            Code::Internal,
            "nobody said how to speak TLS".to_owned(),
        )),
    }
}

fn away(server: &Endpoint, error: &dyn fmt::Display) -> Failure {
    Failure::new(Code::Unavailable, format!("{server} cannot be reached: {error}"))
}

/// A server that cannot be believed is not asked again: that does not pass.
async fn encrypted(server: &Endpoint, tls: &ClientTls, stream: TcpStream) -> Outcome<TlsStream<TcpStream>> {
    let untrusted = |words: String| Failure::new(Code::Unauthenticated, words);
    let host = server
        .address
        .rsplit_once(':')
        .map_or(&*server.address, |(host, _)| host);
    let name = tls.name(host).map_err(|error| untrusted(error.to_string()))?;
    let connector = TlsConnector::from(tls.config.clone());
    connector.connect(name, stream).await.map_err(|error| {
        let reason = error.get_ref().and_then(|inner| inner.downcast_ref());
        match reason {
            None => away(server, &error),
            Some(rustls::Error::InvalidMessage(_)) => untrusted("it does not speak TLS".to_owned()),
            Some(_) => untrusted(verified_tls::describe(&error)),
        }
    })
}

async fn speak<Stream>(server: &Endpoint, stream: Stream) -> Outcome<Sender>
where
    Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| away(server, &error))?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended");
        }
    });
    Ok(sender)
}

async fn exchange(
    connection: &mut Sender,
    server: &Endpoint,
    path: &str,
    bytes: Bytes,
    limit: Duration,
) -> Outcome<Bytes> {
    let broken = |error: hyper::Error| {
        let cause = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
        Failure::new(
            Code::Unavailable,
            format!("the connection to {server} broke ({error}{cause})"),
        )
    };
    let scheme = if server.is_encrypted { "https" } else { "http" };
    let request = Request::post(format!("{scheme}://{}{path}", server.address))
        .header(header::CONTENT_TYPE, CONTENT_TYPE)
        .header(header::TE, "trailers")
        .header(header::USER_AGENT, "trainyard")
        .header(
            "grpc-timeout",
            format!("{}m", limit.as_millis().clamp(1, 99_999_999)),
        )
        .body(Full::new(bytes))
        .map_err(|error| Failure::new(Code::Internal, format!("`{server}` is no address: {error}")))?;
    connection.ready().await.map_err(broken)?;
    let response = connection.send_request(request).await.map_err(broken)?;
    read(response, server).await
}

async fn read(response: Response<Incoming>, server: &Endpoint) -> Outcome<Bytes> {
    let (head, body) = response.into_parts();
    if !head.status.is_success() {
        let code = match head.status.as_u16() {
            429 | 502 | 503 | 504 => Code::Unavailable,
            404 => Code::Unimplemented,
            _ => Code::Unknown,
        };
        return Err(Failure::new(
            code,
            format!("{server} answers with the status {}", head.status),
        ));
    }
    verdict(&head.headers)?;
    let collected = http_body_util::Limited::new(body, MOST_BYTES).collect().await;
    let collected = collected.map_err(|error| {
        Failure::new(
            Code::Unavailable,
            format!("the answer of {server} broke off: {error}"),
        )
    })?;
    let trailers = collected.trailers().cloned().unwrap_or_default();
    verdict(&trailers)?;
    if !trailers.contains_key("grpc-status") && !head.headers.contains_key("grpc-status") {
        return Err(Failure::new(
            Code::Unknown,
            format!("{server} does not answer as a server of gRPC does"),
        ));
    }
    // It never says that it takes compressed answers, so what comes so is not large.
    message(&head.headers, &collected.to_bytes(), |_| Ok(()))
}

/// Whether the status is good, where there is one.
fn verdict(headers: &HeaderMap) -> Outcome<()> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(number) = text("grpc-status") else {
        return Ok(());
    };
    match Code::from_number(number.parse().unwrap_or(2)) {
        Code::Ok => Ok(()),
        code => Err(Failure::new(
            code,
            text("grpc-message").map(unescaped).unwrap_or_default(),
        )),
    }
}
