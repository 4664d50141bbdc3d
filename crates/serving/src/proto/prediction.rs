//! `tensorflow.serving`: predictions, classes, regressions, and what is known of a model.

use std::collections::BTreeMap;

use bytes::Bytes;
use saved_model::proto::{Example, SignatureDef, TensorProto};

#[derive(Clone, PartialEq, prost::Message)]
pub struct ModelSpec {
    #[prost(string, tag = "1")]
    pub name: String,
    /// Absent: the latest.
    #[prost(message, optional, tag = "2")]
    pub version: Option<Int64Value>,
    #[prost(string, tag = "3")]
    pub signature_name: String,
    #[prost(string, tag = "4")]
    pub version_label: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Int64Value {
    #[prost(int64, tag = "1")]
    pub value: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PredictRequest {
    #[prost(message, optional, tag = "1")]
    pub model_spec: Option<ModelSpec>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub inputs: BTreeMap<String, TensorProto>,
    /// The outputs that are wanted; none: all.
    #[prost(string, repeated, tag = "3")]
    pub output_filter: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PredictResponse {
    #[prost(btree_map = "string, message", tag = "1")]
    pub outputs: BTreeMap<String, TensorProto>,
    #[prost(message, optional, tag = "2")]
    pub model_spec: Option<ModelSpec>,
}

/// Of `Classify` and `Regress` alike.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ExamplesRequest {
    #[prost(message, optional, tag = "1")]
    pub model_spec: Option<ModelSpec>,
    #[prost(message, optional, tag = "2")]
    pub input: Option<Input>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Input {
    #[prost(message, optional, tag = "1")]
    pub example_list: Option<ExampleList>,
    #[prost(message, optional, tag = "2")]
    pub example_list_with_context: Option<ExampleListWithContext>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExampleList {
    #[prost(message, repeated, tag = "1")]
    pub examples: Vec<Example>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExampleListWithContext {
    #[prost(message, repeated, tag = "1")]
    pub examples: Vec<Example>,
    /// Features that all examples share.
    #[prost(message, optional, tag = "2")]
    pub context: Option<Example>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ClassificationResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<ClassificationResult>,
    #[prost(message, optional, tag = "2")]
    pub model_spec: Option<ModelSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ClassificationResult {
    #[prost(message, repeated, tag = "1")]
    pub classifications: Vec<Classifications>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Classifications {
    #[prost(message, repeated, tag = "1")]
    pub classes: Vec<Class>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Class {
    #[prost(string, tag = "1")]
    pub label: String,
    #[prost(float, tag = "2")]
    pub score: f32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RegressionResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<RegressionResult>,
    #[prost(message, optional, tag = "2")]
    pub model_spec: Option<ModelSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RegressionResult {
    #[prost(message, repeated, tag = "1")]
    pub regressions: Vec<Regression>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Regression {
    #[prost(float, tag = "1")]
    pub value: f32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetModelMetadataRequest {
    #[prost(message, optional, tag = "1")]
    pub model_spec: Option<ModelSpec>,
    #[prost(string, repeated, tag = "2")]
    pub metadata_field: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetModelMetadataResponse {
    #[prost(message, optional, tag = "1")]
    pub model_spec: Option<ModelSpec>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub metadata: BTreeMap<String, Any>,
}

/// A message of any type, with its name.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

/// The one field of metadata there is.
pub const SIGNATURES: &str = "signature_def";
pub const SIGNATURES_TYPE: &str = "type.googleapis.com/tensorflow.serving.SignatureDefMap";

#[derive(Clone, PartialEq, prost::Message)]
pub struct SignatureDefMap {
    #[prost(btree_map = "string, message", tag = "1")]
    pub signature_def: BTreeMap<String, SignatureDef>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetModelStatusRequest {
    #[prost(message, optional, tag = "1")]
    pub model_spec: Option<ModelSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetModelStatusResponse {
    #[prost(message, repeated, tag = "1")]
    pub model_version_status: Vec<ModelVersionStatus>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ModelVersionStatus {
    #[prost(int64, tag = "1")]
    pub version: i64,
    #[prost(int32, tag = "2")]
    pub state: i32,
    #[prost(message, optional, tag = "3")]
    pub status: Option<StatusProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StatusProto {
    #[prost(int32, tag = "1")]
    pub error_code: i32,
    #[prost(string, tag = "2")]
    pub error_message: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MultiInferenceRequest {
    #[prost(message, repeated, tag = "1")]
    pub tasks: Vec<InferenceTask>,
    #[prost(message, optional, tag = "2")]
    pub input: Option<Input>,
}

/// One of several questions about the same examples.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InferenceTask {
    #[prost(message, optional, tag = "1")]
    pub model_spec: Option<ModelSpec>,
    #[prost(string, tag = "2")]
    pub method_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MultiInferenceResponse {
    #[prost(message, repeated, tag = "1")]
    pub results: Vec<InferenceResult>,
}

/// One of the two results is there.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InferenceResult {
    #[prost(message, optional, tag = "1")]
    pub model_spec: Option<ModelSpec>,
    #[prost(message, optional, tag = "2")]
    pub classification: Option<ClassificationResult>,
    #[prost(message, optional, tag = "3")]
    pub regression: Option<RegressionResult>,
}
