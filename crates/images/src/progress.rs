//! How far something is that takes a while.

use std::{
    io::{self, Read},
    sync::Arc,
};

/// What is being done to which layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    pub step: Step,
    /// A layer's digest, or the name of a file.
    pub what: &'a str,
    pub done: u64,
    /// 0 if it is not known.
    pub total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// An archive that is packed as a whole is unpacked first.
    Reading,
    Downloading,
    Unpacking,
}

/// Hears of progress, often; it decides what to show.
pub type Report<'a> = &'a (dyn Fn(Progress<'_>) + Send + Sync);

/// The same, for work that goes on in the background.
pub type Reporter = Arc<dyn Fn(Progress<'_>) + Send + Sync>;

/// Tells how much was read through it.
pub(crate) struct Reported<'a, R> {
    pub(crate) inner: R,
    pub(crate) progress: Progress<'a>,
    pub(crate) report: Report<'a>,
}

impl<R: Read> Read for Reported<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.progress.done += length as u64;
        (self.report)(self.progress);
        Ok(length)
    }
}
