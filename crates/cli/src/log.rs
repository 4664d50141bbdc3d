//! The log of a server in the background. It is what the server writes to its standard error, so that
//! panics are in it too, and never takes more than two files of a bounded size.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::{fs::fstat, stdio};

/// A log that is longer is set aside, in place of the one that was set aside before.
const LIMIT: u64 = 8 << 20;

/// The file that standard error is, in a server that has one.
static KEPT: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Lines that could not be written since the log could be written last.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Standard error, for what is logged. In a server in the background this keeps its file small.
/// A log that cannot be written never stops who writes it: the disk may be full, and it is the store
/// that says so.
#[derive(Debug, Default)]
pub struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        deliver(&mut io::stderr().lock(), line, &LOST);
        if fstat(stdio::stderr()).is_ok_and(|file| file.st_size as u64 > LIMIT) {
            // Where it cannot be set aside it grows, which is better than to lose it.
            let _ = turn_over(LIMIT);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a line, and before it how many were lost. One that cannot be written is counted.
fn deliver(log: &mut impl Write, line: &[u8], lost: &AtomicU64) {
    let missing = lost.load(Ordering::Relaxed);
    if missing > 0 {
        // What was lost last may have been written in part.
        let note = format!("\n{missing} lines of this log are missing here: they could not be written\n");
        if log.write_all(note.as_bytes()).is_ok() {
            lost.fetch_sub(missing, Ordering::Relaxed);
        }
    }
    if log.write_all(line).is_err() {
        lost.fetch_add(1, Ordering::Relaxed);
    }
}

/// Says which file standard error is.
pub(crate) fn keep_small(path: &Path) {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.to_owned());
}

/// Opens the log of a directory for adding to it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    options.open(path)
}

/// Sets a full log aside and goes on with an empty one.
fn turn_over(limit: u64) -> io::Result<()> {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    // Standard error that is not ours is not set aside, and another thread may have been faster.
    let Some(path) = kept.as_deref() else {
        return Ok(());
    };
    if fstat(stdio::stderr())?.st_size as u64 <= limit {
        return Ok(());
    }
    fs::rename(path, aside(path))?;
    stdio::dup2_stderr(open(path)?)?;
    Ok(())
}

fn aside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".1");
    name.into()
}

/// A place in a log, to tell later what came after it.
pub(crate) struct Mark {
    file: File,
    end: u64,
}

impl Mark {
    /// The end of a log as it is now.
    pub(crate) fn at_end(file: File) -> io::Result<Self> {
        let end = file.metadata()?.len();
        Ok(Self { file, end })
    }

    /// What was written since. All that there is, if the log was emptied meanwhile.
    pub(crate) fn since(&mut self) -> io::Result<String> {
        let start = Some(self.end).filter(|end| *end <= self.file.metadata().map_or(0, |file| file.len()));
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(start.unwrap_or_default()))?;
        self.file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with so much space.
    struct Disk {
        written: Vec<u8>,
        space: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let length = bytes.len().min(self.space - self.written.len());
            if length == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.written.extend(&bytes[..length]);
            Ok(length)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_find_no_space_are_counted_and_told_of_when_there_is_space_again() {
        let mut disk = Disk {
            written: Vec::new(),
            space: 6,
        };
        let lost = AtomicU64::new(0);
        for line in ["one\n", "two\n", "three\n"] {
            deliver(&mut disk, line.as_bytes(), &lost);
        }
        disk.space = 1000;
        for line in ["four\n", "five\n"] {
            deliver(&mut disk, line.as_bytes(), &lost);
        }
        assert_eq!(
            String::from_utf8(disk.written).unwrap(),
            "one\ntw\n2 lines of this log are missing here: they could not be written\nfour\nfive\n"
        );
    }

    #[test]
    fn what_an_earlier_run_wrote_is_not_told_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.log");
        writeln!(open(&path).unwrap(), "earlier").unwrap();
        let mut mark = Mark::at_end(open(&path).unwrap()).unwrap();
        assert_eq!(mark.since().unwrap(), "");
        writeln!(open(&path).unwrap(), "one").unwrap();
        assert_eq!(mark.since().unwrap(), "one\n");
        open(&path).unwrap().set_len(0).unwrap();
        writeln!(open(&path).unwrap(), "two").unwrap();
        assert_eq!(mark.since().unwrap(), "two\n");
    }
}
