//! What every engine needs of the Kubernetes API: caches that follow a kind and are shared by all who
//! read it, and queues of keys that bring the world in line with an object, one object at a time.

mod cache;
mod informer;
mod key;
mod queue;
mod run;

pub use informer::{Change, Informer};
pub use key::Key;
pub use queue::Queue;
pub use run::{Next, run};
