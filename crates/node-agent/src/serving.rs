//! What the API server may ask of this node: logs, commands, connections, usage.

mod logs;
mod usage;

use std::{
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    sync::Arc,
};

use containers::{
    Exec, FailureKind,
    client::{self, Sandbox},
};
use node_api::{
    Answer, Command, Connection, LogOptions, Logs, Node, NodeError, NodeUsage, Pod, PodUsage, Run, Session,
    Streams, TerminalSize,
};
use usage::Meter;

use crate::{agent::Agent, folders::PodFolder};

pub(crate) struct Serving {
    agent: Arc<Agent>,
    meter: Meter,
}

impl Serving {
    pub(crate) fn new(agent: Arc<Agent>) -> Self {
        Self {
            agent,
            meter: Meter::default(),
        }
    }

    fn folder(&self, pod: &Pod) -> PodFolder {
        self.agent.folders.named(&pod.namespace, &pod.name, &pod.uid)
    }

    /// The sandbox of a pod in which the container may run.
    async fn sandbox(&self, pod: &Pod, container: &str) -> Result<Sandbox, NodeError> {
        let folder = self.folder(pod);
        let missing = |_| NodeError::NoContainer(container.to_owned());
        Sandbox::adopt(folder.path()).await.map_err(missing)
    }

    async fn start(&self, pod: &Pod, container: &str, command: Command) -> Result<Session, NodeError> {
        let sandbox = self.sandbox(pod, container).await?;
        let Streams {
            stdin,
            stdout,
            stderr,
            tty,
        } = command.streams;
        let exec = Exec {
            container: container.to_owned(),
            argv: command.argv,
            tty,
            stdin,
            stdout,
            stderr,
        };
        let mut execution = sandbox
            .exec(&exec)
            .await
            .map_err(|error| explain(error, container))?;
        let terminal = match &execution.stdout {
            Some(terminal) if tty => Some(terminal.try_clone().map_err(|error| failed(&error))?),
            _ => None,
        };
        Ok(Session {
            stdin: execution.stdin.take().map(|stream| Box::new(stream) as _),
            stdout: execution.stdout.take().map(|stream| Box::new(stream) as _),
            stderr: execution.stderr.take().map(|stream| Box::new(stream) as _),
            resize: terminal.map(resizer),
            exit: Box::pin(async move {
                let exit = execution.wait().await.map_err(|error| failed(&error))?;
                Ok(exit.code)
            }),
        })
    }

    async fn join(&self, pod: &Pod, container: &str, streams: Streams) -> Result<Session, NodeError> {
        let sandbox = self.sandbox(pod, container).await?;
        let attached = sandbox
            .attach(container)
            .await
            .map_err(|error| explain(error, container))?;
        let terminal = match (&attached.stdin, attached.tty) {
            (Some(terminal), true) => Some(terminal.try_clone().map_err(|error| failed(&error))?),
            _ => None,
        };
        let (stdin, stdout, stderr) = (attached.stdin, attached.stdout, attached.stderr);
        let name = container.to_owned();
        Ok(Session {
            stdin: stdin
                .filter(|_| streams.stdin)
                .map(|stream| Box::new(stream) as _),
            stdout: streams.stdout.then(|| Box::new(stdout) as _),
            stderr: stderr
                .filter(|_| streams.stderr)
                .map(|stream| Box::new(stream) as _),
            resize: terminal.map(resizer),
            exit: Box::pin(async move {
                logs::ended(&sandbox, &name, None).await;
                Ok(0)
            }),
        })
    }
}

impl Node for Serving {
    fn logs<'a>(&'a self, pod: &'a Pod, run: Run<'a>, options: LogOptions) -> Answer<'a, Logs> {
        let logs = logs::read(self.folder(pod), run, &options);
        Box::pin(std::future::ready(logs))
    }

    fn exec<'a>(&'a self, pod: &'a Pod, container: &'a str, command: Command) -> Answer<'a, Session> {
        Box::pin(self.start(pod, container, command))
    }

    fn attach<'a>(&'a self, pod: &'a Pod, container: &'a str, streams: Streams) -> Answer<'a, Session> {
        Box::pin(self.join(pod, container, streams))
    }

    fn forward<'a>(&'a self, pod: &'a Pod, port: u16) -> Answer<'a, Connection> {
        Box::pin(async move {
            let folder = self.folder(pod);
            let sandbox = Sandbox::adopt(folder.path())
                .await
                .map_err(|_| NodeError::NoPod)?;
            let loopback = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
            let stream = sandbox.connect(loopback).await.map_err(|error| failed(&error))?;
            Ok(Box::new(stream) as Connection)
        })
    }

    fn dial(&self, address: SocketAddr) -> Answer<'_, Connection> {
        Box::pin(async move {
            let stream = self.agent.dial(address.ip(), address.port()).await;
            let stream = stream.map_err(|error| failed(&error))?;
            Ok(Box::new(stream) as Connection)
        })
    }

    fn pod_usage(&self) -> Answer<'_, Vec<PodUsage>> {
        Box::pin(async move { Ok(self.meter.pods(&self.agent).await) })
    }

    fn node_usage(&self) -> Answer<'_, NodeUsage> {
        Box::pin(async move { self.meter.node().await.map_err(|error| failed(&error)) })
    }
}

fn resizer(terminal: client::Descriptor) -> Box<dyn FnMut(TerminalSize) + Send> {
    Box::new(move |size| {
        // Without it the program goes on in its old size.
        let _ = terminal.resize(size.rows, size.columns);
    })
}

fn failed(error: &dyn std::fmt::Display) -> NodeError {
    NodeError::Failed(error.to_string())
}

fn explain(error: client::Error, container: &str) -> NodeError {
    match error {
        client::Error::Refused(failure) if failure.kind == FailureKind::NotRunning => {
            NodeError::NoContainer(container.to_owned())
        }
        client::Error::Gone { .. } => NodeError::NoContainer(container.to_owned()),
        error => failed(&error),
    }
}
