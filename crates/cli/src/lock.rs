//! One server a directory: an exclusive lock that ends with the process, however it ends.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{FlockOperation, flock};

use crate::{advised, data_dir::ClusterDir};

/// Held for as long as the server runs.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

const FILE: &str = "lock";

/// How long a lock may be held by somebody who only asks who holds it, or who was killed and is not gone yet.
const PATIENCE: Duration = Duration::from_secs(2);

impl Lock {
    /// Takes the directory, or says who has it.
    pub(crate) fn take(dir: &ClusterDir) -> Result<Self> {
        let path = dir.path.join(FILE);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("cannot open `{}`", path.display()))?;
        if !lock(&mut file) {
            return Err(in_use(dir, &written(&mut file)));
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "{}", std::process::id()))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    /// Closing the file is not enough: a process that is just being started has it open until it runs its program.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Takes the lock, unless a server has it. Those who ask share it for a moment, and one that was killed
/// has it until its memory is given back, which is waited out.
fn lock(file: &mut File) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while flock(&*file, FlockOperation::NonBlockingLockExclusive).is_err() {
        let is_held = !is_free(file) && !is_ending(&written(file));
        if is_held || Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Who the file says has the lock.
fn written(file: &mut File) -> String {
    let mut holder = String::new();
    let _ = file.rewind().and_then(|()| file.read_to_string(&mut holder));
    holder.trim().to_owned()
}

/// Whether the process has ended or cannot but end.
fn is_ending(pid: &str) -> bool {
    if pid.is_empty() {
        return false;
    }
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}"));
    match (read("stat"), read("status")) {
        (Ok(stat), Ok(status)) => is_exiting(&stat) || is_killed(&status),
        _ => true,
    }
}

/// From `/proc/PID/stat`: a zombie, or with the kernel's mark of a process that exits.
fn is_exiting(stat: &str) -> bool {
    const PF_EXITING: u32 = 4;
    let Some((_, fields)) = stat.rsplit_once(')') else {
        return false;
    };
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let flags = fields.get(6).and_then(|flags| flags.parse::<u32>().ok());
    matches!(fields.first(), Some(&("Z" | "X"))) || flags.is_some_and(|flags| flags & PF_EXITING != 0)
}

/// From `/proc/PID/status`: the signal that nobody survives is on its way.
fn is_killed(status: &str) -> bool {
    const KILL: u64 = 1 << 8;
    let pending = |line: &str| {
        let set = line
            .strip_prefix("SigPnd:")
            .or_else(|| line.strip_prefix("ShdPnd:"))?;
        u64::from_str_radix(set.trim(), 16).ok()
    };
    status.lines().filter_map(pending).any(|set| set & KILL != 0)
}

/// Whether no server has the lock.
fn is_free(file: &File) -> bool {
    let is_free = flock(file, FlockOperation::NonBlockingLockShared).is_ok();
    if is_free {
        let _ = flock(file, FlockOperation::Unlock);
    }
    is_free
}

/// Whether the directory is or was a server's.
pub(crate) fn has_been_held(dir: &Path) -> bool {
    dir.join(FILE).is_file()
}

/// The process that holds the directory, if one does.
pub(crate) fn holder(dir: &Path) -> Result<Option<u32>> {
    let path = dir.join(FILE);
    let unreadable = || format!("cannot read `{}`", path.display());
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(unreadable),
    };
    let deadline = Instant::now() + PATIENCE;
    while !is_free(&file) {
        let mut text = String::new();
        file.rewind()
            .and_then(|()| file.read_to_string(&mut text))
            .with_context(unreadable)?;
        match text.trim().parse() {
            Ok(pid) => return Ok(Some(pid)),
            // Whoever has just taken it is about to write who it is.
            Err(_) if Instant::now() < deadline => thread::sleep(Duration::from_millis(1)),
            Err(_) => bail!("`{}` does not name the process that holds it", path.display()),
        }
    }
    Ok(None)
}

fn in_use(dir: &ClusterDir, holder: &str) -> anyhow::Error {
    let program = std::fs::read_to_string(format!("/proc/{holder}/comm")).unwrap_or_default();
    let program = if program.trim().is_empty() {
        String::new()
    } else {
        format!(" ({})", program.trim())
    };
    advised(
        format!("`{}` is in use by process {holder}{program}", dir.path.display()),
        format!(
            "`{}` shows it, `{}` stops it",
            dir.command("status"),
            dir.command("down")
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_second_taker_learns_who_was_first() {
        let folder = tempfile::tempdir().unwrap();
        let dir = ClusterDir::at(folder.path());
        assert_eq!(holder(&dir.path).unwrap(), None);
        let lock = Lock::take(&dir).unwrap();
        let error = Lock::take(&dir).unwrap_err();
        assert!(
            error.to_string().contains(&std::process::id().to_string()),
            "{error}"
        );
        assert_eq!(holder(&dir.path).unwrap(), Some(std::process::id()));
        drop(lock);
        Lock::take(&dir).unwrap();
    }

    #[test]
    fn who_was_killed_is_waited_for_and_who_lives_is_not() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = child.id().to_string();
        assert!(!is_ending(&pid));
        child.kill().unwrap();
        assert!(is_ending(&pid), "from the moment it is killed");
        child.wait().unwrap();
        assert!(is_ending(&pid), "to the end");
        assert!(!is_ending(&std::process::id().to_string()));
        assert!(!is_ending(""), "who has just taken it has not written who it is");
    }

    #[test]
    fn asking_who_holds_it_keeps_nobody_from_taking_it() {
        let folder = tempfile::tempdir().unwrap();
        let dir = ClusterDir::at(folder.path());
        drop(Lock::take(&dir).unwrap());
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        holder(&dir.path).unwrap();
                    }
                });
            }
            let taken: Vec<_> = (0..300).map(|_| Lock::take(&dir).map(drop)).collect();
            is_over.store(true, Ordering::Relaxed);
            assert!(taken.iter().all(Result::is_ok), "{taken:?}");
        });
    }

    #[test]
    fn a_directory_that_cannot_be_looked_into_is_not_called_free() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = holder(&file.join("below")).unwrap_err();
        assert!(error.to_string().starts_with("cannot read `"), "{error}");
        assert_eq!(holder(&folder.path().join("absent")).unwrap(), None);
    }
}
