//! The commands about training jobs: those a researcher types first, and those that say what becomes of a
//! job and why.

pub(crate) mod render;
