//! Pods as users run them: the real program, its API, and real processes. Everything is done twice, as
//! root and as an ordinary user, where the tests run as root.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed"
)]

mod admission;
mod cluster;
mod commands;
mod ending;
mod images;
mod leftovers;
mod limits;
mod made;
mod plain;
mod ports;
mod registry;
mod replaced;
mod restarts;
mod running;
mod scheduling;
mod secrecy;
mod sharing;
mod survival;
