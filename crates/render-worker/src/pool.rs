//! The processes of a server, and how it talks to them.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::{Arc, Weak},
    time::Duration,
};

use nix::sys::signal::Signal;
use parking_lot::Mutex;
use templates::{Code, Finding, Problem, Rendered};
use this_program::Program;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, ChildStdout},
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};

use crate::{
    frames,
    request::{CheckRequest, RenderRequest, Reply, Request, SchemaReply, SchemaRequest},
};

/// What one request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes, beyond what the program itself takes.
    pub memory: u64,
    /// Time of a processor.
    pub processor: Duration,
    /// Time on the clock, on however busy a machine.
    pub patience: Duration,
    /// Processes at the same time.
    pub workers: usize,
    /// How long a process waits for another request.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 256 * 1024 * 1024,
            processor: Duration::from_millis(700),
            patience: Duration::from_secs(20),
            workers: 2,
            idle: Duration::from_secs(30),
        }
    }
}

/// Renders, checks and judges in processes of its own. Clones share the processes.
#[derive(Clone, Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    program: Program,
    limits: Limits,
    turns: Semaphore,
    idle: Mutex<Idle>,
}

/// Processes that wait, the one that did last at the end.
#[derive(Debug, Default)]
struct Idle {
    workers: Vec<Worker>,
    /// Whether somebody sees to it that they end.
    watched: bool,
}

/// One process, between two requests. Dropped, it is killed.
#[derive(Debug)]
struct Worker {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    since: Instant,
    /// It has answered before, so that it runs is no doubt.
    used: bool,
}

/// Why there is no reply.
enum Failure {
    /// The process cannot be started, or is no process of ours.
    Start(std::io::Error),
    /// It ended without a reply.
    Ended(Option<ExitStatus>),
    Slow,
}

impl Pool {
    /// `program` is this program: it is started with `__render`.
    pub fn new(program: PathBuf) -> Self {
        Self::with_limits(program, Limits::default())
    }

    pub fn with_limits(program: PathBuf, limits: Limits) -> Self {
        Self {
            shared: Arc::new(Shared {
                program: Program::at(program),
                limits,
                turns: Semaphore::new(limits.workers),
                idle: Mutex::new(Idle::default()),
            }),
        }
    }

    /// Makes the objects of a task.
    pub async fn render(&self, request: RenderRequest) -> Result<Rendered, Vec<Problem>> {
        match self.ask(&Request::Render(Box::new(request))).await? {
            Reply::Rendered(rendered) => Ok(rendered),
            _ => Err(nonsense()),
        }
    }

    /// Looks a template over.
    pub async fn check(&self, request: CheckRequest) -> Result<Vec<Finding>, Vec<Problem>> {
        match self.ask(&Request::Check(Box::new(request))).await? {
            Reply::Findings(findings) => Ok(findings),
            _ => Err(nonsense()),
        }
    }

    /// The schema of a definition, and a verdict on values.
    pub async fn schema(&self, request: SchemaRequest) -> Result<SchemaReply, Vec<Problem>> {
        match self.ask(&Request::Schema(Box::new(request))).await? {
            Reply::Schema(reply) => Ok(*reply),
            _ => Err(nonsense()),
        }
    }

    /// How many processes wait for requests.
    pub fn idle(&self) -> usize {
        self.shared.idle.lock().workers.len()
    }

    async fn ask(&self, request: &Request) -> Result<Reply, Vec<Problem>> {
        let body = serde_json::to_vec(request)
            .map_err(|error| vec![Problem::new(Code::Worker, error.to_string())])?;
        if body.len() > frames::MOST {
            let message = format!(
                "the request has {} bytes; {} is the most",
                body.len(),
                frames::MOST
            );
            return Err(vec![Problem::new(Code::Limit, message)]);
        }
        let Ok(_turn) = self.shared.turns.acquire().await else {
            return Err(nonsense());
        };
        let reply = match self.try_once(&body).await {
            // It may have been about to end, or somebody else ended it.
            Err((Failure::Ended(status), true)) if !is_over_limit(status) => self.try_once(&body).await,
            outcome => outcome,
        };
        let reply = reply.map_err(|(failure, _)| vec![self.problem(&failure)])?;
        match serde_json::from_slice(&reply) {
            Ok(Reply::Problems(problems)) => Err(problems),
            Ok(reply) => Ok(reply),
            Err(_) => Err(nonsense()),
        }
    }

