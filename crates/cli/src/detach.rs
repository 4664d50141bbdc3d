//! Starting the server in the background and waiting until it is ready.

use std::{
    fs::{self, OpenOptions},
    io::{BufRead as _, BufReader},
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context as _, Result};

use crate::{advised, data_dir::ClusterDir, instance::Instance, lock, up};

pub(crate) fn start(dir: &ClusterDir, arguments: &up::Arguments) -> Result<ExitCode> {
    // The lock decides in the end; asking first gives the clearer error.
    if lock::holder(&dir.path).is_some() {
        lock::Lock::take(dir).map(drop)?;
    }
    let log = dir.path.join("server.log");
    let log_file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&log)
        .with_context(|| format!("cannot open `{}`", log.display()))?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut child = Command::new(program)
        .args(up::foreground_arguments(&dir.path, arguments))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log_file)
        .process_group(0)
        .spawn()
        .context("cannot start the server")?;
    // The server prints its first line when it is ready, or ends without one.
    let ready = child.stdout.take().is_some_and(|stdout| {
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .is_ok_and(|length| length > 0)
    });
    if ready && let Some(instance) = Instance::running(&dir.path) {
        up::print_ready(&instance, dir, &format!("`{}`", dir.command("down")));
        return Ok(ExitCode::SUCCESS);
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(advised(
        format!("the server did not start\n{}", last_lines(&log)),
        format!("the whole log is in `{}`", log.display()),
    ))
}

fn last_lines(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..]
        .iter()
        .map(|line| format!("  {line}\n"))
        .collect()
}
