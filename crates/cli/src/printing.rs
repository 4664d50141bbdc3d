//! Printing as everywhere, but for what becomes of it when nobody reads any more: nothing, and the command
//! still does its work and ends as it would. What cannot be written for another reason, such as a full disk,
//! is a failure of the command in the end.

use std::{
    fmt::Arguments,
    io::{self, Write as _},
    sync::OnceLock,
};

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
    if let Err(error) = io::stdout().lock().write_fmt(words) {
        unwritten(error);
    }
}

/// What is to be said besides.
pub(crate) fn remark(words: Arguments<'_>) {
    let _ = io::stderr().lock().write_fmt(words);
}

static UNWRITTEN: OnceLock<io::Error> = OnceLock::new();

/// Remembers that something was not written, unless it was the reader who went.
pub(crate) fn unwritten(error: io::Error) {
    if error.kind() != io::ErrorKind::BrokenPipe {
        // The first is told; the others are likely to be the same.
        let _ = UNWRITTEN.set(error);
    }
}

/// Why what the command was asked for is not whole.
pub(crate) fn failure() -> Option<&'static io::Error> {
    UNWRITTEN.get()
}
