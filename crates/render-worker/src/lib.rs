//! Templates and schemas come from people, and three lines of one can take all the memory there is. So they are read
//! and run in processes of their own, `trainyard __render`, with limits on memory, processor time and output. A process
//! serves one request after the other; one that runs over a limit is gone with its request, and the next request gets
//! another. What is idle ends.
//!
//! [`Pool`] is for servers: `pool.render(request).await`. [`process`] is the process.

mod answer;
mod cache;
mod frames;
mod pool;
mod process;
mod request;

pub use pool::{Limits, Pool};
pub use process::process;
pub use request::{CheckRequest, OwnedDefinition, RenderRequest, SchemaReply, SchemaRequest};
