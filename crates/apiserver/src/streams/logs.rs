//! What a container has written, from its node to the client as it comes.

pub(super) mod websocket;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::{HeaderValue, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use jiff::{SignedDuration, Timestamp};
use kinds::pods::streams;
use node_api::{LogOptions, LogStream, NodeError, Run};
use serde_json::json;

use super::backend;
use crate::{
    call::Call,
    error::{ApiError, Result},
    object,
    response::{self, Answer},
};

pub(crate) async fn logs(call: &Call) -> Result<Answer> {
    let Some(pieces) = open(call).await? else {
        return Ok(nothing_yet());
    };
    let body = StreamBody::new(pieces.map(|piece| Ok(Frame::data(piece))));
    let mut answer = response::with_type(StatusCode::OK, "text/plain", body.boxed_unsync());
    // A browser is to wait for lines, not to guess what they are.
    answer.headers_mut().insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    Ok(answer)
}

/// The answer for a pod that is on no node yet.
fn nothing_yet() -> Answer {
    response::text(StatusCode::NO_CONTENT, "")
}

/// The log in pieces, none of them empty, until its end or the server's; `None` for a pod that is on
/// no node yet.
async fn open(call: &Call) -> Result<Option<impl Stream<Item = Bytes> + Send + use<>>> {
    let options = options(call, Timestamp::now())?;
    let pod = backend::pod(call, &call.target.name)?;
    let wanted = call.query.get("container").unwrap_or_default();
    let container =
        streams::container(&pod, wanted).map_err(|error| ApiError::bad_request(error.to_string()))?;
    if backend::node_name(&pod).is_empty() {
        return Ok(None);
    }
    let path = format!(
        "/containerLogs/{}/{}/{container}",
        object::namespace(&pod),
        object::name(&pod)
    );
    let node = backend::node(call, &pod, &path)?;
    let id = streams::log_source(&pod, container, call.query.flag("previous"))
        .map_err(|reason| ApiError::bad_request(reason.to_string()))?;
    let logs = node
        .logs(&backend::identity(&pod), Run { container, id }, options)
        .await
        .map_err(|error| refused(call, &error))?;
    let api = call.api.clone();
    let pieces = logs
        .take_while(|piece| std::future::ready(piece.is_ok()))
        .filter_map(|piece| std::future::ready(piece.ok()))
        .filter(|piece| std::future::ready(!piece.is_empty()))
        .take_until(Box::pin(async move { api.stopping().await }));
    Ok(Some(pieces))
}

/// What the real server makes of its node's refusal.
fn refused(call: &Call, error: &NodeError) -> ApiError {
    match error {
        NodeError::NoLogs(why) => ApiError::bad_request(why.clone()),
        NodeError::Failed(why) => ApiError::internal(why),
        NodeError::NoPod | NodeError::NoContainer(_) => {
            let name = &call.target.name;
            ApiError::new(
                StatusCode::NOT_FOUND,
                "NotFound",
                format!("the server could not find the requested resource ( pods/log {name})"),
            )
            .with_details(json!({ "name": name, "kind": "pods/log" }))
        }
    }
}

/// Reads and checks the query.
fn options(call: &Call, now: Timestamp) -> Result<LogOptions> {
    let mut raw = json!({});
    for field in ["tailLines", "limitBytes", "sinceSeconds"] {
        raw[field] = call.query.int(field)?.into();
    }
    for field in ["sinceTime", "stream"] {
        raw[field] = call.query.text(field).into();
    }
    let since_time = call.query.text("sinceTime").map(parse_time).transpose()?;
    let mut errors = Vec::new();
    streams::validate_log_options(&raw, &mut errors);
    if !errors.is_empty() {
        return Err(ApiError::invalid("", "PodLogOptions", &call.target.name, &errors));
    }
    let since_seconds = kinds::read::int(&raw, "sinceSeconds")
        .and_then(|seconds| now.checked_sub(SignedDuration::from_secs(seconds)).ok());
    let number = |field: &str| kinds::read::int(&raw, field).and_then(|number| u64::try_from(number).ok());
    Ok(LogOptions {
        follow: call.query.flag("follow"),
        timestamps: call.query.flag("timestamps"),
        since: since_time.or(since_seconds),
        tail_lines: number("tailLines"),
        limit_bytes: number("limitBytes"),
        stream: LogStream::All,
    })
}

fn parse_time(text: &str) -> Result<Timestamp> {
    text.parse().map_err(|_| {
        ApiError::bad_request(format!(
            "parsing time \"{text}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"{text}\" as \"2006\""
        ))
    })
}
