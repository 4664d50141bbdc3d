//! The user's command: its script, its output, its signals, its end.

use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::AsyncReadExt as _,
    process::{Child, ChildStdout, Command},
    signal::unix::{SignalKind, signal},
};
use workflows::report::{LONGEST_RESULT, ORDER, Order, Script};

use crate::Broken;

/// As shells say that a program cannot be started.
const NOT_FOUND: i32 = 127;
const NOT_A_PROGRAM: i32 = 126;

pub(crate) struct Run {
    pub code: i32,
    /// What it printed, where that is wanted.
    pub output: Option<String>,
}

/// Writes a script to a file and says where.
pub(crate) fn write_script(script: &Script, temporary: &Path) -> Result<PathBuf, Broken> {
    let path = match &script.path {
        Some(path) => PathBuf::from(path),
        None => unused(temporary),
    };
    // A folder that is everybody's may have something of that name, which is nobody's to write to.
    let file = OpenOptions::new()
        .write(true)
        .create_new(script.path.is_none())
        .create(true)
        .truncate(true)
        .open(&path);
    let written = file.and_then(|mut file| {
        file.write_all(script.source.as_bytes())?;
        file.set_permissions(fs::Permissions::from_mode(0o755))
    });
    written.map_err(|error| Broken(format!("cannot write the script to {}: {error}", path.display())))?;
    Ok(path)
}

/// A name that nothing has.
fn unused(folder: &Path) -> PathBuf {
    let name = format!("trainyard-script-{}", std::process::id());
    let mut names = (0..).map(|number: u32| match number {
        0 => folder.join(&name),
        number => folder.join(format!("{name}-{number}")),
    });
    let free = names.find(|path| path.symlink_metadata().is_err());
    free.unwrap_or_else(|| folder.join(name))
}

/// Runs the command, again if it fails and that is wanted.
pub(crate) async fn run(order: &Order, command: &[OsString], script: Option<&Path>) -> Result<Run, Broken> {
    let mut left = order.retries.unwrap_or_default();
    let wait = order
        .retry_wait
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    loop {
        let run = once(order, command, script).await?;
        if run.code == 0 || left == 0 {
            return Ok(run);
        }
        left -= 1;
        if let Some(wait) = wait {
            tokio::time::sleep(wait).await;
        }
    }
}

async fn once(order: &Order, command: &[OsString], script: Option<&Path>) -> Result<Run, Broken> {
    let [program, arguments @ ..] = command else {
        return Err(Broken::new("the step has no command"));
    };
    let mut command = Command::new(program);
    command.args(arguments).args(script).env_remove(ORDER);
    if order.capture_result {
        command.stdout(Stdio::piped());
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            // What a shell would say and do.
            let _ = writeln!(std::io::stderr(), "{}: {error}", program.to_string_lossy());
            let code = match error.kind() {
                std::io::ErrorKind::NotFound => NOT_FOUND,
                _ => NOT_A_PROGRAM,
            };
            return Ok(Run { code, output: None });
        }
    };
    let output = child.stdout.take();
    let (ended, output) = tokio::join!(ended(&mut child), copied(output));
    Ok(Run {
        code: code(ended?),
        output,
    })
}

/// Waits for the end of the command and passes on what this process is asked to do.
async fn ended(child: &mut Child) -> Result<ExitStatus, Broken> {
    let failed = |error: std::io::Error| Broken(format!("cannot wait for the command: {error}"));
    let pid = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    loop {
        let passed_on = tokio::select! {
            ended = child.wait() => return ended.map_err(failed),
            _ = terminate.recv() => Signal::TERM,
            _ = interrupt.recv() => Signal::INT,
            _ = hangup.recv() => Signal::HUP,
        };
        if let Some(pid) = pid {
            // It may have ended just now.
            let _ = kill_process(pid, passed_on);
        }
    }
}

/// Copies output on, and keeps its end.
async fn copied(output: Option<ChildStdout>) -> Option<String> {
    let mut output = output?;
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 16 * 1024]);
    while let Ok(count) = output.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        let new = buffer.get(..count).unwrap_or_default();
        let mut stdout = std::io::stdout();
        // Whoever reads the log may have gone; the command need not end for that.
        let _ = stdout.write_all(new).and_then(|()| stdout.flush());
        kept.extend_from_slice(new);
        if kept.len() > 2 * LONGEST_RESULT {
            kept.drain(..kept.len() - LONGEST_RESULT);
        }
    }
    let start = kept.len().saturating_sub(LONGEST_RESULT);
    let text = String::from_utf8_lossy(kept.get(start..).unwrap_or_default()).into_owned();
    Some(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
}

fn code(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[tokio::test]
    async fn a_script_runs_and_its_output_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let script = Script {
            source: "echo one; echo two; exit 3".to_owned(),
            path: None,
        };
        let path = write_script(&script, folder.path()).unwrap();
        let order = Order {
            capture_result: true,
            ..Order::default()
        };
        let run = run(&order, &words("sh"), Some(&path)).await.unwrap();
        assert_eq!((run.code, run.output.as_deref()), (3, Some("one\ntwo")));
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_ends_as_in_a_shell() {
        let run = run(&Order::default(), &words("no-such-program-here"), None)
            .await
            .unwrap();
        assert_eq!(run.code, NOT_FOUND);
    }

    #[tokio::test]
    async fn a_command_is_tried_again_as_often_as_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let count = folder.path().join("count");
        let script = Script {
            source: format!("echo x >> {0}; test $(wc -l < {0}) -ge 3", count.display()),
            path: None,
        };
        let path = write_script(&script, folder.path()).unwrap();
        let order = Order {
            retries: Some(5),
            ..Order::default()
        };
        let run = run(&order, &words("sh"), Some(&path)).await.unwrap();
        assert_eq!(run.code, 0);
        assert_eq!(fs::read_to_string(&count).unwrap().lines().count(), 3);
    }
}
