//! Training jobs as people submit them, on clusters that run their programs: real programs of each
//! framework, and everything that goes wrong with jobs.

#![expect(clippy::panic, reason = "a test that cannot go on has failed")]

mod failures;
mod frameworks;
mod gangs;
mod lifecycle;
mod mpi;
mod mxnet;
mod pytorch;
mod refusals;
mod restart;
mod seeds;
mod tensorflow;
