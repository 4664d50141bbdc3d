//! The network process with real namespaces, as root and as an ordinary user.
//!
//! As root both tiers are tested, the second through `setpriv`; an ordinary user tests their own.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what a test needs, it has or fails"
)]

mod life;
mod names;
mod outside;
mod pods;
mod services;
mod speed;
mod world;
