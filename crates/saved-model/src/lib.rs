//! TensorFlow SavedModels without TensorFlow: reading them, checking every byte of their variables, answering by their
//! signatures, and writing small ones. Files are asked of the caller.

#![allow(
    clippy::items_after_statements,
    clippy::unnecessary_wraps,
    clippy::cast_lossless,
    clippy::excessive_precision,
    clippy::float_cmp,
    reason = "kernels are made from one text for several types, and all makers of kernels have one form"
)]

mod bundle;
mod compile;
mod files;
mod graph;
mod model;
mod ops;
mod plan;
pub mod proto;
pub mod records;
mod resources;
mod tensor;
pub mod write;

pub use bundle::BundleError;
pub use compile::{CompileError, UnsupportedOp};
pub use files::Files;
pub use model::{AskError, DEFAULT_SIGNATURE, LoadError, Model, Port, Signature, Wanted, shown};
pub use plan::RunError;
pub use tensor::{DType, Data, Element, Shape, Tensor, WireError};
