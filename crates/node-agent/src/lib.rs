//! Bound pods become sandboxes; what happens in them becomes pod status.

pub mod lifecycle;
