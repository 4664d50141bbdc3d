//! What must hold for any input of the pure crates, as plain functions over bytes.
//!
//! The same functions are run by `cargo xtask fuzz` on the stable toolchain, for a fixed number of
//! inputs by `cargo test`, and guided by coverage through `cargo fuzz` (see `fuzz/`).

#![expect(
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is how a target reports what it found"
)]

mod corpus;
mod cost;
mod dice;
mod mutate;
mod runner;
mod targets;

pub use runner::{Finding, Progress, fuzz};
pub use targets::{TARGETS, Target, run, target};
