//! Starting, signalling and ending containers.

use std::{collections::BTreeMap, fs, os::fd::OwnedFd};

use jiff::Timestamp;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{
    error::Doing as _,
    events::{Source, Token},
    init::ForkInto,
    logs::LogFile,
    members::{self, MountNamespace},
    output::{Output, Progress},
    process::{self, Place, Plan},
    report::{ReportPipe, killed_early},
    server::{Server, note},
    stdio,
};
use crate::{
    cgroups::Group,
    processes,
    protocol::{Failure, FailureKind, Response},
    spec::{Container, Root},
    state::{ContainerState, End, Exit, Usage},
};

/// A container whose first process lives, or has not been buried yet.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) spec: Container,
    /// As this sandbox numbers it.
    pub(super) process: Pid,
    /// As the host numbers it; unknown until the process reports.
    pub(super) pid: Option<i32>,
    report: Option<ReportPipe>,
    /// Why it never became the container's program.
    failure: Option<Failure>,
    requester: Token,
    pub(super) output: Output,
    pub(super) input: Option<OwnedFd>,
    pub(super) group: Option<Group>,
    /// Names its mount namespace, if it has one.
    pub(super) mount_namespace: Option<MountNamespace>,
}

impl Running {
    pub(super) fn is_started(&self) -> bool {
        self.report.is_none() && self.pid.is_some()
    }
}

impl Server {
    /// Starts a container; the client hears of it when its program runs, or cannot.
    pub(super) fn start(&mut self, requester: Token, spec: Container) -> Result<(), Failure> {
        let name = spec.name.clone();
        if self.is_stopping() {
            return Err(Failure::new(FailureKind::NotRunning, "the sandbox is stopping"));
        }
        if self.containers.contains_key(&name) {
            return Err(Failure::new(
                FailureKind::AlreadyRunning,
                format!("container \"{name}\" is running"),
            ));
        }
        let fork_into = match &spec.visits {
            Some(host) => self.among_processes_of(host)?,
            None => ForkInto::Container,
        };
        let log = spec
            .log
            .clone()
            .map(LogFile::open)
            .transpose()
            .doing(|| "open the log")?;
        let group = match &self.control_groups {
            Some(parent) => Some(
                parent
                    .create(&self.spec.id, &name, &spec.limits)
                    .doing(|| "make a control group")?,
            ),
            None => None,
        };
        let (stdio, kept) = stdio::open(&spec, &self.surroundings).doing(|| "open the standard streams")?;
        let (listen, tell) = ReportPipe::make().doing(|| "make a pipe")?;
        let place = if self.surroundings.isolated {
            Place::New(&self.surroundings)
        } else {
            Place::Bare
        };
        let plan = Plan {
            spec: &spec,
            argv: &spec.argv,
            stdio,
            group: group.as_ref(),
            place,
        };
        let process = self
            .process_namespaces
            .fork(fork_into, || process::run(&plan, tell))
            .doing(|| "fork a process")?;
        drop(plan);

        let report = ReportPipe::listen(listen, Source::Start(name.clone()), &mut self.events)
            .doing(|| "wait for the process")?;
        let mut running = Running {
            process,
            pid: None,
            report: Some(report),
            failure: None,
            requester,
            output: Output::new(kept.outputs, log),
            input: kept.input,
            group,
            mount_namespace: None,
            spec,
        };
        for (index, stream) in running.output.streams.iter_mut().enumerate() {
            let Some(file) = &stream.file else { continue };
            stream.token = self.events.add(file, Source::Output(name.clone(), index)).ok();
        }
        self.containers.insert(name, running);
        Ok(())
    }

    fn among_processes_of(&self, host: &str) -> Result<ForkInto, Failure> {
        let pid = self.running(host).ok().and_then(|running| running.pid);
        pid.map(ForkInto::Beside).ok_or_else(|| {
            let message = format!("unable to find target container \"{host}\"");
            Failure::new(FailureKind::NotRunning, message)
        })
    }

