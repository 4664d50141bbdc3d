//! Bound pods become sandboxes; what happens in them becomes pod status.

pub mod environment;
pub mod lifecycle;
pub mod volumes;
