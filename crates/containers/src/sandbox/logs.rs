//! A container's output as it is kept: one CRI line per line, in files that do not grow for ever.

mod file;
mod lines;

pub(super) use file::LogFile;
pub(super) use lines::{Lines, Stream};
