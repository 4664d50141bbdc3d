//! Bound pods become sandboxes; what happens in them becomes pod status.

pub mod environment;
pub mod gpus;
pub mod lifecycle;
pub mod logs;
pub mod probes;
pub mod volumes;
