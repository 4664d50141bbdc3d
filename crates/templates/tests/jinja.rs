//! Ours beside the real Jinja2 and PyYAML: what is printed, byte for byte, and the objects that come of it. Every
//! difference is one of a few that are meant and named here.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the parts shared by tests are tests, too"
)]

#[path = "jinja/corpus.rs"]
mod corpus;
#[path = "jinja/dice.rs"]
mod dice;
#[path = "jinja/features.rs"]
mod features;
#[path = "jinja/grid.rs"]
mod grid;
#[path = "jinja/oracle.rs"]
mod oracle;
#[path = "jinja/random.rs"]
mod random;
