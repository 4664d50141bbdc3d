//! What every engine is made of: caches that follow a kind and are shared by all who read it, queues of
//! keys that bring the world in line with an object, one object at a time, and events that tell of it.

pub mod amounts;
mod cache;
mod cached;
mod closing;
pub mod deaths;
pub mod definitions;
pub mod demands;
mod events;
mod followed_kinds;
mod identity;
mod informer;
mod informers;
mod key;
pub mod node_selectors;
mod protobuf_watches;
mod queue;
pub mod requests;
mod run;
pub mod selectors;
pub mod taints;
mod unread;
pub mod volumes;

pub use cached::{Cached, Controller};
pub use closing::Closing;
pub use events::Recorder;
pub use identity::Identity;
pub use informer::{Change, Informer};
pub use informers::Informers;
pub use key::Key;
pub use protobuf_watches::by_protobuf;
pub use queue::Queue;
pub use run::{Next, run};
pub use unread::Unread;
