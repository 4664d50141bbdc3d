//! What Kubernetes knows of each built-in kind: its types, defaults, validation, table columns and
//! protobuf form. Pure tables and functions over JSON values; serving and storing them is the API
//! server's work.

pub mod addresses;
pub mod columns;
pub mod decode;
pub mod label_selector;
pub mod objects;
pub mod protobuf;
pub mod quantity;
pub mod read;
pub mod resources;
pub mod strategy;
pub mod types;

pub use manifests::names;