    /// The process became its program, or said why not.
    pub(super) fn hear_of_start(&mut self, name: &str) {
        let Some(running) = self.containers.get_mut(name) else {
            return;
        };
        let Some(heard) = running
            .report
            .as_mut()
            .and_then(|report| report.hear(&mut self.events))
        else {
            return;
        };
        running.report = None;
        let requester = running.requester;
        match heard {
            Ok(pid) => {
                running.pid = Some(pid);
                if self.surroundings.isolated {
                    running.mount_namespace = MountNamespace::of(pid);
                }
                let started = ContainerState {
                    attempt: running.spec.attempt,
                    pid,
                    start_time: processes::start_time(pid).unwrap_or_default(),
                    started: Timestamp::now().to_string(),
                    end: None,
                };
                self.state.containers.insert(name.to_owned(), started);
                self.publish();
                self.reply(requester, &Response::Started);
            }
            // Told when the process is buried, so that the client may try again at once.
            Err(failure) => running.failure = Some(failure),
        }
    }

    pub(super) fn pump_output(&mut self, name: &str, index: usize) {
        let Some(running) = self.containers.get_mut(name) else {
            return;
        };
        if running.output.pump(index) == Progress::Open {
            return;
        }
        running.output.streams[index].close(&mut self.events);
    }

    pub(super) fn signal(&mut self, name: &str, signal: i32) -> Result<(), Failure> {
        let signal = Signal::try_from(signal)
            .map_err(|_| Failure::new(FailureKind::Invalid, format!("there is no signal {signal}")))?;
        let process = self.running(name)?.process;
        kill(process, signal).doing(|| format!("signal container \"{name}\""))?;
        Ok(())
    }

    pub(super) fn kill_all(&mut self) {
        for running in self.containers.values() {
            if let Err(error) = kill(running.process, Signal::SIGKILL) {
                note(format_args!(
                    "cannot kill container \"{}\": {error}",
                    running.spec.name
                ));
            }
        }
    }

    /// The container's first process is gone. Its output is written before its end is.
    pub(super) fn end(&mut self, name: &str, exit: Exit) {
        self.hear_of_start(name);
        let Some(mut running) = self.containers.remove(name) else {
            return;
        };
        // With the first process of a namespace the kernel kills all others.
        if !self.surroundings.own_process_namespaces || running.spec.visits.is_some() {
            members::kill_left_behind(&running, self.state.pid);
            self.kill_executions(name);
        }
        running.mount_namespace = None;
        running.output.finish();
        for stream in &mut running.output.streams {
            stream.close(&mut self.events);
        }
        let out_of_memory = running
            .group
            .as_ref()
            .is_some_and(|group| group.out_of_memory() && exit.code == 137);
        if let Some(group) = &running.group {
            group.remove();
        }
        if let Root::Layers { work, .. } = &running.spec.root {
            // Overlay leaves folders in it that only we may open; a new run makes them anew.
            let _ = fs::remove_dir_all(work);
        }
        // Nothing ran, so there is nothing to remember.
        let failure = running
            .failure
            .or_else(|| running.pid.is_none().then(killed_early));
        if let Some(failure) = failure {
            return self.reply(running.requester, &Response::Failed(failure));
        }
        if let Some(state) = self.state.containers.get_mut(name) {
            state.end = Some(End {
                finished: Timestamp::now().to_string(),
                exit,
                out_of_memory,
            });
        }
        self.publish();
    }

    /// What each running container uses: by its control group, or else by its processes.
    pub(super) fn usage(&self) -> BTreeMap<String, Usage> {
        let usage = |running: &Running| match &running.group {
            Some(group) => group.usage(),
            None => members::usage(running),
        };
        let started = self.containers.iter().filter(|(_, running)| running.is_started());
        started
            .map(|(name, running)| (name.clone(), usage(running)))
            .collect()
    }
}
