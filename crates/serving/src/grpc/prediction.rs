//! TensorFlow Serving's predictions, classes and regressions.

use std::collections::BTreeMap;

use saved_model::{
    DEFAULT_SIGNATURE, Tensor,
    proto::TensorProto,
    write::{CLASSIFY, REGRESS},
};

use super::models::{answered_by, find};
use crate::{
    app::App,
    examples,
    failure::{Failure, Outcome},
    proto::prediction::{
        ClassificationResponse, ExamplesRequest, InferenceResult, ModelSpec, MultiInferenceRequest,
        MultiInferenceResponse, PredictRequest, PredictResponse, RegressionResponse,
    },
};

pub(super) async fn predict(app: &App, request: PredictRequest) -> Outcome<PredictResponse> {
    let spec = request.model_spec.as_ref();
    let version = find(app, spec)?;
    let signature = signature(spec);
    let wanted = request.inputs.values().map(TensorProto::tensor_bytes);
    let held = app.hold(wanted.fold(0, usize::saturating_add))?;
    let mut given = BTreeMap::new();
    for (name, wire) in request.inputs {
        let tensor = Tensor::try_from(wire)
            .map_err(|error| Failure::invalid(format!("the input `{name}` cannot be read: {error}")))?;
        given.insert(name, tensor);
    }
    let outputs = app
        .ask(&version, signature, given, &request.output_filter)
        .await?;
    drop(held);
    Ok(PredictResponse {
        outputs: outputs
            .into_iter()
            .map(|(name, tensor)| (name, TensorProto::from(&tensor)))
            .collect(),
        model_spec: Some(answered_by(app, &version, signature)),
    })
}

pub(super) async fn classify(app: &App, request: ExamplesRequest) -> Outcome<ClassificationResponse> {
    let spec = request.model_spec.as_ref();
    let version = find(app, spec)?;
    let signature = signature(spec);
    let examples = examples::examples(request.input.unwrap_or_default())?;
    let result = examples::classify(app, &version, signature, &examples).await?;
    Ok(ClassificationResponse {
        result: Some(result),
        model_spec: Some(answered_by(app, &version, signature)),
    })
}

pub(super) async fn regress(app: &App, request: ExamplesRequest) -> Outcome<RegressionResponse> {
    let spec = request.model_spec.as_ref();
    let version = find(app, spec)?;
    let signature = signature(spec);
    let examples = examples::examples(request.input.unwrap_or_default())?;
    let result = examples::regress(app, &version, signature, &examples).await?;
    Ok(RegressionResponse {
        result: Some(result),
        model_spec: Some(answered_by(app, &version, signature)),
    })
}

/// Several questions about the same examples.
pub(super) async fn several(app: &App, request: MultiInferenceRequest) -> Outcome<MultiInferenceResponse> {
    if request.tasks.is_empty() {
        return Err(Failure::invalid("the request has no tasks"));
    }
    let examples = examples::examples(request.input.unwrap_or_default())?;
    let mut results = Vec::with_capacity(request.tasks.len());
    for task in &request.tasks {
        let spec = task.model_spec.as_ref();
        let version = find(app, spec)?;
        let signature = signature(spec);
        let mut result = InferenceResult {
            model_spec: Some(answered_by(app, &version, signature)),
            ..InferenceResult::default()
        };
        match task.method_name.as_str() {
            CLASSIFY => {
                let classes = examples::classify(app, &version, signature, &examples).await?;
                result.classification = Some(classes);
            }
            REGRESS => {
                let values = examples::regress(app, &version, signature, &examples).await?;
                result.regression = Some(values);
            }
            other => {
                return Err(Failure::invalid(format!(
                    "a task has the method `{CLASSIFY}` or `{REGRESS}`, not `{other}`"
                )));
            }
        }
        results.push(result);
    }
    Ok(MultiInferenceResponse { results })
}

fn signature(spec: Option<&ModelSpec>) -> &str {
    let named = spec.map(|spec| spec.signature_name.as_str());
    named.filter(|name| !name.is_empty()).unwrap_or(DEFAULT_SIGNATURE)
}
