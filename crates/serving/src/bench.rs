//! Measuring a model server: rows of a table are sent in batches, and what comes back is timed and compared with the
//! labels. Statistics, tables and tensors are pure; `run` and `channel` do the talking.

mod channel;
mod layout;
mod run;
mod statistics;
mod table;

pub use channel::Endpoint;
pub use layout::{LayoutError, SEED_COLUMNS};
pub use run::{BenchError, Report, Settings, Source, run};
pub use statistics::{Iteration, Latency, Summary};
pub use table::{Row, Rows, Shuffled, TableError};
