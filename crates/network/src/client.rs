//! The process as its user sees it: start it or find it again, and ask things of it.

use std::{
    io,
    net::{Ipv4Addr, SocketAddrV4},
    os::fd::{BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use this_program::Program;
use tokio::{
    net::{TcpStream, UdpSocket},
    time::sleep,
};

use crate::{
    description::{Description, Tier},
    folder,
    options::Options,
    problem::Problem,
    table::{Protocol, Table},
    wire::{self, Answer, Request},
};

/// How long a process may take until it answers. It needs a few milliseconds; a busy machine, more.
const START: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot prepare the folder `{}`", .folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("cannot start `{}`", .binary.display())]
    Start { binary: PathBuf, source: io::Error },
    #[error("the network process ended at once ({status}){}{last_words}", if last_words.is_empty() { "" } else { ": " })]
    Died {
        status: ExitStatus,
        /// The end of its log.
        last_words: String,
    },
    #[error("the network process does not answer")]
    Silent(#[source] io::Error),
    #[error("no network process serves `{}`", .folder.display())]
    Absent { folder: PathBuf },
    #[error("{message}")]
    Refused { message: String, code: Option<i32> },
    #[error("the network process answers something else than asked")]
    Confused,
}

impl Error {
    /// Whether the process itself is the trouble: it did not even try what was asked of it.
    pub fn is_of_process(&self) -> bool {
        !matches!(self, Self::Refused { .. })
    }

    /// The operating system's word for what went wrong inside, for example a refused connection.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Refused { code, .. } => code.map(|code| io::Error::from_raw_os_error(code).kind()),
            _ => None,
        }
    }
}

/// Where a pod's network namespace is found.
#[derive(Clone, Copy, Debug)]
pub enum Namespace<'fd> {
    /// That of a process, which must stay alive until the pod is attached.
    OfProcess(u32),
    Open(BorrowedFd<'fd>),
}

/// A network process that answers. Dropping this leaves it running.
#[derive(Clone, Debug)]
pub struct Network {
    folder: PathBuf,
    description: Description,
    /// How long its log was before it wrote into it, or when it was adopted.
    log_start: u64,
}

