//! What Kubernetes knows of each built-in kind: its types, defaults, validation, table columns and
//! protobuf form. Pure tables and functions over JSON values; serving and storing them is the API
//! server's work.

pub mod addresses;
pub mod checks;
pub mod columns;
pub mod decode;
pub mod internal_form;
pub mod label_selector;
pub mod object_meta;
pub mod objects;
pub mod pods;
pub mod protobuf;
pub mod quantity;
pub mod read;
pub mod resources;
pub mod strategy;
pub mod types;
mod unified_diff;
pub mod workloads;

pub use manifests::names;
