//! Printing as everywhere, but for what becomes of it when nobody reads any more: nothing, and the command
//! still does its work and ends as it would.

use std::{fmt::Arguments, io::Write as _};

macro_rules! print {
    ($($words:tt)*) => { $crate::printing::answer(format_args!($($words)*)) };
}

macro_rules! println {
    ($($words:tt)*) => { $crate::printing::answer(format_args!("{}\n", format_args!($($words)*))) };
}

macro_rules! eprintln {
    ($($words:tt)*) => { $crate::printing::remark(format_args!("{}\n", format_args!($($words)*))) };
}

/// What a command was asked for.
pub(crate) fn answer(words: Arguments<'_>) {
    let _ = std::io::stdout().lock().write_fmt(words);
}

/// What is to be said besides.
pub(crate) fn remark(words: Arguments<'_>) {
    let _ = std::io::stderr().lock().write_fmt(words);
}