    /// A reply, or why there is none and whether the process had been used before.
    async fn try_once(&self, body: &[u8]) -> Result<Vec<u8>, (Failure, bool)> {
        let waiting = self.shared.idle.lock().workers.pop();
        let mut worker = match waiting {
            Some(worker) => worker,
            None => self.start().map_err(|error| (Failure::Start(error), false))?,
        };
        let used = worker.used;
        match timeout(self.shared.limits.patience, worker.exchange(body)).await {
            Ok(Ok(reply)) => {
                worker.used = true;
                worker.since = Instant::now();
                self.put_back(worker);
                Ok(reply)
            }
            Ok(Err(_)) => {
                let status = timeout(Duration::from_secs(5), worker.child.wait()).await;
                Err((Failure::Ended(status.ok().and_then(Result::ok)), used))
            }
            Err(_) => Err((Failure::Slow, used)),
        }
    }

    fn start(&self) -> std::io::Result<Worker> {
        let limits = self.shared.limits;
        let mut child = self
            .shared
            .program
            .command()
            .arg("__render")
            .arg(limits.memory.to_string())
            .arg(limits.processor.as_millis().to_string())
            // Templates have no business with our environment. The allocator gives back what is free: what it
            // kept would count as used.
            .env_clear()
            .env("_RJEM_MALLOC_CONF", "retain:false")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let missing = || std::io::Error::other("it has no pipes");
        Ok(Worker {
            input: child.stdin.take().ok_or_else(missing)?,
            output: child.stdout.take().ok_or_else(missing)?,
            child,
            since: Instant::now(),
            used: false,
        })
    }

    fn put_back(&self, worker: Worker) {
        let mut idle = self.shared.idle.lock();
        idle.workers.push(worker);
        if !std::mem::replace(&mut idle.watched, true) {
            tokio::spawn(end_idle(Arc::downgrade(&self.shared)));
        }
    }

    fn problem(&self, failure: &Failure) -> Problem {
        let limits = self.shared.limits;
        let worker = |message: String| Problem::new(Code::Worker, message);
        match failure {
            Failure::Start(error) => worker(format!(
                "cannot start `{}`: {error}",
                self.shared.program.path().display()
            )),
            Failure::Slow => worker(format!(
                "rendering had no result after {} s",
                limits.patience.as_secs()
            ))
            .hint("the machine is too busy; try again"),
            Failure::Ended(status) => match status.and_then(|status| status.signal()) {
                Some(signal) if signal == Signal::SIGXCPU as i32 => {
                    let message = format!(
                        "takes more than {} ms of a processor",
                        limits.processor.as_millis()
                    );
                    Problem::new(Code::Limit, message).hint("loop over less")
                }
                Some(signal) if is_memory(signal) => {
                    let message = format!("takes more than {} MiB of memory", limits.memory >> 20);
                    Problem::new(Code::Limit, message).hint("repeat, pad and join less")
                }
                _ => worker("the process that renders ended without a result".to_owned()),
            },
        }
    }
}

/// An allocation that fails, or a stack that is too deep, aborts; a kernel without memory kills.
fn is_memory(signal: i32) -> bool {
    [Signal::SIGABRT, Signal::SIGSEGV, Signal::SIGBUS]
        .iter()
        .any(|known| *known as i32 == signal)
}

fn is_over_limit(status: Option<ExitStatus>) -> bool {
    let signal = status.and_then(|status| status.signal());
    signal.is_some_and(|signal| is_memory(signal) || signal == Signal::SIGXCPU as i32)
}

fn nonsense() -> Vec<Problem> {
    vec![Problem::new(
        Code::Worker,
        "the process that renders answered what nobody asked",
    )]
}

impl Worker {
    async fn exchange(&mut self, body: &[u8]) -> std::io::Result<Vec<u8>> {
        self.input.write_all(&frames::header(body.len())).await?;
        self.input.write_all(body).await?;
        self.input.flush().await?;
        let mut header = [0; 4];
        self.output.read_exact(&mut header).await?;
        let mut reply = vec![0; frames::length(header)?];
        self.output.read_exact(&mut reply).await?;
        Ok(reply)
    }
}

/// Ends processes that had nothing to do for long enough, until there are none.
async fn end_idle(pool: Weak<Shared>) {
    loop {
        let Some(shared) = pool.upgrade() else { return };
        let period = shared.limits.idle;
        let oldest = {
            let mut idle = shared.idle.lock();
            idle.workers.retain(|worker| worker.since.elapsed() < period);
            let oldest = idle.workers.iter().map(|worker| worker.since).min();
            idle.watched = oldest.is_some();
            oldest
        };
        drop(shared);
        let Some(oldest) = oldest else { return };
        sleep((oldest + period).saturating_duration_since(Instant::now()) + Duration::from_millis(10)).await;
    }
}
