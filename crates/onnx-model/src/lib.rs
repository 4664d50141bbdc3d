//! Models in ONNX without a runtime of their own: each node becomes ops of TensorFlow that compute the same, and the
//! whole a SavedModel, which `saved-model` loads as any other. What has no such ops is told by node.

pub mod proto;
mod tensors;
mod translate;

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message as _;

pub use translate::Unsupported;

/// The file of a model in the folder of its version.
pub const FILE: &str = "model.onnx";

/// Why a model cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    #[error("`{FILE}` is damaged or no ONNX model")]
    Damaged(#[source] prost::DecodeError),
    #[error("`{FILE}` has no graph")]
    NoGraph,
    #[error("the tensor `{name}` of `{FILE}` cannot be read: {what}")]
    Tensor { name: String, what: String },
    #[error("the model needs {}", needed(.0))]
    Unsupported(Vec<Unsupported>),
}

impl OnnxError {
    /// Whether the file may be right when it is looked at again: somebody may still be writing it.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Damaged(_) | Self::NoGraph)
    }
}

/// So many are named.
const TOLD: usize = 8;

fn needed(unsupported: &[Unsupported]) -> String {
    let told: Vec<String> = unsupported.iter().take(TOLD).map(ToString::to_string).collect();
    let more = match unsupported.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}, not supported here", told.join(", "))
}

/// The files of a SavedModel that answers as the ONNX model does.
pub fn saved_model(bytes: Vec<u8>) -> Result<BTreeMap<String, Vec<u8>>, OnnxError> {
    let model = proto::ModelProto::decode(Bytes::from(bytes)).map_err(OnnxError::Damaged)?;
    translate::translate(model)
}

#[cfg(test)]
mod tests;
