//! The sandbox's loop: waits for clients, children and output, and lets the right part act.

use std::{
    collections::BTreeMap,
    env,
    fmt::Arguments,
    fs,
    io::{self, Write as _},
    os::unix::net::UnixListener,
    path::PathBuf,
};

use nix::sys::{
    signal::{SigSet, Signal},
    signalfd::{SfdFlags, SignalFd},
    socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket},
};

use super::{
    connection::{Connection, Incoming},
    containers::Running,
    error::{Doing as _, SetupError},
    events::{Events, Source, Token},
    exec::Execution,
    init::ProcessNamespaces,
    namespaces::{self, Surroundings},
    process,
};
use crate::{
    cgroups, processes,
    protocol::{Failure, Request, Response},
    spec::Sandbox,
    state::State,
};

/// Everything a sandbox knows. The modules beside this one each add what they do to it.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) spec: Sandbox,
    pub(super) dir: PathBuf,
    pub(super) surroundings: Surroundings,
    pub(super) process_namespaces: ProcessNamespaces,
    pub(super) control_groups: Option<cgroups::Parent>,
    pub(super) events: Events,
    signals: SignalFd,
    listener: UnixListener,
    pub(super) connections: BTreeMap<Token, Connection>,
    pub(super) containers: BTreeMap<String, Running>,
    /// Further processes in containers, by their number in this sandbox.
    pub(super) executions: BTreeMap<i32, Execution>,
    pub(super) state: State,
    /// Nothing is started any more.
    stopping: bool,
    /// Told when all is over.
    stop_requesters: Vec<Token>,
}

impl Server {
    /// Makes the pod's namespaces and listens.
    pub(super) fn open(spec: Sandbox) -> Result<Self, SetupError> {
        let dir = env::current_dir().doing(|| "find the sandbox's folder")?;
        let control_groups = cgroups::Parent::find();
        let surroundings = namespaces::enter(&spec, &dir)?;
        let process_namespaces = ProcessNamespaces::prepare(&spec, &surroundings)?;

        let mut heard = SigSet::empty();
        heard.add(Signal::SIGCHLD);
        heard.add(Signal::SIGTERM);
        heard.thread_block().doing(|| "block signals")?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let signals = SignalFd::with_flags(&heard, flags).doing(|| "listen for signals")?;
        // The folder's own path may be longer than an address can be.
        let _ = fs::remove_file("sandbox.sock");
        let listener = UnixListener::bind("sandbox.sock").doing(|| "listen on `sandbox.sock`")?;
        listener
            .set_nonblocking(true)
            .doing(|| "listen without waiting")?;

        let mut events = Events::new().doing(|| "wait for events")?;
        events
            .add(&signals, Source::Signals)
            .doing(|| "wait for signals")?;
        events
            .add(&listener, Source::Listener)
            .doing(|| "wait for clients")?;
        let pid = process::own_pid()?;
        let start_time = processes::start_time(pid).doing(|| "find our start time")?;
        let folders = control_groups
            .as_ref()
            .map(|groups| groups.folders(&spec.id))
            .unwrap_or_default();
        let server = Self {
            state: State {
                pid,
                start_time,
                control_groups: folders,
                containers: BTreeMap::new(),
            },
            spec,
            dir,
            surroundings,
            process_namespaces,
            control_groups,
            events,
            signals,
            listener,
            connections: BTreeMap::new(),
            containers: BTreeMap::new(),
            executions: BTreeMap::new(),
            stopping: false,
            stop_requesters: Vec::new(),
        };
        server.write_state().doing(|| "write `state.json`")?;
        Ok(server)
    }

    /// Serves until told to stop.
    pub(super) fn run(mut self) -> i32 {
        loop {
            if self.stopping && self.containers.is_empty() {
                return self.finish();
            }
            let ready = match self.events.wait() {
                Ok(ready) => ready,
                Err(error) => {
                    note(format_args!("cannot wait for events: {error}"));
                    return 1;
                }
            };
            for token in ready {
                self.handle(token);
            }
        }
    }

    fn handle(&mut self, token: Token) {
        match self.events.source(token) {
            None => {}
            Some(Source::Signals) => self.hear_signals(),
            Some(Source::Listener) => self.accept(),
            Some(Source::Connection) => self.converse(token),
            Some(Source::Start(name)) => self.hear_of_start(&name),
            Some(Source::ExecStart(pid)) => self.hear_of_exec(pid),
            Some(Source::Output(name, index)) => self.pump_output(&name, index),
        }
    }

