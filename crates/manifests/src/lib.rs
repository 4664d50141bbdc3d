//! Documents as users write them and the API server changes them: reading JSON and YAML, naming a
//! field, patching, and server-side apply. Pure: bytes and values in, values and errors out.

pub mod api_versions;
pub mod apply;
pub mod field;
pub mod field_selector;
pub mod json;
pub mod json_patch;
pub mod json_path;
pub mod labels;
pub mod merge_patch;
pub mod names;
pub mod shape;
pub mod spelling;
pub mod strategic_merge;
pub mod yaml;

#[cfg(test)]
mod testing;
