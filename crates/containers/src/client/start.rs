//! From a folder to a living sandbox, and what to do about a dead one.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use this_program::Program;
use tokio::fs;

use super::{Sandbox, error::Error};
use crate::{
    cgroups,
    claim::Claim,
    processes, spec,
    state::{ContainerState, State},
};

impl Sandbox {
    /// Runs `PROGRAM __sandbox DIR ASKED_BY` and returns when the sandbox listens. It is no child of this
    /// process and outlives it.
    pub async fn start(program: &Program, dir: &Path, spec: &spec::Sandbox) -> Result<Self, Error> {
        let write = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Write { path, source }
        };
        // Whoever reaches the socket owns the pod.
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .await
            .map_err(write(dir))?;
        let file = dir.join("sandbox.json");
        let text = serde_json::to_vec(spec)
            .map_err(io::Error::from)
            .map_err(write(&file))?;
        fs::write(&file, text).await.map_err(write(&file))?;

        let run = |source| Error::Run {
            binary: program.path().to_owned(),
            source,
        };
        let mut command = program.command();
        command
            .arg("__sandbox")
            .arg(dir)
            .arg(std::process::id().to_string())
            // What whoever started us has in its environment is nobody's business in there.
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let output = command.output().await.map_err(run)?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Error::Start { reason });
        }
        Self::adopt(dir).await
    }

    /// Finds the sandbox that lives in `dir`, whoever started it.
    pub async fn adopt(dir: &Path) -> Result<Self, Error> {
        let gone = |reason: String| Error::Gone {
            dir: dir.to_owned(),
            reason,
        };
        let state = last_state(dir).await?;
        match processes::start_time(state.pid) {
            Ok(start_time) if start_time == state.start_time => {}
            _ => return Err(gone(format!("process {} has ended", state.pid))),
        }
        let sandbox = Self {
            dir: dir.to_owned(),
            pid: state.pid,
        };
        sandbox.states().await?;
        Ok(sandbox)
    }
}

/// What a sandbox wrote last, dead or alive.
pub async fn last_state(dir: &Path) -> Result<State, Error> {
    let gone = |error: io::Error| Error::Gone {
        dir: dir.to_owned(),
        reason: error.to_string(),
    };
    let text = fs::read(dir.join("state.json")).await.map_err(gone)?;
    serde_json::from_slice(&text).map_err(|error| gone(error.into()))
}

/// Whether the number of a container's first process is somebody else's by now.
fn is_another(container: &ContainerState) -> bool {
    processes::start_time(container.pid).is_ok_and(|start_time| start_time != container.start_time)
}

/// Nobody starts a sandbox here as long as this is held. `None` where there is no folder.
async fn claim(dir: &Path) -> Option<Claim> {
    let dir = dir.to_owned();
    let claimed = tokio::task::spawn_blocking(move || Claim::wait(&dir)).await;
    claimed.ok()?.ok()
}

/// Removes what a sandbox that was killed left behind: its control groups and, where there are no
/// process namespaces, its processes. Kills the sandbox if it lives. Returns its last state.
pub async fn bury(dir: &Path) -> Result<State, Error> {
    // One that is still being started is waited for: it would come up in a folder that is gone.
    let _claim = claim(dir).await;
    let state = last_state(dir).await?;
    if processes::start_time(state.pid).is_ok_and(|start_time| start_time == state.start_time) {
        let _ = kill(Pid::from_raw(state.pid), Signal::SIGKILL);
    }
    let leaders: Vec<i32> = state
        .containers
        .values()
        .filter(|container| container.is_running() && !is_another(container))
        .map(|container| container.pid)
        .collect();
    for pid in processes::all() {
        if processes::session(pid).is_some_and(|session| leaders.contains(&session)) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
    let folders: Vec<PathBuf> = state.control_groups.clone();
    // Groups can be removed a moment after their last process is gone.
    for _ in 0..200 {
        cgroups::remove_all(&folders);
        if !folders.iter().any(|folder| folder.exists()) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    Ok(state)
}
