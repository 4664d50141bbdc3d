//! Logs, commands, ports and proxies: the real kubectl, and clients that mean no good, against a node
//! whose containers are processes of this machine.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod admission;
mod cluster;
mod commands;
mod copying;
mod forwarding;
mod hostile;
mod logs;
mod node;
mod proxies;
mod python;
mod usage;
mod websocket;
