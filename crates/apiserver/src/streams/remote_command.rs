//! Commands in containers, new ones (`exec`) and those that run (`attach`): which protocol the client
//! speaks, and the bytes between its streams and the process.

mod agreement;
mod session;
mod status;

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use node_api::{Command, Node, NodeError, Pod, Session, Streams};
use serde_json::Value;
use tokio::time::timeout;

use self::{agreement::Agreement, session::Ends};
use super::{
    Incoming, backend, connections,
    multiplex::Streams as ClientStreams,
    upgrade::{Refusal, Wanted},
};
use crate::{
    call::Call,
    error::{ApiError, Result},
    in_flight,
    response::Answer,
};

/// How long a client gets to open the streams it asked for.
const STREAM_CREATION: Duration = Duration::from_secs(30);

/// What becomes of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    Exec,
    Attach,
}

/// What is asked of which container.
struct Target {
    node: Arc<dyn Node>,
    pod: Pod,
    container: String,
    means: Means,
    command: Command,
}

pub(super) async fn answer(call: &Call, incoming: Incoming, options: &Value, means: Means) -> Result<Answer> {
    let pod = backend::pod(call, &call.target.name)?;
    let container = kinds::pods::streams::container(&pod, kinds::read::text(options, "container"))
        .map_err(|error| ApiError::bad_request(error.to_string()))?;
    let target = Target {
        node: backend::node(call, &pod, "")?,
        pod: backend::identity(&pod),
        container: container.to_owned(),
        means,
        command: command(options),
    };
    let wanted = Wanted::read(&call.headers)?;
    let Some(upgrade) = incoming.upgrade else {
        return Err(ApiError::bad_request("Upgrade request required"));
    };
    let Some(place) = call.api.connections.enter() else {
        return Ok(in_flight::too_many_requests());
    };
    let streams = target.command.streams;
    let agreement = match target.check().and_then(|()| Agreement::find(wanted, streams.tty)) {
        Ok(agreement) => agreement,
        Err(refusal) => return Ok(refusal.into_answer()),
    };
    let begun = target.begin().await;
    // Only what was said over the stream is heard by clients of the newest protocol.
    if let Err(refusal) = &begun
        && !agreement.tells_refusals
        && let Some(refusal) = target.before_the_stream(refusal)
    {
        return Ok(refusal.into_answer());
    }
    let Agreement {
        answer,
        protocol,
        talk,
        ..
    } = agreement;
    let work = move |streams| run(streams, target, talk, begun);
    connections::carry(call.api.clone(), upgrade, place, protocol, work);
    Ok(answer)
}

fn command(options: &Value) -> Command {
    let flag = |name: &str| options.get(name).and_then(Value::as_bool).unwrap_or_default();
    let argv = kinds::read::list(options, "command").iter();
    let tty = flag("tty");
    Command {
        argv: argv.filter_map(Value::as_str).map(str::to_owned).collect(),
        streams: Streams {
            stdin: flag("stdin"),
            stdout: flag("stdout"),
            // A terminal has one output.
            stderr: flag("stderr") && !tty,
            tty,
        },
    }
}

impl Target {
    fn check(&self) -> Result<(), Refusal> {
        let streams = self.command.streams;
        if !(streams.stdin || streams.stdout || streams.stderr) {
            let text = "you must specify at least 1 of stdin, stdout, stderr";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, text));
        }
        if self.means == Means::Exec && self.command.argv.is_empty() {
            let text = "you must specify at least one command for the container";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, text));
        }
        Ok(())
    }

    async fn begin(&self) -> Result<Session, NodeError> {
        let (pod, container) = (&self.pod, &self.container);
        match self.means {
            Means::Exec => self.node.exec(pod, container, self.command.clone()).await,
            Means::Attach => self.node.attach(pod, container, self.command.streams).await,
        }
    }

    /// What the real node answers before there is a stream, if it does.
    fn before_the_stream(&self, error: &NodeError) -> Option<Refusal> {
        let code = match error {
            NodeError::NoPod => StatusCode::NOT_FOUND,
            NodeError::NoContainer(_) => StatusCode::INTERNAL_SERVER_ERROR,
            NodeError::NoLogs(_) | NodeError::Failed(_) => return None,
        };
        Some(Refusal::new(code, self.words(error)))
    }

    fn words(&self, error: &NodeError) -> String {
        match (error, self.means) {
            (NodeError::NoContainer(container), Means::Attach) => format!(
                "container {container} not found in pod {}_{}",
                self.pod.name, self.pod.namespace
            ),
            _ => error.to_string(),
        }
    }

    /// The end of a process, or of the attempt to have one, as clients are told it.
    fn status(&self, end: Result<i32, NodeError>) -> Value {
        match (end, self.means) {
            (Ok(0), _) => status::success(),
            (Ok(code), _) => status::exit(code),
            (Err(error @ (NodeError::NoPod | NodeError::NoContainer(_))), _) => {
                status::internal(&format!("unable to upgrade connection: {}", self.words(&error)))
            }
            (Err(error), Means::Exec) => {
                status::internal(&format!("error executing command in container: {error}"))
            }
            (Err(error), Means::Attach) => {
                status::internal(&format!("error attaching to container: {error}"))
            }
        }
    }
}

async fn run(
    mut streams: ClientStreams,
    target: Target,
    talk: agreement::Talk,
    begun: Result<Session, NodeError>,
) {
    let expected = talk.expected(target.command.streams);
    let Ok(Some(ends)) = timeout(STREAM_CREATION, Ends::collect(&mut streams, expected)).await else {
        return tracing::debug!("timed out waiting for client to create streams");
    };
    streams.close();
    if talk.greets {
        ends.greet().await;
    }
    let error = ends.error.output.clone();
    let end = match begun {
        Ok(session) => session::carry(session, ends).await,
        Err(refusal) => Err(refusal),
    };
    let status = talk.status.text(&target.status(end));
    if !status.is_empty() {
        let _ = error.send(status.into()).await;
    }
    let _ = error.end().await;
}
