//! From a folder to a running sandbox. The launcher makes the namespaces that only children enter,
//! forks the sandbox and stays until it listens; then it ends, and the sandbox is nobody's child.

use std::{
    env,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
};

use nix::{
    fcntl::OFlag,
    unistd::{dup2_stderr, dup2_stdin, dup2_stdout, pipe2, setsid},
};

use super::{
    error::{Doing as _, SetupError},
    namespaces,
    server::Server,
};
use crate::{spec::Sandbox, system};

/// What the sandbox tells its launcher when it listens.
const READY: &[u8] = b"ready";

pub(super) fn launch(dir: &Path) -> Result<(), SetupError> {
    system::close_all_above_stderr();
    env::set_current_dir(dir).doing(|| format!("enter `{}`", dir.display()))?;
    let spec = read_spec().doing(|| "read `sandbox.json`")?;
    let (ready, tell) = pipe2(OFlag::O_CLOEXEC).doing(|| "make a pipe")?;
    let (mut ready, mut tell) = (File::from(ready), File::from(tell));

    namespaces::enter_before_fork(&spec)?;
    system::fork(|| match detach().and_then(|()| Server::open(spec)) {
        Ok(server) => {
            let _ = tell.write_all(READY);
            drop(tell);
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
