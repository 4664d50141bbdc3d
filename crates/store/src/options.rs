//! What can be chosen when a store is opened.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Options {
    /// Starts without the records that fail their checksum, after setting a copy of the file aside,
    /// instead of refusing to start.
    pub drop_damaged: bool,
    /// Names the present run of the machine. What an earlier run wrote last may have been cut short by
    /// a power failure; what the present one wrote can only be damaged. Empty where that is not known.
    pub boot_id: String,
    /// How many bytes that are no longer current the file may hold, beside as many as are, before it
    /// is compacted.
    pub slack: u64,
    /// Writes that may wait for the writer before callers are held back.
    pub queue: usize,
    pub log: LogLimits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            drop_damaged: false,
            boot_id: boot_id(),
            slack: 8 << 20,
            queue: 1024,
            log: LogLimits::default(),
        }
    }
}

fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim_end().to_owned()
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
            bytes: 8 << 20,
            total_bytes: 32 << 20,
            age: Duration::from_mins(5),
        }
    }
}
