//! Requests that were kept, as a model brings them to warm up a server.

use super::prediction::{ExamplesRequest, MultiInferenceRequest, PredictRequest};

/// One of them is there.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PredictionLog {
    #[prost(message, optional, tag = "2")]
    pub classify: Option<ExamplesLog>,
    #[prost(message, optional, tag = "3")]
    pub regress: Option<ExamplesLog>,
    #[prost(message, optional, tag = "4")]
    pub multi_inference: Option<MultiInferenceLog>,
    #[prost(message, optional, tag = "6")]
    pub predict: Option<PredictLog>,
}

/// Of `Classify` and `Regress` alike.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ExamplesLog {
    #[prost(message, optional, tag = "1")]
    pub request: Option<ExamplesRequest>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MultiInferenceLog {
    #[prost(message, optional, tag = "1")]
    pub request: Option<MultiInferenceRequest>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PredictLog {
    #[prost(message, optional, tag = "1")]
    pub request: Option<PredictRequest>,
}
