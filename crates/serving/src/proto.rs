//! What is said on the wire beside what `saved-model` knows: the messages of TensorFlow Serving, of the Open Inference
//! Protocol and of gRPC's health checks, with the fields that are used here.

pub mod config;
pub mod health;
pub mod inference;
pub mod log;
pub mod prediction;
