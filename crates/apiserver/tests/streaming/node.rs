//! A node whose containers are this machine: commands are processes of it, ports are its ports.

use std::{
    net::SocketAddr,
    pin::Pin,
    process::Stdio,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use node_api::{
    Answer, Command, Connection, ContainerUsage, LogOptions, Logs, Node, NodeError, NodeUsage, Pod, PodUsage,
    Run, Session, Streams, TerminalSize, Usage,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, ReadBuf},
    net::TcpStream,
    sync::{broadcast, mpsc},
};

#[derive(Default)]
pub(crate) struct HostNode {
    /// The sizes terminals were told.
    pub(crate) sizes: std::sync::Arc<Mutex<Vec<TerminalSize>>>,
    /// How logs were asked for last.
    pub(crate) log_options: Mutex<Option<LogOptions>>,
    /// Lines for those who follow the log.
    pub(crate) lines: Mutex<Option<broadcast::Sender<String>>>,
    /// Where every address is found instead.
    pub(crate) everything_at: Mutex<Option<SocketAddr>>,
    /// Bytes that were taken from what commands write.
    pub(crate) taken: std::sync::Arc<AtomicU64>,
    /// Sessions that are open.
    pub(crate) sessions: std::sync::Arc<AtomicUsize>,
}

/// Counts a session until it is dropped.
struct Counted(std::sync::Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts what is read.
struct Metered<R>(R, std::sync::Arc<AtomicU64>);

impl<R: AsyncRead + Unpin> AsyncRead for Metered<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.0).poll_read(context, buffer);
        let read = buffer.filled().len() - before;
        self.1.fetch_add(read as u64, Ordering::SeqCst);
        polled
    }
}

impl HostNode {
    fn count(&self) -> Counted {
        self.sessions.fetch_add(1, Ordering::SeqCst);
        Counted(self.sessions.clone())
    }

    fn start(&self, command: &Command) -> Result<Session, NodeError> {
        let [program, arguments @ ..] = command.argv.as_slice() else {
            return Err(NodeError::Failed("no command".to_owned()));
        };
        let mut process = if command.streams.tty {
            let mut script = tokio::process::Command::new("script");
            script.args(["-qefc", &command.argv.join(" "), "/dev/null"]);
            script
        } else {
            let mut process = tokio::process::Command::new(program);
            process.args(arguments);
            process
        };
        let pipe = |wanted: bool| if wanted { Stdio::piped() } else { Stdio::null() };
        let mut child = process
            .stdin(pipe(command.streams.stdin))
            .stdout(pipe(command.streams.stdout))
            .stderr(pipe(command.streams.stderr))
            .kill_on_drop(true)
            .spawn()
            .map_err(|_| {
                NodeError::Failed(format!("exec: \"{program}\": executable file not found in $PATH"))
            })?;
        let counted = self.count();
        let sizes = self.sizes.clone();
        Ok(Session {
            stdin: child.stdin.take().map(|stdin| Box::new(stdin) as _),
            stdout: child
                .stdout
                .take()
                .map(|stdout| Box::new(Metered(stdout, self.taken.clone())) as _),
            stderr: child.stderr.take().map(|stderr| Box::new(stderr) as _),
            resize: command
                .streams
                .tty
                .then(|| Box::new(move |size| sizes.lock().unwrap().push(size)) as _),
            exit: async move {
                let _counted = counted;
                let status = child
                    .wait()
                    .await
                    .map_err(|error| NodeError::Failed(error.to_string()))?;
                Ok(status.code().unwrap_or(137))
            }
            .boxed(),
        })
    }
}

