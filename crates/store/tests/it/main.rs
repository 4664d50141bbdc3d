//! The store through its public face: real files, real kills, real damage.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod child;
mod compaction;
mod crash;
mod damage;
mod full_disk;
mod hostile;
mod model;
mod opening;
mod reading;
mod samples;
mod watching;
mod writing;
