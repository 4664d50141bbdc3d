//! Probes that run a command in the container.

use std::{io, time::Duration};

use containers::{
    Exec,
    client::{Descriptor, Sandbox},
};
use parking_lot::Mutex;
use tokio::{io::AsyncReadExt as _, time::timeout};

use super::{
    reach::{ExecFailure, Executed, Reach},
    verdict::Verdict,
};

/// What is kept of a command's output.
const KEPT: usize = 10 << 10;
/// A command that has ended may have left its output to others, who keep it open.
const LAST_WORDS: Duration = Duration::from_millis(250);

pub(super) async fn ask(reach: &impl Reach, container: &str, argv: &[String], limit: Duration) -> Verdict {
    match reach.exec(container, argv, limit).await {
        Ok(Executed { code: 0, .. }) => Verdict::Passed,
        Ok(Executed { output, .. }) => Verdict::Failed(String::from_utf8_lossy(&output).into_owned()),
        Err(failure @ ExecFailure::TimedOut) => Verdict::Failed(format!(
            "{failure}: {:?} timed out after {}s",
            argv.join(" "),
            limit.as_secs()
        )),
        Err(ExecFailure::Refused(reason)) => Verdict::Errored(reason),
    }
}

/// Runs a command in a container of a sandbox, for [`Reach::exec`] and for hooks.
pub async fn run_in(
    sandbox: &Sandbox,
    container: &str,
    argv: &[String],
    limit: Duration,
) -> Result<Executed, ExecFailure> {
    let exec = Exec {
        container: container.to_owned(),
        argv: argv.to_vec(),
        stdout: true,
        stderr: true,
        ..Exec::default()
    };
    let refused = |error: containers::client::Error| ExecFailure::Refused(error.to_string());
    let mut execution = sandbox.exec(&exec).await.map_err(refused)?;
    let (stdout, stderr) = (execution.stdout.take(), execution.stderr.take());
    let output = Mutex::new(Vec::new());
    let read = async { tokio::join!(keep(stdout, &output), keep(stderr, &output)) };
    let mut read = std::pin::pin!(read);
    let ended = async {
        let mut wait = std::pin::pin!(execution.wait());
        tokio::select! {
            exit = &mut wait => {
                let _ = timeout(LAST_WORDS, &mut read).await;
                exit
            }
            _ = &mut read => wait.await,
        }
    };
    if let Ok(exit) = timeout(limit, ended).await {
        let code = exit.map_err(refused)?.code;
        return Ok(Executed {
            code,
            output: std::mem::take(&mut *output.lock()),
        });
    }
    // If it cannot be told to end it is ending already.
    let _ = execution.kill().await;
    Err(ExecFailure::TimedOut)
}

/// Reads a stream to its end and keeps what there is room for.
async fn keep(stream: Option<Descriptor>, output: &Mutex<Vec<u8>>) -> io::Result<()> {
    let Some(mut stream) = stream else {
        return Ok(());
    };
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        let mut output = output.lock();
        let room = KEPT.saturating_sub(output.len()).min(count);
        output.extend_from_slice(&buffer[..room]);
    }
}
