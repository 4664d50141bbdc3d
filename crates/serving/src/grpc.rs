//! gRPC by hand: a message has five bytes before it, a status is in the trailers.

mod config;
mod frame;
mod health;
mod inference;
mod models;
mod prediction;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use prost::Message;
use tokio::time::timeout;

use crate::{
    app::App,
    body::Answer,
    compression::ENCODINGS,
    failure::{Code, Failure, Outcome},
};

pub(crate) use frame::{deadline, framed, message, status, unescaped};

pub(crate) const CONTENT_TYPE: &str = "application/grpc";

/// Whether a request is one of gRPC.
pub(crate) fn is_meant(headers: &HeaderMap) -> bool {
    let content = headers.get(header::CONTENT_TYPE);
    content.is_some_and(|content| content.as_bytes().starts_with(CONTENT_TYPE.as_bytes()))
}

pub(crate) async fn answer(app: Arc<App>, request: Request<Incoming>) -> Response<Answer> {
    let path = request.uri().path().to_owned();
    let Some(method) = Method::from_path(&path) else {
        let words = format!("there is no method `{path}` here");
        return respond(Err(Failure::new(Code::Unimplemented, words)));
    };
    if method == Method::HealthWatch {
        return health::watch(app, request).await;
    }
    let (parts, body) = request.into_parts();
    let limit = deadline(&parts.headers);
    let started = Instant::now();
    let answered = async {
        let (bytes, held) = app.receive(body, 1).await?;
        let mut unpacking = app.allowance(1);
        let request = message(&parts.headers, &bytes, |more| unpacking.take(more))?;
        drop(bytes);
        let answer = method.call(&app, request).await;
        drop((held, unpacking));
        answer
    };
    let outcome = match limit {
        None => answered.await,
        Some(limit) => timeout(limit, answered)
            .await
            .unwrap_or_else(|_| Err(late(limit))),
    };
    let code = outcome.as_ref().err().map_or(Code::Ok, |failure| failure.code);
    app.metrics
        .answered(("grpc", method.name()), code, started.elapsed());
    respond(outcome)
}

fn late(limit: Duration) -> Failure {
    Failure::new(
        Code::DeadlineExceeded,
        format!("the request was not answered within {} ms", limit.as_millis()),
    )
}

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Predict,
    Classify,
    Regress,
    MultiInference,
    GetModelMetadata,
    GetModelStatus,
    HandleReloadConfig,
    ServerLive,
    ServerReady,
    ModelReady,
    ServerMetadata,
    ModelMetadata,
    ModelInfer,
    HealthCheck,
    HealthWatch,
}

impl Method {
    fn from_path(path: &str) -> Option<Self> {
        Some(match path {
            "/tensorflow.serving.PredictionService/Predict" => Self::Predict,
            "/tensorflow.serving.PredictionService/Classify" => Self::Classify,
            "/tensorflow.serving.PredictionService/Regress" => Self::Regress,
            "/tensorflow.serving.PredictionService/MultiInference" => Self::MultiInference,
            "/tensorflow.serving.PredictionService/GetModelMetadata" => Self::GetModelMetadata,
            "/tensorflow.serving.ModelService/GetModelStatus" => Self::GetModelStatus,
            "/tensorflow.serving.ModelService/HandleReloadConfigRequest" => Self::HandleReloadConfig,
            "/inference.GRPCInferenceService/ServerLive" => Self::ServerLive,
            "/inference.GRPCInferenceService/ServerReady" => Self::ServerReady,
            "/inference.GRPCInferenceService/ModelReady" => Self::ModelReady,
            "/inference.GRPCInferenceService/ServerMetadata" => Self::ServerMetadata,
            "/inference.GRPCInferenceService/ModelMetadata" => Self::ModelMetadata,
            "/inference.GRPCInferenceService/ModelInfer" => Self::ModelInfer,
            "/grpc.health.v1.Health/Check" => Self::HealthCheck,
            "/grpc.health.v1.Health/Watch" => Self::HealthWatch,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Predict => "Predict",
            Self::Classify => "Classify",
            Self::Regress => "Regress",
            Self::MultiInference => "MultiInference",
            Self::GetModelMetadata => "GetModelMetadata",
            Self::GetModelStatus => "GetModelStatus",
            Self::HandleReloadConfig => "HandleReloadConfigRequest",
            Self::ServerLive => "ServerLive",
            Self::ServerReady => "ServerReady",
            Self::ModelReady => "ModelReady",
            Self::ServerMetadata => "ServerMetadata",
            Self::ModelMetadata => "ModelMetadata",
            Self::ModelInfer => "ModelInfer",
            Self::HealthCheck => "HealthCheck",
            Self::HealthWatch => "HealthWatch",
        }
    }

    async fn call(self, app: &App, request: Bytes) -> Outcome<Bytes> {
        match self {
            Self::Predict => written(&prediction::predict(app, read(request)?).await?),
            Self::Classify => written(&prediction::classify(app, read(request)?).await?),
            Self::Regress => written(&prediction::regress(app, read(request)?).await?),
            Self::MultiInference => written(&prediction::several(app, read(request)?).await?),
            Self::GetModelMetadata => written(&models::metadata(app, &read(request)?)?),
            Self::GetModelStatus => written(&models::status(app, &read(request)?)?),
            Self::HandleReloadConfig => written(&config::reload(app, read(request)?).await?),
            Self::ServerLive => written(&inference::live()),
            Self::ServerReady => written(&inference::ready(app)),
            Self::ModelReady => written(&inference::model_ready(app, &read(request)?)),
            Self::ServerMetadata => written(&inference::server_metadata()),
            Self::ModelMetadata => written(&inference::model_metadata(app, &read(request)?)?),
            Self::ModelInfer => written(&inference::infer(app, read(request)?).await?),
            // A watch is answered before this, as it has no end; whoever asks once is told once.
            Self::HealthCheck | Self::HealthWatch => written(&health::check(app, &read(request)?)?),
        }
    }
}

fn read<M: Message + Default>(bytes: Bytes) -> Outcome<M> {
    M::decode(bytes).map_err(|error| Failure::invalid(format!("the request cannot be read: {error}")))
}

#[expect(clippy::unnecessary_wraps, reason = "it ends a chain of what may fail")]
fn written(message: &impl Message) -> Outcome<Bytes> {
    Ok(framed(message))
}

pub(crate) fn respond(outcome: Outcome<Bytes>) -> Response<Answer> {
    let mut response = match outcome {
        Ok(message) => Response::new(Answer::new(message, Some(good()))),
        // Where there is no message, the status is in the headers.
        Err(failure) => {
            let mut response = Response::new(Answer::default());
            status(response.headers_mut(), &failure);
            response
        }
    };
    introduce(response.headers_mut());
    response
}

/// The trailers of an answer that was given.
fn good() -> HeaderMap {
    HeaderMap::from_iter([(
        HeaderName::from_static("grpc-status"),
        HeaderValue::from_static("0"),
    )])
}

/// The headers of every answer.
fn introduce(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    headers.insert("grpc-accept-encoding", HeaderValue::from_static(ENCODINGS));
}
