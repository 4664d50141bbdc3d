//! The program under the worst of circumstances: killed, starved, damaged, flooded.
//!
//! Everything here runs the real `trainyard up` in a process of its own and talks to it over HTTPS.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed, and one that was skipped says why"
)]

mod background;
mod client;
mod crash;
mod damage;
mod deep;
mod dice;
mod endless;
mod first_start;
mod full_disk;
mod server;
mod watches;
