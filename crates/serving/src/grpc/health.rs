//! gRPC's own health checks, as Kubernetes' probes make them.

use crate::{
    app::App,
    failure::{Code, Failure, Outcome},
    proto::health::{HealthCheckRequest, HealthCheckResponse, NOT_SERVING, SERVING},
};

/// Services that can be asked after; the empty name is the whole server.
const SERVICES: [&str; 4] = [
    "",
    "tensorflow.serving.PredictionService",
    "tensorflow.serving.ModelService",
    "inference.GRPCInferenceService",
];

pub(super) fn check(app: &App, request: &HealthCheckRequest) -> Outcome<HealthCheckResponse> {
    if !SERVICES.contains(&request.service.as_str()) && request.service != app.catalogue.name {
        let words = format!("there is no service `{}` here", request.service);
        return Err(Failure::new(Code::NotFound, words));
    }
    let status = if app.is_ready() { SERVING } else { NOT_SERVING };
    Ok(HealthCheckResponse { status })
}