impl Node for HostNode {
    fn logs<'a>(&'a self, _: &'a Pod, run: Run<'a>, options: LogOptions) -> Answer<'a, Logs> {
        async move {
            let follow = options.follow;
            *self.log_options.lock().unwrap() = Some(options);
            let first = futures_util::stream::iter([Ok(Bytes::from(format!("{} began\n", run.container)))]);
            if !follow {
                return Ok(first.boxed());
            }
            let lines = {
                let mut lines = self.lines.lock().unwrap();
                lines.get_or_insert_with(|| broadcast::channel(64).0).subscribe()
            };
            let counted = self.count();
            let more = futures_util::stream::unfold((lines, counted), |(mut lines, counted)| async move {
                let line = lines.recv().await.ok()?;
                Some((Ok(Bytes::from(line)), (lines, counted)))
            });
            Ok(first.chain(more).boxed())
        }
        .boxed()
    }

    fn exec<'a>(&'a self, _: &'a Pod, container: &'a str, command: Command) -> Answer<'a, Session> {
        async move {
            if container == "side" {
                return Err(NodeError::NoContainer(container.to_owned()));
            }
            self.start(&command)
        }
        .boxed()
    }

    /// The first process of every container says what it is told, and ends when told nothing more.
    fn attach<'a>(&'a self, _: &'a Pod, _: &'a str, _: Streams) -> Answer<'a, Session> {
        async move {
            let (ours, theirs) = tokio::io::duplex(1024);
            let (output, input) = tokio::io::split(theirs);
            let (done, mut ended) = mpsc::channel::<()>(1);
            let (mut read, mut write) = tokio::io::split(ours);
            tokio::spawn(async move {
                let _ = write.write_all(b"hello\n").await;
                let mut buffer = [0; 512];
                while let Ok(count @ 1..) = read.read(&mut buffer).await {
                    let _ = write.write_all(&buffer[..count]).await;
                }
                let _ = write.shutdown().await;
                drop(done);
            });
            Ok(Session {
                stdin: Some(Box::new(input)),
                stdout: Some(Box::new(output)),
                stderr: None,
                resize: None,
                exit: async move {
                    ended.recv().await;
                    Ok(0)
                }
                .boxed(),
            })
        }
        .boxed()
    }

    fn forward<'a>(&'a self, _: &'a Pod, port: u16) -> Answer<'a, Connection> {
        async move {
            match TcpStream::connect(("127.0.0.1", port)).await {
                Ok(stream) => Ok(Box::new(stream) as Connection),
                Err(error) => Err(NodeError::Failed(error.to_string())),
            }
        }
        .boxed()
    }

    fn dial(&self, address: SocketAddr) -> Answer<'_, Connection> {
        async move {
            let instead = *self.everything_at.lock().unwrap();
            let Some(instead) = instead else {
                return Err(NodeError::Failed(format!(
                    "dial tcp {address}: connect: connection refused"
                )));
            };
            let stream = TcpStream::connect(instead).await;
            let stream = stream.map_err(|error| NodeError::Failed(error.to_string()))?;
            Ok(Box::new(stream) as Connection)
        }
        .boxed()
    }

    fn pod_usage(&self) -> Answer<'_, Vec<PodUsage>> {
        let usage = |name: &str, cpu_nanocores, memory_bytes| ContainerUsage {
            name: name.to_owned(),
            usage: Usage {
                cpu_nanocores,
                memory_bytes,
            },
        };
        let web = PodUsage {
            namespace: "default".to_owned(),
            name: "web".to_owned(),
            measured: Timestamp::now(),
            window: Duration::from_secs(15),
            containers: vec![
                usage("main", 250_000_000, 64 << 20),
                usage("side", 1_000_000, 1 << 20),
            ],
        };
        async move { Ok(vec![web]) }.boxed()
    }

    fn node_usage(&self) -> Answer<'_, NodeUsage> {
        let usage = NodeUsage {
            measured: Timestamp::now(),
            window: Duration::from_secs(15),
            usage: Usage {
                cpu_nanocores: 500_000_000,
                memory_bytes: 1 << 30,
            },
        };
        async move { Ok(usage) }.boxed()
    }
}
