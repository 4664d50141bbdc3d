//! What can be chosen when a store is opened.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Options {
    /// Starts without the records that fail their checksum, after setting a copy of the file aside,
    /// instead of refusing to start.
    pub drop_damaged: bool,
    /// Memory for file pages. Reads never need it; writes touch a few tree pages each.
    pub cache_bytes: usize,
    /// Writes that may wait for the writer before callers are held back.
    pub queue: usize,
    pub log: LogLimits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            drop_damaged: false,
            cache_bytes: 2 << 20,
            queue: 1024,
            log: LogLimits::default(),
        }
    }
}

/// How much history watchers can resume from. The first limit that is reached counts.
#[derive(Clone, Debug)]
pub struct LogLimits {
    /// Events remembered per collection.
    pub events: usize,
    /// Bytes remembered per collection.
    pub bytes: usize,
    /// Bytes remembered by all collections together.
    pub total_bytes: usize,
    /// Older events are forgotten with the next writes.
    pub age: Duration,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            events: 8192,
            bytes: 16 << 20,
            total_bytes: 64 << 20,
            age: Duration::from_mins(5),
        }
    }
}
