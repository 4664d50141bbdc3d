//! One suite of requests and checks, run against our API server and against a real one.
//!
//! A check is a sentence and a function. It is right when the real server passes it; where ours does
//! not, ours is wrong or the difference is listed, with its reason, in `docs/conformance-differences.md`.

#![expect(
    clippy::needless_pass_by_value,
    reason = "bodies and patterns are literals written in place; a reference at each would be noise"
)]

mod answer;
mod areas;
mod context;
mod differences;
mod failure;
mod pattern;
mod protobuf;
mod report;
mod request;
mod runner;
mod watch;
mod webhook;

pub use areas::checks;
pub use context::Context;
pub use differences::{Difference, listed};
pub use failure::{Failure, Outcome};
pub use https_client::{Server, ServerError};
pub use report::Report;
pub use runner::{Options, Run, run};

/// One thing every server must do.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    pub area: &'static str,
    /// A sentence that is true of the real server.
    pub name: &'static str,
    /// Whether it waits for what controllers do, which an API server alone does not.
    pub needs_controllers: bool,
    run: fn(&Context<'_>) -> Outcome,
}

impl Check {
    const fn new(area: &'static str, name: &'static str, run: fn(&Context<'_>) -> Outcome) -> Self {
        Self {
            area,
            name,
            needs_controllers: false,
            run,
        }
    }

    const fn with_controllers(mut self) -> Self {
        self.needs_controllers = true;
        self
    }
}
