//! What Kubernetes knows of each built-in kind: its types, defaults, validation, table columns and
//! protobuf form. Pure tables and functions over JSON values; serving and storing them is the API
//! server's work.

pub mod quantity;
pub mod read;

pub use manifests::names;
