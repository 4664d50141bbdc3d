//! How much patience the server has, and how much of it one client may take.

use std::time::Duration;

/// What clients may cost. The defaults are those of the real server where it has them.
#[derive(Clone, Debug)]
pub struct Limits {
    /// A client that connects must say hello within this time.
    pub handshake: Duration,
    /// And finish its request headers within this, also where the connection served others before.
    pub headers: Duration,
    /// Requests are answered within this, from their first byte to the last that the client takes of
    /// its answer; watches and other streams are not meant.
    pub request: Duration,
    /// A large body, of which few are taken in at a time, must be whole within this.
    pub large_body: Duration,
    /// A client that takes nothing of what it is sent for so long is gone, or might as well be.
    pub stalled: Duration,
    /// A connection for commands or ports on which nothing was said for so long is given up.
    pub silent: Duration,
    /// Such connections at the same time.
    pub connections: u32,
    /// Reads worked on, or whose answers are not taken yet, at the same time. No user has more than
    /// half of them, and the cluster's masters have as many of their own.
    pub reads: usize,
    /// The same for writes.
    pub writes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            headers: Duration::from_secs(32),
            request: Duration::from_mins(1),
            large_body: Duration::from_secs(10),
            stalled: Duration::from_mins(2),
            silent: Duration::from_hours(4),
            connections: 1000,
            reads: 400,
            writes: 200,
        }
    }
}
