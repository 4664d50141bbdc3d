//! Pods as users run them: the real program, its API, and real processes. Everything is done twice, as
//! root and as an ordinary user, where the tests run as root.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed"
)]

mod cluster;
mod ending;
mod leftovers;
mod restarts;
mod running;
mod survival;
