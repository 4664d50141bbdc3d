//! The six types of conditions a job has, and how their reasons are spelled.

pub const CREATED: &str = "Created";
pub const RUNNING: &str = "Running";
pub const RESTARTING: &str = "Restarting";
pub const SUCCEEDED: &str = "Succeeded";
pub const FAILED: &str = "Failed";
pub const SUSPENDED: &str = "Suspended";

/// Suffixes of reasons that are no condition types: `TFJobResumed`.
pub const RESUMED: &str = "Resumed";
pub const FAILED_VALIDATION: &str = "FailedValidation";
pub const EVICTED: &str = "Evicted";

/// The reason of a condition or event: the kind and what happened to it.
pub fn reason(kind: &str, what: &str) -> String {
    format!("{kind}{what}")
}
