//! The process's folder: its files, its lock, and its socket, whose full path may be too long for the
//! kernel and is therefore named relative to the opened folder.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::{
        fd::AsRawFd,
        unix::fs::{DirBuilderExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use tokio::net::{UnixListener, UnixStream};

use crate::description::Description;

const SOCKET: &str = "network.sock";
const STATE: &str = "state.json";
const LOCK: &str = "lock";
const LOG: &str = "network.log";
/// How long the threads of a process that was killed may take to end, and with them its lock.
const DYING: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Makes the folder, for its owner only.
pub(crate) fn create(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The lock that one process holds as long as it lives; `None` if another has it.
pub(crate) fn lock(folder: &Path) -> io::Result<Option<File>> {
    let file = File::create(folder.join(LOCK))?;
    let until = Instant::now() + DYING;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(LOOK_AGAIN),
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

pub(crate) fn listen(folder: &Path) -> io::Result<UnixListener> {
    let _ = fs::remove_file(folder.join(SOCKET));
    let (_opened, path) = short_path(folder)?;
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(folder.join(SOCKET), fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

pub(crate) async fn connect(folder: &Path) -> io::Result<UnixStream> {
    let (_opened, path) = short_path(folder)?;
    UnixStream::connect(&path).await
}

/// Where a new process writes its messages; what an earlier one wrote is kept.
pub(crate) fn log(folder: &Path) -> io::Result<File> {
    File::options().append(true).create(true).open(folder.join(LOG))
}

/// How long the log is now.
pub(crate) fn log_length(folder: &Path) -> u64 {
    fs::metadata(folder.join(LOG)).map_or(0, |log| log.len())
}

/// The last lines of the log that were written after its first `start` bytes: why a process ended.
pub(crate) fn last_words(folder: &Path, start: u64) -> String {
    const LINES: usize = 3;
    const MOST: u64 = 4096;
    let read = || -> io::Result<Vec<u8>> {
        let mut log = File::open(folder.join(LOG))?;
        let end = log.metadata()?.len();
        log.seek(SeekFrom::Start(start.max(end.saturating_sub(MOST)).min(end)))?;
        let mut bytes = Vec::new();
        log.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .map(without_time)
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(LINES)..].join("; ")
}

/// A line of the log without its time: what is said twice is the same then.
fn without_time(line: &str) -> &str {
    let line = line.trim();
    match line.split_once(' ') {
        Some((time, rest))
            if time.ends_with('Z') && time.starts_with(|first: char| first.is_ascii_digit()) =>
        {
            rest.trim_start()
        }
        _ => line,
    }
}

pub(crate) fn read_state(folder: &Path) -> io::Result<Description> {
    Ok(serde_json::from_slice(&fs::read(folder.join(STATE))?)?)
}

/// Replaces the state as a whole: a reader sees the old one or the new one.
pub(crate) fn write_state(folder: &Path, state: &Description) -> io::Result<()> {
    let new = folder.join("state.json.new");
    fs::write(&new, serde_json::to_vec(state)?)?;
    fs::rename(new, folder.join(STATE))
}

/// Removes what only means something while the process lives.
pub(crate) fn clear(folder: &Path) {
    for name in [SOCKET, STATE] {
        let _ = fs::remove_file(folder.join(name));
    }
}

/// When a process started, in clock ticks since boot; `None` if there is no such process.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name, in parentheses, may itself contain spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

fn short_path(folder: &Path) -> io::Result<(File, PathBuf)> {
    let opened = File::open(folder)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", opened.as_raw_fd()));
    Ok((opened, path))
}
