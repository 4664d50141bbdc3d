//! Startup, readiness and liveness probes. `machine` decides what results mean, `check` what is to be
//! asked, `watch` asks at the right times; the other modules know one way of asking each.

mod check;
mod exec;
mod grpc;
mod http;
mod machine;
mod reach;
mod tcp;
#[cfg(test)]
mod testing;
mod verdict;
mod watch;

pub use check::{Check, HttpGet, lifecycle_get};
pub use exec::run_in;
pub use http::get;
pub use machine::{Kind, Machine, Standing, doom};
pub use reach::{ExecFailure, Executed, Reach};
pub use verdict::Verdict;
pub use watch::{News, Report, Subject, Watch, watch};
