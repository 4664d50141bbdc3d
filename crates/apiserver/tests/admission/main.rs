//! Admission by the cluster's own webhooks and policies, over the network: an API server and a
//! webhook in this process, both with TLS.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod cluster;
mod failures;
mod hook;
mod matching;
mod policies;
mod webhooks;
