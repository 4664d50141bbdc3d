//! Changing objects. Every verb goes the same way: decode, default, admit, validate, store; and every
//! change to an existing object goes through one compare-and-swap loop.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod delete_collection;
pub(crate) mod faults;
pub(crate) mod options;
pub(crate) mod patch;
pub(crate) mod typed;
pub(crate) mod update;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;

use crate::{call::Call, conversion, error::Result, get, response::Answer};
use options::WriteOptions;

/// A write under way: the request and its options.
pub(crate) struct Writer<'a> {
    pub call: &'a Call,
    pub options: WriteOptions,
    pub now: Timestamp,
    /// How to delete, for a write that deletes.
    pub deletion: Option<delete::DeleteOptions>,
    /// The request was admitted as a whole; what it does to stored objects is not admitted again.
    pub admitted: bool,
}

/// What a write left behind.
pub(crate) enum Outcome {
    /// The object as it is stored now, shown in the version of the request.
    Stored(std::sync::Arc<store::Object>),
    /// What would have been stored.
    DryRun(Value),
    /// The last state of an object that is gone.
    Deleted(Value),
}

impl Outcome {
    /// The outcome in the version of the request.
    async fn shown(self, call: &Call) -> Result<Self> {
        Ok(match self {
            Self::Stored(stored) => Self::Stored(conversion::shown_one(&call.api, &call.kind, stored).await?),
            other => other,
        })
    }
}

impl<'a> Writer<'a> {
    pub(crate) fn new(call: &'a Call, options: WriteOptions) -> Self {
        Self {
            call,
            options,
            now: Timestamp::now(),
            deletion: None,
            admitted: false,
        }
    }

    pub(crate) fn warn(&self, warnings: impl IntoIterator<Item = String>) {
        self.call.warn(warnings);
    }

    /// Whole seconds, as timestamps in metadata are written.
    pub(crate) fn timestamp(&self) -> String {
        timestamp(self.now)
    }

    /// The answer to a write.
    pub(crate) fn answer(&self, code: StatusCode, outcome: Outcome) -> Result<Answer> {
        match outcome {
            Outcome::Stored(stored) => get::show_stored(self.call, code, &stored),
            Outcome::DryRun(value) | Outcome::Deleted(value) => get::show(self.call, code, value),
        }
    }
}

/// RFC 3339 in whole seconds, UTC.
pub(crate) fn timestamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
