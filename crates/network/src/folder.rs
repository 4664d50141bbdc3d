//! The process's folder: its files, its lock, and its socket, whose full path may be too long for the
//! kernel and is therefore named relative to the opened folder.

use std::{
    fs::{self, File, TryLockError},
    io,
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

/// The last line of the log: why a process is no more.
pub(crate) fn last_words(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join(LOG)).unwrap_or_default();
    text.lines().next_back().unwrap_or_default().to_owned()
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
