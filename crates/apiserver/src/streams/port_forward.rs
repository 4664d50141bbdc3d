//! Connections to a pod's ports: for each a pair of streams, one for its bytes and one for what goes
//! wrong.

mod pairs;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use node_api::{Connection, Node, Pod};
use serde_json::Value;
use tokio::{
    io::{AsyncWriteExt as _, ReadHalf, WriteHalf, split},
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};

use self::pairs::{Added, Pair, Pairs};
use super::{
    Incoming, backend, channels, connections,
    multiplex::{Abandoned, Input, Output, Protocol, Purpose, Streams},
    read_piece, spdy,
    upgrade::{self, Refusal, Wanted},
};
use crate::{
    call::Call,
    error::{ApiError, Result},
    in_flight,
    response::Answer,
};

const SPDY: &[&str] = &["portforward.k8s.io"];
const TUNNELED: &str = "SPDY/3.1+portforward.k8s.io";
const V4: &str = "v4.channel.k8s.io";
const V4_BASE64: &str = "v4.base64.channel.k8s.io";
/// How long a client gets to open the second stream of a pair.
const STREAM_CREATION: Duration = Duration::from_secs(30);
/// Connections to the pod at the same time, over one of the client's.
const MOST_FORWARDS: usize = 512;

struct Agreement {
    answer: Answer,
    protocol: Protocol,
    /// The ports are said beforehand; the client hears each when its connection is tried.
    announced: Option<usize>,
}

pub(super) fn answer(call: &Call, incoming: Incoming, options: &Value) -> Result<Answer> {
    let pod = backend::pod(call, &call.target.name)?;
    let node = backend::node(call, &pod, "")?;
    let wanted = Wanted::read(&call.headers)?;
    let Some(upgrade) = incoming.upgrade else {
        return Err(ApiError::bad_request("Upgrade request required"));
    };
    let Some(place) = call.api.connections.enter() else {
        return Ok(in_flight::too_many_requests());
    };
    let ports = kinds::read::list(options, "ports").iter();
    let ports: Vec<u64> = ports.filter_map(Value::as_u64).collect();
    let Agreement {
        answer,
        protocol,
        announced,
    } = match agree(wanted, &ports) {
        Ok(agreement) => agreement,
        Err(refusal) => return Ok(refusal.into_answer()),
    };
    let target = Arc::new(Target {
        node,
        pod: backend::identity(&pod),
    });
    let work = move |streams| run(streams, target, announced);
    connections::carry(call.api.clone(), upgrade, place, protocol, work);
    Ok(answer)
}

fn agree(wanted: Wanted, ports: &[u64]) -> Result<Agreement, Refusal> {
    let (key, protocols) = match wanted {
        Wanted::Spdy { protocols } if protocols.is_empty() => return Err(Refusal::no_protocol()),
        Wanted::Spdy { protocols } => {
            return Ok(Agreement {
                answer: upgrade::to_spdy(upgrade::first_known(&protocols, SPDY)?),
                protocol: spdy::protocol(),
                announced: None,
            });
        }
        Wanted::WebSocket { key, protocols } => (key, protocols),
    };
    if protocols.iter().any(|protocol| protocol == TUNNELED) {
        return Ok(Agreement {
            answer: upgrade::to_websocket(&key, TUNNELED),
            protocol: spdy::tunneled(),
            announced: None,
        });
    }
    let version = if protocols.is_empty() {
        ""
    } else {
        upgrade::first_known(&protocols, &[V4, V4_BASE64])?
    };
    if ports.is_empty() {
        let text = "query parameter \"ports\" is required";
        return Err(Refusal::new(http::StatusCode::BAD_REQUEST, text));
    }
    let form = channels::Form {
        base64: version == V4_BASE64,
        closes: false,
    };
    Ok(Agreement {
        answer: upgrade::to_websocket(&key, version),
        protocol: channels::protocol(form, announced_channels(ports)),
        announced: Some(ports.len()),
    })
}

/// Two channels for each port, in the order they were asked for.
fn announced_channels(ports: &[u64]) -> Vec<Purpose> {
    // Channels are numbered by a byte.
    let ports = ports.iter().take(usize::from(u8::MAX / 2)).enumerate();
    ports
        .flat_map(|(request, port)| {
            ["data", "error"].map(|kind| Purpose {
                kind: kind.to_owned(),
                port: port.to_string(),
                request: request.to_string(),
            })
        })
        .collect()
}

struct Target {
    node: Arc<dyn Node>,
    pod: Pod,
}

async fn run(mut streams: Streams, target: Arc<Target>, announced: Option<usize>) {
    let mut pairs = Pairs::new(STREAM_CREATION);
    let mut forwards = JoinSet::new();
    let mut begun = 0;
    let mut ticks = interval(STREAM_CREATION);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            stream = streams.accept() => {
                let Some(stream) = stream else { return };
                match pairs.add(stream) {
                    Added::Waiting => {}
                    Added::Pair(pair) if forwards.len() < MOST_FORWARDS => {
                        begun += 1;
                        forwards.spawn(forward(target.clone(), pair, announced.is_some()));
                    }
                    Added::Pair(pair) => pair.refuse("too many connections at once").await,
                    Added::Refused(stream) => {
                        let _ = stream.output.reset().await;
                    }
                }
            }
            _ = ticks.tick() => pairs.forget_late().await,
            _ = forwards.join_next(), if !forwards.is_empty() => {
                if announced == Some(begun) && forwards.is_empty() {
                    return;
                }
            }
        }
    }
}

async fn forward(target: Arc<Target>, pair: Pair, announces: bool) {
    if announces {
        let port = Bytes::copy_from_slice(&pair.port.to_le_bytes());
        for stream in [&pair.data, &pair.error] {
            let _ = stream.output.send(port.clone()).await;
        }
    }
    match target.node.forward(&target.pod, pair.port).await {
        Ok(connection) => {
            if carry(connection, pair.data.input, &pair.data.output)
                .await
                .is_err()
            {
                let _ = pair.data.output.reset().await;
            }
            let _ = pair.error.output.end().await;
        }
        Err(error) => {
            let why = format!(
                "error forwarding port {} to pod {}, uid {}: {error}",
                pair.port, target.pod.name, target.pod.uid
            );
            pair.refuse(&why).await;
        }
    }
}

/// Carries bytes until the pod has nothing more to say, or the client does not listen any more.
async fn carry(connection: Connection, input: Input, output: &Output) -> Result<(), Abandoned> {
    let (from_pod, to_pod) = split(connection);
    let sending = std::pin::pin!(to_the_pod(input, to_pod));
    let receiving = std::pin::pin!(to_the_client(from_pod, output));
    tokio::select! {
        received = receiving => received,
        Err(abandoned) = sending => Err(abandoned),
    }
}

async fn to_the_pod(mut input: Input, mut pod: WriteHalf<Connection>) -> Result<(), Abandoned> {
    while let Some(bytes) = input.next().await? {
        if pod.write_all(&bytes).await.is_err() || pod.flush().await.is_err() {
            // Why, the other direction will tell.
            return Ok(());
        }
    }
    let _ = pod.shutdown().await;
    // A client that sends nothing more may still change its mind about the answer.
    input.next().await.map(drop)
}

async fn to_the_client(mut pod: ReadHalf<Connection>, output: &Output) -> Result<(), Abandoned> {
    while let Ok(piece) = read_piece(&mut pod).await
        && !piece.is_empty()
    {
        output.send(piece).await?;
    }
    output.end().await
}
