//! What does not end with an answer: logs, commands, port-forwards and proxied requests. They come
//! from the node a pod runs on; here the protocols of clients are spoken.

mod backend;
mod channels;
pub(crate) mod connections;
mod logs;
mod multiplex;
mod options;
mod port_forward;
mod proxy;
mod remote_command;
mod spdy;
mod upgrade;

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use hyper::upgrade::OnUpgrade;

pub(crate) use self::logs::logs;
use self::remote_command::Means;
use crate::{
    admission,
    body::RequestBody,
    call::Call,
    error::{ApiError, Result},
    request_info::ResourceRequest,
    response::Answer,
};

/// Where a request came from, if it came over a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub std::net::SocketAddr);

/// What a connecting request brings beside its headers.
pub(crate) struct Incoming {
    pub method: Method,
    pub uri: Uri,
    pub body: RequestBody,
    /// The connection itself, once the answer has gone out.
    pub upgrade: Option<OnUpgrade>,
    pub peer: Option<Peer>,
}

/// Pieces that are read from processes and connections.
const PIECE: usize = 32 << 10;

/// Whether the answer is a connection on which HTTP is no longer spoken: always where both sides talk,
/// and for logs where the client wants them that way.
pub(crate) fn is_connection(target: &ResourceRequest, headers: &HeaderMap) -> bool {
    target.is_connection() || (target.is_stream() && upgrade::is_websocket(headers))
}

/// Answers a request that connects its client to something.
pub(crate) async fn connect(call: &Call, incoming: Incoming) -> Result<Answer> {
    let name = call.target.subresource.as_str();
    let Some(subresource) = call.kind.subresource(name) else {
        return Err(ApiError::no_such_resource());
    };
    let is_known = subresource.verbs.contains(&call.target.verb) || incoming.method == Method::OPTIONS;
    if !is_known || (name != "proxy" && !matches!(incoming.method, Method::GET | Method::POST)) {
        return Err(ApiError::method_not_allowed());
    }
    call.check_name()?;
    if name == "log" {
        return logs::websocket::answer(call, incoming).await;
    }
    if call.query.get("dryRun").is_some() {
        return Err(ApiError::bad_request("dryRun is not supported"));
    }
    let mut options = options::read(call, &subresource.kind)?;
    admission::admit_connection(call, &mut options).await?;
    match name {
        "exec" => remote_command::answer(call, incoming, &options, Means::Exec).await,
        "attach" => remote_command::answer(call, incoming, &options, Means::Attach).await,
        "portforward" => port_forward::answer(call, incoming, &options),
        _ => proxy::answer(call, incoming).await,
    }
}

/// Reads what is there, a piece at most; nothing is the end.
async fn read_piece(reader: &mut (impl tokio::io::AsyncRead + Unpin)) -> std::io::Result<Bytes> {
    use tokio::io::AsyncReadExt as _;
    let mut piece = bytes::BytesMut::with_capacity(PIECE);
    reader.read_buf(&mut piece).await?;
    Ok(piece.freeze())
}