    fn hear_signals(&mut self) {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            if signal.ssi_signo == Signal::SIGTERM as u32 {
                self.stop(None);
            }
        }
        self.reap();
    }

    fn accept(&mut self) {
        while let Ok((socket, _)) = self.listener.accept() {
            if socket.set_nonblocking(true).is_err() {
                continue;
            }
            if let Ok(token) = self.events.add(&socket, Source::Connection) {
                self.connections.insert(token, Connection::new(socket));
            }
        }
    }

    /// Takes what a client says and sends what could not be sent before.
    fn converse(&mut self, token: Token) {
        loop {
            let Some(connection) = self.connections.get_mut(&token) else {
                return;
            };
            connection.flush();
            match connection.receive() {
                Incoming::Pending => return self.after_sending(token),
                Incoming::Closed => return self.close(token),
                Incoming::Request(request, descriptors) => self.answer(token, *request, descriptors),
            }
        }
    }

    fn answer(&mut self, token: Token, request: Request, descriptors: Vec<std::os::fd::OwnedFd>) {
        let result = match request {
            Request::Start(container) => self.start(token, *container),
            Request::Exec(exec) => self.execute(token, exec, descriptors),
            Request::Attach { container } => self.attach(token, &container),
            Request::Kill => self.kill_execution(token),
            Request::Signal { container, signal } => self
                .signal(&container, signal)
                .map(|()| self.reply(token, &Response::Done)),
            Request::Watch => {
                if let Some(connection) = self.connections.get_mut(&token) {
                    connection.watches = true;
                }
                self.reply(token, &Response::State(self.state.clone()));
                Ok(())
            }
            Request::Usage => {
                self.reply(token, &Response::Usage(self.usage()));
                Ok(())
            }
            Request::Socket => self.make_socket(token),
            Request::Stop => {
                self.stop(Some(token));
                Ok(())
            }
        };
        if let Err(failure) = result {
            self.reply(token, &Response::Failed(failure));
        }
    }

    /// A socket belongs to the network it was made in, whoever connects it.
    fn make_socket(&mut self, token: Token) -> Result<(), Failure> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Inet, SockType::Stream, flags, SockProtocol::Tcp)
            .doing(|| "make a socket")?;
        self.reply_with(token, &Response::Socket, vec![socket]);
        Ok(())
    }

    pub(super) fn reply(&mut self, token: Token, response: &Response) {
        self.reply_with(token, response, Vec::new());
    }

    /// Sends an answer, with descriptors, if the client is still there.
    pub(super) fn reply_with(
        &mut self,
        token: Token,
        response: &Response,
        descriptors: Vec<std::os::fd::OwnedFd>,
    ) {
        if let Some(connection) = self.connections.get_mut(&token) {
            connection.send(response, descriptors);
            self.after_sending(token);
        }
    }

    fn after_sending(&mut self, token: Token) {
        let Some(connection) = self.connections.get(&token) else {
            return;
        };
        let unsent = connection.has_unsent();
        if connection.ends && !unsent {
            return self.close(token);
        }
        let _ = self.events.want_room(connection, token, unsent);
    }

    fn close(&mut self, token: Token) {
        if let Some(connection) = self.connections.remove(&token) {
            self.events.remove(&connection, token);
        }
    }

    /// Writes down what has happened, then tells.
    pub(super) fn publish(&mut self) {
        if let Err(error) = self.write_state() {
            note(format_args!("cannot write the state: {error}"));
        }
        let state = Response::State(self.state.clone());
        let watchers: Vec<_> = self
            .connections
            .iter()
            .filter(|(_, connection)| connection.watches)
            .map(|(token, _)| *token)
            .collect();
        for token in watchers {
            self.reply(token, &state);
        }
    }

    fn write_state(&self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.state)?;
        fs::write(self.dir.join("state.json.new"), text)?;
        fs::rename(self.dir.join("state.json.new"), self.dir.join("state.json"))
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping
    }

    fn stop(&mut self, requester: Option<Token>) {
        self.stopping = true;
        self.stop_requesters.extend(requester);
        self.kill_all();
    }

    fn finish(mut self) -> i32 {
        if let Some(groups) = &self.control_groups {
            groups.remove(&self.spec.id);
        }
        let _ = fs::remove_file(self.dir.join("sandbox.sock"));
        for token in std::mem::take(&mut self.stop_requesters) {
            self.reply(token, &Response::Done);
        }
        0
    }

    pub(super) fn running(&self, name: &str) -> Result<&Running, Failure> {
        let running = self.containers.get(name).filter(|running| running.is_started());
        running.ok_or_else(|| {
            Failure::new(
                crate::protocol::FailureKind::NotRunning,
                format!("container \"{name}\" is not running"),
            )
        })
    }
}

/// A line in `sandbox.log`.
pub(super) fn note(what: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{} {what}", jiff::Timestamp::now());
}
