//! Programs that run beside a command and end with it.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// A program in the background. Killed when it goes out of scope.
pub(crate) struct Background {
    name: String,
    child: Child,
}

impl Background {
    /// Starts a program with its output in `LOGS/NAME.log`.
    pub(crate) fn start(name: &str, command: &mut Command, logs: &Path) -> Result<Self> {
        let path = log_of(name, logs);
        let log = File::create(&path).with_context(|| format!("cannot create `{}`", path.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        Ok(Self {
            name: name.to_owned(),
            child,
        })
    }

    /// Where its output is.
    pub(crate) fn log(&self, logs: &Path) -> PathBuf {
        log_of(&self.name, logs)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks the program to end, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<()> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).with_context(|| format!("cannot stop {}", self.name))?;
        self.child.wait()?;
        Ok(())
    }

    /// Fails when the program has ended.
    pub(crate) fn check_alive(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("{} ended: {status}", self.name);
        }
        Ok(())
    }
}

fn log_of(name: &str, logs: &Path) -> PathBuf {
    logs.join(format!("{name}.log"))
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks again and again until the answer is yes or the patience is used up.
pub(crate) fn wait_until(
    what: &str,
    patience: Duration,
    mut ready: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let deadline = Instant::now() + patience;
    while !ready()? {
        if Instant::now() > deadline {
            bail!("gave up waiting: {what}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
