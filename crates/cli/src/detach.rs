//! Starting the server in the background and waiting until it is ready.

use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result};

use crate::{
    advised, ailments,
    data_dir::ClusterDir,
    instance::{Found, Instance},
    lock, log,
};

/// Starts `up` with these arguments; it is ready when this returns.
pub(crate) fn start(dir: &ClusterDir, arguments: &[OsString]) -> Result<Instance> {
    // The lock decides in the end; asking first gives the clearer error.
    if lock::holder(&dir.path)?.is_some() {
        lock::Lock::take(dir).map(drop)?;
    }
    if let Some(ailment) = ailments::of_disk(&dir.path) {
        return Err(advised(
            format!("the server cannot start: {}", ailment.what),
            ailment.hint,
        ));
    }
    let path = dir.path.join("server.log");
    let cannot_open = || format!("cannot open `{}`", path.display());
    let file = log::open(&path).with_context(cannot_open)?;
    let mut mark = file
        .try_clone()
        .and_then(log::Mark::at_end)
        .with_context(cannot_open)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut child = Command::new(program)
        .args(["up", "--data-dir"])
        .arg(&dir.path)
        .arg("--log")
        .arg(&path)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(file)
        .process_group(0)
        .spawn()
        .context("cannot start the server")?;
    if says_it_is_ready(&mut child)
        && let Found::Running(instance) = Instance::find(&dir.path)?
    {
        return Ok(instance);
    }
    let _ = child.kill();
    let status = child.wait();
    let written = mark.since().unwrap_or_default();
    if let Some(ailment) = ailments::of_disk(&dir.path) {
        return Err(advised(
            format!("the server did not start: {}", ailment.what),
            ailment.hint,
        ));
    }
    let why = match (last_lines(&written), status) {
        (lines, Ok(status)) if lines.is_empty() => format!("  it ended without a word ({status})\n"),
        (lines, _) => lines,
    };
    Err(advised(
        format!("the server did not start\n{why}"),
        format!("the whole log is in `{}`", path.display()),
    ))
}

/// The server prints its first line when it is ready, or ends without one.
fn says_it_is_ready(child: &mut Child) -> bool {
    child.stdout.take().is_some_and(|stdout| {
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .is_ok_and(|length| length > 0)
    })
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..]
        .iter()
        .map(|line| format!("  {line}\n"))
        .collect()
}
