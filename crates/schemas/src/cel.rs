//! stub
pub(crate) mod rules;
