//! Callbacks: what is sent, to whom it may be sent, how it is signed, and when it is tried again.

pub(crate) mod client;
pub mod guard;
pub(crate) mod payload;
pub mod schedule;
pub mod signature;
