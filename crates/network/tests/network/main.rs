//! The network process with real namespaces, as root and as an ordinary user.
//!
//! As root both tiers are tested, the second through `setpriv`; an ordinary user tests their own.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "the parts shared by tests are tests, too"
)]

mod life;
mod names;
mod outside;
mod pods;
mod services;
mod speed;
mod world;
