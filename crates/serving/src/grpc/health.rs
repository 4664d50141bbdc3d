//! gRPC's own health checks, as Kubernetes' probes make them, and the watch that clients keep open.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};

use super::{framed, good, introduce, message, read, respond};
use crate::{
    app::App,
    body::Answer,
    failure::{Code, Failure, Outcome},
    proto::health::{HealthCheckRequest, HealthCheckResponse, NOT_SERVING, SERVICE_UNKNOWN, SERVING},
};

/// Services that can be asked after; the empty name is the whole server.
const SERVICES: [&str; 4] = [
    "",
    "tensorflow.serving.PredictionService",
    "tensorflow.serving.ModelService",
    "inference.GRPCInferenceService",
];
/// How soon a change is told.
const GLANCE: Duration = Duration::from_millis(250);

pub(super) fn check(app: &App, request: &HealthCheckRequest) -> Outcome<HealthCheckResponse> {
    match status(app, &request.service) {
        SERVICE_UNKNOWN => {
            let words = format!("there is no service `{}` here", request.service);
            Err(Failure::new(Code::NotFound, words))
        }
        status => Ok(HealthCheckResponse { status }),
    }
}

fn status(app: &App, service: &str) -> i32 {
    if !SERVICES.contains(&service) && service != app.catalogue.name {
        SERVICE_UNKNOWN
    } else if app.is_ready() {
        SERVING
    } else {
        NOT_SERVING
    }
}

/// Tells the status, and again whenever it is another, until the server stops or the client goes.
pub(super) async fn watch(app: Arc<App>, request: Request<Incoming>) -> Response<Answer> {
    let request = match asked(&app, request).await {
        Ok(request) => request,
        Err(failure) => return respond(Err(failure)),
    };
    let (sender, messages) = mpsc::channel(1);
    tokio::spawn(tell(app, request.service, sender));
    let mut response = Response::new(Answer::Stream {
        messages,
        trailers: Some(good()),
    });
    introduce(response.headers_mut());
    response
}

async fn asked(app: &App, request: Request<Incoming>) -> Outcome<HealthCheckRequest> {
    let (parts, body) = request.into_parts();
    let (bytes, _held) = app.receive(body, 1).await?;
    let mut unpacking = app.allowance(1);
    read(message(&parts.headers, &bytes, |more| unpacking.take(more))?)
}

async fn tell(app: Arc<App>, service: String, messages: mpsc::Sender<Bytes>) {
    let mut clock = interval(GLANCE);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = None;
    loop {
        tokio::select! {
            () = messages.closed() => return,
            _ = clock.tick() => {}
        }
        let status = status(&app, &service);
        let is_new = told.replace(status) != Some(status);
        if is_new
            && messages
                .send(framed(&HealthCheckResponse { status }))
                .await
                .is_err()
        {
            return;
        }
        if app.is_stopping.load(std::sync::atomic::Ordering::Relaxed) {
            return;
        }
    }
}
