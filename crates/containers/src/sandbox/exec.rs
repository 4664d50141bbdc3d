//! Further processes in running containers. Their streams go straight to the client.

use std::os::fd::OwnedFd;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{
    error::{Doing as _, SetupError},
    events::{Source, Token},
    init::ForkInto,
    process::{self, Place, Plan},
    report::ReportPipe,
    server::Server,
    stdio::{self, Stdio},
};
use crate::{
    protocol::{Exec, Failure, FailureKind, Response},
    state::Exit,
};

/// A process started beside a container's own.
#[derive(Debug)]
pub(super) struct Execution {
    container: String,
    requester: Token,
    report: Option<ReportPipe>,
    /// The end of its terminal that the client gets.
    terminal: Option<OwnedFd>,
    /// It never became the program that was asked for.
    failed: bool,
}

impl Server {
    pub(super) fn execute(
        &mut self,
        token: Token,
        exec: Exec,
        descriptors: Vec<OwnedFd>,
    ) -> Result<(), Failure> {
        let running = self.running(&exec.container)?;
        let pid = running.pid.unwrap_or_default();
        let (stdio, terminal) = self.streams(&exec, descriptors)?;
        let (listen, tell) = ReportPipe::make().doing(|| "make a pipe")?;
        let place = if self.surroundings.isolated {
            Place::Beside(pid)
        } else {
            Place::Bare
        };
        let plan = Plan {
            spec: &running.spec,
            argv: &exec.argv,
            stdio,
            group: running.group.as_ref(),
            place,
        };
        let process = self
            .process_namespaces
            .fork(ForkInto::Beside(pid), || process::run(&plan, tell))
            .doing(|| "fork a process")?;
        drop(plan);

        let started = Source::ExecStart(process.as_raw());
        let report =
            ReportPipe::listen(listen, started, &mut self.events).doing(|| "wait for the process")?;
        let execution = Execution {
            container: exec.container,
            requester: token,
            report: Some(report),
            terminal,
            failed: false,
        };
        self.executions.insert(process.as_raw(), execution);
        if let Some(connection) = self.connections.get_mut(&token) {
            connection.executes = Some(process.as_raw());
        }
        Ok(())
    }

    fn streams(
        &self,
        exec: &Exec,
        descriptors: Vec<OwnedFd>,
    ) -> Result<(Stdio, Option<OwnedFd>), SetupError> {
        if exec.tty {
            let terminal = stdio::open_terminal(&self.surroundings).doing(|| "make a terminal")?;
            return Ok((Stdio::Terminal(terminal.number), Some(terminal.controller)));
        }
        let mut descriptors = descriptors.into_iter();
        let mut stream = |wanted: bool| match descriptors.next_if(wanted) {
            Some(descriptor) => Ok(descriptor),
            None => stdio::nothing().doing(|| "open `/dev/null`"),
        };
        let (stdin, stdout, stderr) = (stream(exec.stdin)?, stream(exec.stdout)?, stream(exec.stderr)?);
        Ok((
            Stdio::Streams {
                stdin,
                stdout,
                stderr,
            },
            None,
        ))
    }

    pub(super) fn hear_of_exec(&mut self, process: i32) {
        let Some(execution) = self.executions.get_mut(&process) else {
            return;
        };
        let Some(heard) = execution
            .report
            .as_mut()
            .and_then(|report| report.hear(&mut self.events))
        else {
            return;
        };
        execution.report = None;
        let requester = execution.requester;
        let terminal = execution.terminal.take();
        match heard {
            Ok(_) => self.reply_with(requester, &Response::Started, terminal.into_iter().collect()),
            Err(failure) => {
                execution.failed = true;
                self.reply(requester, &Response::Failed(failure));
            }
        }
    }

    pub(super) fn end_execution(&mut self, process: i32, exit: Exit) {
        self.hear_of_exec(process);
        if let Some(execution) = self.executions.remove(&process)
            && !execution.failed
        {
            self.reply(execution.requester, &Response::Exited(exit));
        }
    }

    /// Those of a container that has ended and that the kernel has not killed with it.
    pub(super) fn kill_executions(&self, container: &str) {
        for (process, _) in self
            .executions
            .iter()
            .filter(|(_, execution)| execution.container == container)
        {
            let _ = kill(Pid::from_raw(*process), Signal::SIGKILL);
        }
    }

    pub(super) fn kill_execution(&mut self, token: Token) -> Result<(), Failure> {
        let process = self
            .connections
            .get(&token)
            .and_then(|connection| connection.executes);
        let process = process.filter(|process| self.executions.contains_key(process));
        let Some(process) = process else {
            return Err(Failure::new(FailureKind::NotRunning, "the process has ended"));
        };
        kill(Pid::from_raw(process), Signal::SIGKILL).doing(|| "kill the process")?;
        Ok(())
    }
}

/// The next item if it is wanted.
trait NextIf: Iterator {
    fn next_if(&mut self, wanted: bool) -> Option<Self::Item> {
        if wanted { self.next() } else { None }
    }
}

impl<I: Iterator> NextIf for I {}
