//! What Kubernetes knows of each built-in kind: its types, defaults, validation, table columns and
//! protobuf form. Pure tables and functions over JSON values; serving and storing them is the API
//! server's work.

pub mod columns;
pub mod decode;
pub mod limit_range;
mod pod_resources;
pub mod protobuf;
pub mod quantity;
pub mod quota;
pub mod read;
mod resource_list;
pub mod resources;
pub mod types;

pub use manifests::names;
