//! HTTP for people and programs that do not speak gRPC: TensorFlow Serving's API under `/v1`, the Open Inference
//! Protocol under `/v2`, metrics and health.

mod json;
mod open_inference;
mod path;
mod tensorflow;

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;

use crate::{
    app::App,
    body::Answer,
    compression::unpacked,
    failure::{Code, Failure, Outcome},
};
use path::{Route, route};

/// JSON takes so many times its bytes once it is read.
const WEIGHT: usize = 8;
const BINARY_WEIGHT: usize = 2;
/// Says where the JSON of a body ends and binary tensors begin.
const JSON_LENGTH: &str = "inference-header-content-length";
const JSON: &str = "application/json";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// An answer that is not an error.
pub(crate) struct Content {
    status: StatusCode,
    kind: &'static str,
    body: Bytes,
    /// How many bytes of the body are JSON, where binary tensors follow them.
    json_length: Option<usize>,
}

impl Content {
    fn json(body: impl Into<Bytes>) -> Self {
        Self {
            status: StatusCode::OK,
            kind: JSON,
            body: body.into(),
            json_length: None,
        }
    }
}

/// How the body is compressed, where it is.
fn encoding(headers: &HeaderMap) -> Option<&str> {
    let encoding = headers.get(header::CONTENT_ENCODING)?;
    Some(encoding.to_str().unwrap_or("something")).filter(|encoding| *encoding != "identity")
}

/// How many bytes of the body are JSON, where binary tensors follow them.
fn json_length(headers: &HeaderMap) -> Outcome<Option<usize>> {
    let Some(length) = headers.get(JSON_LENGTH) else {
        return Ok(None);
    };
    let length = length.to_str().ok().and_then(|length| length.parse().ok());
    match length {
        Some(length) => Ok(Some(length)),
        None => Err(Failure::invalid(format!("`{JSON_LENGTH}` is a number of bytes"))),
    }
}

pub(crate) async fn answer(app: Arc<App>, request: Request<Incoming>) -> Response<Answer> {
    let started = Instant::now();
    let path = request.uri().path().to_owned();
    let Some(route) = route(&path) else {
        let words =
            format!("there is nothing at `{path}`; models are at /v1/models/NAME and /v2/models/NAME");
        return refuse(&Failure::new(Code::NotFound, words));
    };
    if !route.allows(request.method()) {
        let words = format!("`{path}` is asked by {}", route.method());
        let mut response = refuse(&Failure::new(Code::Unimplemented, words));
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        let allowed = HeaderValue::from_str(route.method().as_str());
        response
            .headers_mut()
            .extend(allowed.ok().map(|allowed| (header::ALLOW, allowed)));
        return response;
    }
    let is_head = request.method() == Method::HEAD;
    let outcome = call(&app, &route, request).await;
    let code = outcome.as_ref().err().map_or(Code::Ok, |failure| failure.code);
    app.metrics
        .answered(("rest", route.name()), code, started.elapsed());
    match outcome {
        Ok(content) => respond(content, is_head),
        Err(failure) => refuse(&failure),
    }
}

fn respond(content: Content, is_head: bool) -> Response<Answer> {
    let body = if is_head { Bytes::new() } else { content.body };
    let mut response = Response::new(Answer::new(body, None));
    *response.status_mut() = content.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content.kind));
    if let Some(length) = content.json_length {
        headers.insert(JSON_LENGTH, HeaderValue::from(length));
    }
    response
}

async fn call(app: &App, route: &Route, request: Request<Incoming>) -> Outcome<Content> {
    let (parts, body) = request.into_parts();
    let json_length = json_length(&parts.headers)?;
    // Binary tensors are not much larger once they are read.
    let weight = if json_length.is_some() {
        BINARY_WEIGHT
    } else {
        WEIGHT
    };
    let (mut held, mut unpacking) = (None, app.allowance(weight));
    let mut bytes = Bytes::new();
    if route.method() == Method::POST {
        let (received, memory) = app.receive(body, weight).await?;
        held = Some(memory);
        bytes = match encoding(&parts.headers) {
            None => received,
            Some(encoding) => unpacked(encoding, &received, |more| unpacking.take(more))?,
        };
    }
    let body = bytes;
    let answer = match route {
        Route::Live => Ok(well(true)),
        Route::Ready => Ok(well(app.is_ready())),
        Route::Metrics => Ok(Content {
            kind: METRICS,
            ..Content::json(app.metrics_text())
        }),
        Route::Status { model, choice } => tensorflow::status(app, model, choice),
        Route::Metadata { model, choice } => tensorflow::metadata(app, model, choice),
        Route::Predict { model, choice } => tensorflow::predict(app, model, choice, &body).await,
        Route::Classify { model, choice } => tensorflow::classify(app, model, choice, &body).await,
        Route::Regress { model, choice } => tensorflow::regress(app, model, choice, &body).await,
        Route::Server => Ok(open_inference::server()),
        Route::ModelMetadata { model, version } => open_inference::metadata(app, model, version),
        Route::ModelReady { model, version } => Ok(open_inference::ready(app, model, version)),
        Route::Infer { model, version } => {
            open_inference::infer(app, model, version, &body, json_length).await
        }
    };
    drop((held, unpacking));
    answer
}

/// What a probe is answered.
pub(crate) fn health(is_well: bool) -> Response<Answer> {
    respond(well(is_well), false)
}

/// Probes look at the status only.
fn well(is_well: bool) -> Content {
    Content {
        status: if is_well {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        },
        ..Content::json(if is_well {
            "{}"
        } else {
            r#"{"error":"no version of the model can be served"}"#
        })
    }
}

pub(crate) fn refuse(failure: &Failure) -> Response<Answer> {
    let mut body = String::from("{\"error\":");
    json::write_text(&mut body, &failure.message);
    body.push('}');
    let mut response = Response::new(Answer::new(body, None));
    *response.status_mut() = failure.code.status();
    let kind = HeaderValue::from_static(JSON);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
