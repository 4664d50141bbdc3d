//! The store of the API server: versioned objects and their watch log.
//!
//! Memory is authoritative for reads; one writer thread commits each batch of writes to one file
//! before anyone can see it. One revision counter spans all collections, and every write, deletes
//! included, takes the next number. Objects are opaque JSON bytes: what they mean, which labels
//! they carry and who may see them is the API server's business.

mod batch;
mod disk;
mod event;
mod interest;
mod list;
mod log;
mod memory;
mod name;
mod object;
mod options;
mod pace;
mod partition;
mod store;
mod watcher;
mod write;
mod writer;

pub use disk::{DiskError, OpenError};
pub use event::{Event, Kind};
pub use list::List;
pub use log::TooOld;
pub use name::{Collection, Key};
pub use object::{Body, Memo, Object};
pub use options::{LogLimits, Options};
pub use store::{Store, TooNew};
pub use watcher::{WatchEnd, Watcher};
pub use write::{Change, Expect, Write, WriteError, WriteResult};
