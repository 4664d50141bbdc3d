//! A small trainer: a network of neurons that learns to read digits, alone or as several workers that
//! exchange their gradients. What the demo and the examples run: no download, no Python, no GPU.

mod checkpoint;
mod digits;
mod export;
mod model;
mod rendezvous;
mod ring;
mod training;
mod wire;

pub use checkpoint::CheckpointError;
pub use export::{ExportError, write_exam};
pub use rendezvous::Place;
pub use ring::PeerError;
pub use training::{Course, Event, TrainError, train};
