//! From a folder to a running sandbox. The launcher makes the namespaces that only children enter,
//! forks the sandbox and stays until it listens; then it ends, and the sandbox is nobody's child.

use std::{
    env,
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
    time::Duration,
};

use nix::{
    errno::Errno,
    fcntl::OFlag,
    sys::signal::{Signal, kill},
    unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, getppid, pipe2, setsid},
};

use super::{
    error::{Doing as _, SetupError},
    namespaces,
    server::Server,
};
use crate::{claim::Claim, processes, spec::Sandbox, state::State, system};

/// What the sandbox tells its launcher when it listens.
const READY: &[u8] = b"ready";

pub(super) fn launch(dir: &Path, asked_by: &OsStr) -> Result<(), SetupError> {
    system::close_all_above_stderr();
    env::set_current_dir(dir).doing(|| format!("enter `{}`", dir.display()))?;
    let claim = Claim::wait(Path::new(".")).doing(|| "claim the folder")?;
    still_wanted(asked_by).doing(|| "start the sandbox")?;
    end_unknown().doing(|| "end the sandbox before")?;
    let spec = read_spec().doing(|| "read `sandbox.json`")?;
    let (ready, tell) = pipe2(OFlag::O_CLOEXEC).doing(|| "make a pipe")?;
    let (mut ready, mut tell) = (File::from(ready), File::from(tell));

    namespaces::enter_before_fork(&spec)?;
    system::fork(|| match detach().and_then(|()| Server::open(spec)) {
        Ok(server) => {
            let _ = tell.write_all(READY);
            drop((tell, claim));
            server.run()
        }
        Err(error) => {
            let _ = write!(tell, "{error}");
            1
        }
    })
    .doing(|| "fork the sandbox")?;

    // Our own end went with the closure, so the pipe ends with the sandbox's.
    let mut answer = Vec::new();
    ready.read_to_end(&mut answer).doing(|| "hear from the sandbox")?;
    if answer == READY {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&answer).into_owned();
    Err(io::Error::other(reason)).doing(|| "start the sandbox")
}

/// Whoever comes after an agent that was killed has the folder now, or it is about to go.
fn still_wanted(asked_by: &OsStr) -> io::Result<()> {
    if asked_by == getppid().to_string().as_str() {
        Ok(())
    } else {
        Err(io::Error::other("whoever asked for it is gone"))
    }
}

/// Whoever asked for this start knows of no sandbox here. One that came up since, started by somebody who was
/// killed, has run nothing yet.
fn end_unknown() -> io::Result<()> {
    let Ok(text) = fs::read("state.json") else {
        return Ok(());
    };
    let state: State = serde_json::from_slice(&text)?;
    let is_alive = || processes::start_time(state.pid).is_ok_and(|start| start == state.start_time);
    while is_alive() && !processes::is_zombie(state.pid) {
        match kill(Pid::from_raw(state.pid), Signal::SIGKILL) {
            Ok(()) => std::thread::sleep(Duration::from_millis(1)),
            Err(Errno::ESRCH) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn read_spec() -> io::Result<Sandbox> {
    Ok(serde_json::from_slice(&fs::read("sandbox.json")?)?)
}

/// Leaves the terminal and the standard streams of whoever started us.
fn detach() -> Result<(), SetupError> {
    setsid().doing(|| "leave the session")?;
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open("sandbox.log")
        .doing(|| "open `sandbox.log`")?;
    let nothing = File::open("/dev/null").doing(|| "open `/dev/null`")?;
    dup2_stdin(&nothing)
        .and_then(|()| dup2_stdout(&log))
        .and_then(|()| dup2_stderr(&log))
        .doing(|| "redirect the standard streams")
}
