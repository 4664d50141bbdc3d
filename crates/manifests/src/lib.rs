//! Documents as users write them and the API server changes them: reading JSON and YAML, naming a
//! field, patching, and server-side apply. Pure: bytes and values in, values and errors out.

pub mod field;
pub mod names;
pub mod shape;