impl Network {
    /// Runs `PROGRAM __network FOLDER` and waits until it answers.
    pub async fn start(program: &Program, folder: &Path, options: &Options) -> Result<Self, Error> {
        let unprepared = |source| Error::Folder {
            folder: folder.to_owned(),
            source,
        };
        folder::create(folder).map_err(unprepared)?;
        options.write(folder).map_err(unprepared)?;
        let log = folder::log(folder).map_err(unprepared)?;
        let log_start = folder::log_length(folder);
        let mut child = program
            .command()
            .arg("__network")
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|source| Error::Start {
                binary: program.path().to_owned(),
                source,
            })?;
        let started = Instant::now();
        loop {
            match Self::adopt(folder).await {
                Ok(network) if Some(network.description.pid) == child.id() => {
                    return Ok(Self { log_start, ..network });
                }
                Err(error) if started.elapsed() > START => return Err(error),
                _ => {}
            }
            if let Ok(Some(status)) = child.try_wait() {
                return Err(Error::Died {
                    status,
                    last_words: folder::last_words(folder, log_start),
                });
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Finds the process that serves a folder: the one it names must live, and must answer.
    pub async fn adopt(folder: &Path) -> Result<Self, Error> {
        let absent = || Error::Absent {
            folder: folder.to_owned(),
        };
        let state = folder::read_state(folder).map_err(|_| absent())?;
        if folder::start_time(state.pid) != Some(state.start_time) {
            return Err(absent());
        }
        match ask(folder, &Request::Describe, None).await? {
            (Answer::Described(description), _) => Ok(Self {
                folder: folder.to_owned(),
                description,
                log_start: folder::log_length(folder),
            }),
            _ => Err(Error::Confused),
        }
    }

    /// What the process said of itself when it was started or adopted.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Whether the process still runs, whether or not it answers.
    pub fn is_alive(&self) -> bool {
        folder::start_time(self.description.pid) == Some(self.description.start_time)
    }

    /// The end of what the process wrote into its log since it was started or adopted.
    pub fn last_words(&self) -> String {
        folder::last_words(&self.folder, self.log_start)
    }

    /// The user namespace that pods must be made in, unless the process has the rights of root.
    pub fn user_namespace(&self) -> Option<PathBuf> {
        match self.description.tier {
            Tier::Root => None,
            Tier::Rootless => Some(PathBuf::from(format!("/proc/{}/ns/user", self.description.pid))),
        }
    }

    /// What the process says of itself now.
    pub async fn describe(&self) -> Result<Description, Error> {
        match self.ask(&Request::Describe, None).await? {
            (Answer::Described(description), _) => Ok(description),
            _ => Err(Error::Confused),
        }
    }

    /// Gives a pod its address, gateway and loopback. Asking again changes nothing.
    pub async fn attach(&self, pod: &str, namespace: Namespace<'_>) -> Result<Ipv4Addr, Error> {
        let (process, passed) = match namespace {
            Namespace::OfProcess(process) => (Some(process), None),
            Namespace::Open(open) => (None, Some(open)),
        };
        match self
            .ask(
                &Request::Attach {
                    pod: pod.to_owned(),
                    process,
                },
                passed,
            )
            .await?
        {
            (Answer::Attached(address), _) => Ok(address),
            _ => Err(Error::Confused),
        }
    }

    /// Takes a pod's address back. Asking again changes nothing.
    pub async fn detach(&self, pod: &str) -> Result<(), Error> {
        match self.ask(&Request::Detach { pod: pod.to_owned() }, None).await? {
            (Answer::Done, _) => Ok(()),
            _ => Err(Error::Confused),
        }
    }

    /// Puts a table in force, in place of the one before. Returns at which places nothing can listen, for
    /// example because another program has the port; they are tried again next time.
    pub async fn set_table(&self, table: Table) -> Result<Vec<Problem>, Error> {
        match self.ask(&Request::SetTable(table), None).await? {
            (Answer::Set(problems), _) => Ok(problems),
            _ => Err(Error::Confused),
        }
    }

    /// Connects to a pod or a service.
    pub async fn dial(&self, to: SocketAddrV4) -> Result<TcpStream, Error> {
        let socket = self.connect(to, Protocol::Tcp).await?;
        TcpStream::from_std(socket.into()).map_err(Error::Silent)
    }

    /// A datagram socket whose only peer is a pod or a service.
    pub async fn dial_udp(&self, to: SocketAddrV4) -> Result<UdpSocket, Error> {
        let socket = self.connect(to, Protocol::Udp).await?;
        UdpSocket::from_std(socket.into()).map_err(Error::Silent)
    }

    /// Ends the process, and with it all connections and addresses.
    pub async fn stop(self) -> Result<(), Error> {
        // It closes the connection instead of answering, when all is cleared away.
        match self.ask(&Request::Stop, None).await {
            Err(Error::Silent(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Ok(_) => Err(Error::Confused),
            Err(error) => Err(error),
        }
    }

    async fn connect(&self, to: SocketAddrV4, protocol: Protocol) -> Result<OwnedFd, Error> {
        match self.ask(&Request::Dial { to, protocol }, None).await? {
            (Answer::Connected, Some(socket)) => Ok(socket),
            _ => Err(Error::Confused),
        }
    }

    async fn ask(
        &self,
        request: &Request,
        passed: Option<BorrowedFd<'_>>,
    ) -> Result<(Answer, Option<OwnedFd>), Error> {
        ask(&self.folder, request, passed).await
    }
}

async fn ask(
    folder: &Path,
    request: &Request,
    passed: Option<BorrowedFd<'_>>,
) -> Result<(Answer, Option<OwnedFd>), Error> {
    let exchange = async {
        let mut stream = folder::connect(folder).await?;
        wire::send(&mut stream, request, passed).await?;
        wire::receive(&mut stream).await
    };
    match exchange.await.map_err(Error::Silent)? {
        (Answer::Failed(failure), _) => Err(Error::Refused {
            message: failure.message,
            code: failure.code,
        }),
        answer => Ok(answer),
    }
}
