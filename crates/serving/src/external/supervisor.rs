//! The life of a server of another make: it is started, looked at until it can be asked, and started again when it
//! ends.

use std::{
    io,
    os::fd::AsFd as _,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    sync::watch,
    time::{interval, sleep, timeout},
};

use super::External;

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A server that ran so long has not failed at its start.
const SETTLED: Duration = Duration::from_mins(1);
/// Between two looks whether it can be asked.
const GLANCE: Duration = Duration::from_millis(250);
/// A look that takes longer is none.
const LOOK: Duration = Duration::from_secs(2);
const MOST_BYTES: u64 = 64 * 1024;

/// Where it can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    pub(crate) grpc: u16,
    pub(crate) rest: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Starting,
    Ready(Ports),
    /// In which way; it will be started again.
    Ended(String),
}

pub(super) struct Supervisor {
    pub(super) options: External,
    pub(super) phases: watch::Sender<Phase>,
    /// Told when it is to end for good.
    pub(super) ended: watch::Receiver<bool>,
}

impl Supervisor {
    pub(super) async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let started = Instant::now();
            let what = match self.once().await {
                Ok(None) => return,
                Ok(Some(status)) => format!("ended ({status})"),
                Err(error) => format!("cannot be started: {error}"),
            };
            tracing::warn!(program = self.options.shown, "the server {what}");
            self.phases.send_replace(Phase::Ended(what));
            if started.elapsed() > SETTLED {
                pause = FIRST_PAUSE;
            }
            tokio::select! {
                () = sleep(pause) => {}
                () = told(&mut self.ended) => return,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// One life of the server; none where it was told to end.
    async fn once(&mut self) -> io::Result<Option<ExitStatus>> {
        let ports = free_ports().await?;
        let mut child = spawn(&self.options.command(ports))?;
        let mut clock = interval(GLANCE);
        let mut is_ready = false;
        loop {
            tokio::select! {
                ended = child.wait() => return ended.map(Some),
                () = told(&mut self.ended) => {
                    end(&mut child, self.options.grace).await;
                    return Ok(None);
                }
                _ = clock.tick(), if !is_ready => {
                    is_ready = can_be_asked(ports, &self.options.name).await;
                    if is_ready {
                        tracing::info!(program = self.options.shown, "the server can be asked");
                        self.phases.send_replace(Phase::Ready(ports));
                    }
                }
            }
        }
    }
}

/// Whoever started this one may also be gone.
async fn told(ended: &mut watch::Receiver<bool>) {
    let _ = ended.wait_for(|ended| *ended).await;
}

fn spawn(command: &[String]) -> io::Result<Child> {
    let Some((program, words)) = command.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // Answers of ours are on the standard output, so its words are not.
    let stderr = io::stderr().as_fd().try_clone_to_owned()?;
    Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::from(stderr))
        .kill_on_drop(true)
        .spawn()
}

async fn end(child: &mut Child, grace: Duration) {
    let pid = child.id().and_then(|pid| Pid::from_raw(pid as i32));
    if let Some(pid) = pid
        && kill_process(pid, Signal::TERM).is_ok()
        && timeout(grace, child.wait()).await.is_ok()
    {
        return;
    }
    let _ = child.kill().await;
}

/// Ports nobody has now; both are held until both are known.
async fn free_ports() -> io::Result<Ports> {
    let grpc = TcpListener::bind("127.0.0.1:0").await?;
    let rest = TcpListener::bind("127.0.0.1:0").await?;
    Ok(Ports {
        grpc: grpc.local_addr()?.port(),
        rest: rest.local_addr()?.port(),
    })
}

async fn can_be_asked(ports: Ports, name: &str) -> bool {
    let looked = timeout(LOOK, async {
        let is_open = TcpStream::connect(("127.0.0.1", ports.grpc)).await.is_ok();
        is_open && allows(status(ports.rest, name).await.as_deref())
    });
    looked.await.unwrap_or(false)
}

/// TensorFlow Serving listens before its model is there, and says so; not every server has that to say.
fn allows(status: Option<&str>) -> bool {
    let is_told = |status: &str| status.contains("model_version_status");
    status.is_none_or(|status| !is_told(status) || status.contains("AVAILABLE"))
}

/// What it says of the model, where it says anything.
async fn status(port: u16, name: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let name = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    let request = format!("GET /v1/models/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut answer).await.ok()?;
    Some(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_says_its_model_is_loading_cannot_be_asked() {
        assert!(!allows(Some(
            r#"{"model_version_status": [{"state": "LOADING"}]}"#
        )));
        assert!(allows(Some(
            r#"{"model_version_status": [{"state": "AVAILABLE"}]}"#
        )));
        assert!(allows(Some("HTTP/1.1 404 Not Found")));
        assert!(allows(None));
    }
}
