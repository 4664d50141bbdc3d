//! A server of another make behind our addresses: for models that need what is not supported here. It is started,
//! started again when it ends, and asked everything but for health.

mod relay;
mod supervisor;

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::timeout,
};

use self::supervisor::{Phase, Ports, Supervisor};
use crate::{
    ServerFiles, StartError,
    server::{Front, Sockets},
};

pub(crate) use relay::Relay;

/// What TensorFlow Serving is told, where the user says nothing else.
const WORDS: [&str; 4] = [
    "--port={grpc_port}",
    "--rest_api_port={rest_port}",
    "--model_name={model_name}",
    "--model_base_path={model_dir}",
];

/// How often it is looked whether certificates were replaced.
const LOOK_AT_CERTIFICATES: Duration = Duration::from_secs(1);

/// Which server to run, and where to answer for it.
#[derive(Clone, Debug)]
pub struct External {
    /// What is executed, before the words for the server: the program, or one that runs it.
    pub program: Vec<String>,
    /// What people call it.
    pub shown: String,
    /// `{grpc_port}`, `{rest_port}`, `{model_name}` and `{model_dir}` stand for what they say; none: those of
    /// TensorFlow Serving.
    pub words: Vec<String>,
    pub base: PathBuf,
    pub name: String,
    pub listen: Vec<SocketAddr>,
    /// Every address speaks TLS; with that server nobody but this program talks.
    pub tls: Option<ServerFiles>,
    /// Answer for it from the start, whether or not it can be asked.
    pub waits: bool,
    /// How long it gets until it can be asked.
    pub patience: Duration,
    /// How long it and open requests get to end.
    pub grace: Duration,
}

impl External {
    fn command(&self, ports: Ports) -> Vec<String> {
        let filled = |word: &str| {
            word.replace("{grpc_port}", &ports.grpc.to_string())
                .replace("{rest_port}", &ports.rest.to_string())
                .replace("{model_name}", &self.name)
                .replace("{model_dir}", &self.base.display().to_string())
        };
        let program = self.program.iter().cloned();
        if self.words.is_empty() {
            return program.chain(WORDS.map(filled)).collect();
        }
        program
            .chain(self.words.iter().map(|word| filled(word)))
            .collect()
    }
}

/// A server of another make that runs until it is stopped or dropped.
pub struct ExternalRunning {
    addresses: Vec<SocketAddr>,
    is_stopping: Arc<AtomicBool>,
    stop: watch::Sender<bool>,
    end: watch::Sender<bool>,
    servers: JoinSet<()>,
    supervisor: JoinHandle<()>,
    grace: Duration,
}

/// Listens, starts the server, and returns once it can be asked; or, where it may come later, at once.
pub async fn start(options: External) -> Result<ExternalRunning, StartError> {
    let sockets = Sockets::open(&options.listen, options.tls.clone()).await?;
    let is_stopping = Arc::new(AtomicBool::new(false));
    let (phases, mut phase) = watch::channel(Phase::Starting);
    let (end, ended) = watch::channel(false);
    let (shown, patience, waits) = (options.shown.clone(), options.patience, options.waits);
    let grace = options.grace;
    let relay = Arc::new(Relay::new(&shown, phase.clone(), is_stopping.clone()));
    let (stop, stopped) = watch::channel(false);
    let addresses = sockets.addresses();
    let servers = sockets.serve(&Front::Relay(relay), &stopped, LOOK_AT_CERTIFICATES, grace);
    let supervisor = Supervisor {
        options,
        phases,
        ended,
    };
    let running = ExternalRunning {
        addresses,
        is_stopping,
        stop,
        end,
        servers,
        supervisor: tokio::spawn(supervisor.run()),
        grace,
    };
    if waits {
        return Ok(running);
    }
    let first = timeout(patience, phase.wait_for(|phase| *phase != Phase::Starting)).await;
    let what = match first.map(|phase| phase.map(|phase| phase.clone())) {
        Ok(Ok(Phase::Ready(_))) => return Ok(running),
        Ok(Ok(Phase::Ended(what))) => what,
        _ => format!("cannot be asked after {} seconds", patience.as_secs()),
    };
    running.stop().await;
    Err(StartError::Unwilling { program: shown, what })
}

impl ExternalRunning {
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Takes no new requests, waits for answers to those that were asked, and ends the server.
    pub async fn stop(mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        let _ = self.stop.send(true);
        let answered = async { while self.servers.join_next().await.is_some() {} };
        let _ = timeout(self.grace + Duration::from_secs(1), answered).await;
        let _ = self.end.send(true);
        let _ = timeout(self.grace + Duration::from_secs(1), self.supervisor).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &[&str]) -> External {
        External {
            program: vec!["/usr/bin/tensorflow_model_server".to_owned()],
            shown: "tensorflow_model_server".to_owned(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            base: PathBuf::from("/models/digits"),
            name: "digits".to_owned(),
            listen: Vec::new(),
            waits: false,
            patience: Duration::ZERO,
            grace: Duration::ZERO,
            tls: None,
        }
    }

    #[test]
    fn a_server_is_told_its_model_and_ports() {
        let ports = Ports {
            grpc: 7000,
            rest: 7001,
        };
        assert_eq!(
            options(&[]).command(ports).join(" "),
            "/usr/bin/tensorflow_model_server --port=7000 --rest_api_port=7001 --model_name=digits \
             --model_base_path=/models/digits"
        );
        assert_eq!(
            options(&["serve", "{model_dir}", "--http={rest_port}"])
                .command(ports)
                .join(" "),
            "/usr/bin/tensorflow_model_server serve /models/digits --http=7001"
        );
    }
}
