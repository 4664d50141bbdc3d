//! Clients that are slow, silent, greedy or gone: they are cut off, and nobody else notices.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cluster;
mod credentials;
mod extremes;
mod floods;
mod oversized;
mod slow_readers;
mod slow_senders;
