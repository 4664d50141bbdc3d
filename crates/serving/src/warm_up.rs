//! Requests that a model brings with it, in the file where TensorFlow Serving looks for them. They are answered before
//! the model serves, and a model that cannot answer them does not.

use std::{collections::BTreeMap, io};

use bytes::Bytes;
use prost::Message as _;
use saved_model::{
    DEFAULT_SIGNATURE, Files, Model, Tensor,
    records::records,
    write::{CLASSIFY, REGRESS},
};

use crate::{
    examples::{examples, rows},
    failure::{Failure, Outcome},
    proto::{
        log::PredictionLog,
        prediction::{ExamplesRequest, ModelSpec, PredictRequest},
    },
};

const FILE: &str = "assets.extra/tf_serving_warmup_requests";
/// TensorFlow Serving refuses files with more.
const MOST: usize = 1000;

/// Why a model is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WarmUpError {
    #[error("`{FILE}` cannot be read")]
    Unreadable(#[source] io::Error),
    #[error("`{FILE}` is damaged")]
    Damaged(#[source] saved_model::records::DamagedRecord),
    #[error("`{FILE}` has {0} requests, more than {MOST}")]
    TooMany(usize),
    #[error("request {number} of `{FILE}` is not answered: {why}")]
    Refused { number: usize, why: String },
}

impl WarmUpError {
    /// Whether the file may be right when it is looked at again.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreadable(_) | Self::Damaged(_))
    }
}

/// Answers all of them; how many there were.
pub(crate) fn warm_up(files: &dyn Files, model: &Model) -> Result<usize, WarmUpError> {
    let file = match files.read(FILE) {
        Ok(file) => Bytes::from(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(WarmUpError::Unreadable(error)),
    };
    let records = records(&file).map_err(WarmUpError::Damaged)?;
    if records.len() > MOST {
        return Err(WarmUpError::TooMany(records.len()));
    }
    for (index, record) in records.iter().enumerate() {
        answer(model, record).map_err(|failure| WarmUpError::Refused {
            number: index + 1,
            why: failure.message,
        })?;
    }
    Ok(records.len())
}

fn answer(model: &Model, record: &Bytes) -> Outcome<()> {
    let log = PredictionLog::decode(record.clone())
        .map_err(|error| Failure::invalid(format!("it is none ({error})")))?;
    let asked = |log: Option<crate::proto::log::ExamplesLog>| log.and_then(|log| log.request);
    if let Some(request) = log.predict.and_then(|log| log.request) {
        return predict(model, request);
    }
    if let Some(request) = asked(log.classify) {
        return from_examples(model, CLASSIFY, request);
    }
    if let Some(request) = asked(log.regress) {
        return from_examples(model, REGRESS, request);
    }
    if let Some(request) = log.multi_inference.and_then(|log| log.request) {
        return request.tasks.into_iter().try_for_each(|task| {
            let one = ExamplesRequest {
                model_spec: task.model_spec,
                input: request.input.clone(),
            };
            from_examples(model, &task.method_name, one)
        });
    }
    // Sessions and streams, which nobody can ask for here either.
    Ok(())
}

fn predict(model: &Model, request: PredictRequest) -> Outcome<()> {
    let given = request
        .inputs
        .into_iter()
        .map(|(name, wire)| match Tensor::try_from(wire) {
            Ok(tensor) => Ok((name, tensor)),
            Err(error) => Err(Failure::invalid(format!(
                "the input `{name}` cannot be read: {error}"
            ))),
        });
    run(model, request.model_spec.as_ref(), given.collect::<Outcome<_>>()?)
}

fn from_examples(model: &Model, method: &str, request: ExamplesRequest) -> Outcome<()> {
    let name = named(request.model_spec.as_ref());
    let signature = model.signature(name).ok_or_else(|| unknown(name))?;
    let examples = examples(request.input.unwrap_or_default())?;
    run(
        model,
        request.model_spec.as_ref(),
        rows(signature, name, method, &examples)?,
    )
}

fn run(model: &Model, spec: Option<&ModelSpec>, given: BTreeMap<String, Tensor>) -> Outcome<()> {
    let name = named(spec);
    let signature = model.signature(name).ok_or_else(|| unknown(name))?;
    signature.ask(given)?;
    Ok(())
}

fn named(spec: Option<&ModelSpec>) -> &str {
    let name = spec.map(|spec| spec.signature_name.as_str());
    name.filter(|name| !name.is_empty()).unwrap_or(DEFAULT_SIGNATURE)
}

fn unknown(name: &str) -> Failure {
    Failure::invalid(format!("the model has no signature `{name}`"))
}
