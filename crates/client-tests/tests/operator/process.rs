//! An operator that a test has started.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use client_tests::{Server, Shell, binary, run};

use crate::until;

pub(crate) struct Operator {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

/// A lease that is over soon, so that tests need not wait for it.
pub(crate) const QUICK: [&str; 3] = [
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
];

/// All kinds of jobs.
const KINDS: &str = "tfjobs,pytorchjobs,xgboostjobs,paddlejobs,jaxjobs,mpijobs,mxjobs.kubeflow.org,\
                     mxjobs.mxnet.mlkube.io,mxjobs.mlkube.io";

/// The command, with what every test needs.
pub(crate) fn command(server: &Server, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args([
            "operator",
            "--metrics-bind-address=127.0.0.1:0",
            "--health-probe-bind-address=0",
        ])
        .args(arguments)
        .env("KUBECONFIG", server.kubeconfig())
        .env_remove("MY_POD_NAMESPACE")
        .env_remove("MY_POD_NAME");
    command
}

/// What it says when it does not start.
#[track_caller]
pub(crate) fn refusal(server: &Server, arguments: &[&str]) -> String {
    let output = run(&mut command(server, arguments), "");
    assert_eq!(output.code, 2, "{output:?}");
    output.stderr
}

impl Operator {
    #[track_caller]
    pub(crate) fn start(server: &Server, arguments: &[&str]) -> Self {
        Self::of(&mut command(server, arguments))
    }

    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("trainyard can be started");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        collect(stdout, lines.clone());
        collect(stderr, lines.clone());
        Self { child, lines }
    }

    /// Waits until it has said something.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) {
        until(&format!("{text:?} in {:#?}", self.lines.lock().unwrap()), || {
            self.has_said(text)
        });
    }

    /// Waits until it leads and all kinds that the cluster is to know are served.
    #[track_caller]
    pub(crate) fn leads(&self, shell: &Shell<'_>) {
        self.says("leading as");
        until("the kinds are served", || {
            shell.run(&format!("kubectl get {KINDS}")).code == 0
        });
    }

    pub(crate) fn has_said(&self, text: &str) -> bool {
        let lines = self.lines.lock().unwrap();
        lines.iter().any(|line| line.contains(text))
    }

    /// The answer of one of its endpoints.
    pub(crate) fn get(&self, path: &str) -> String {
        let address = {
            let lines = self.lines.lock().unwrap();
            let line = lines.iter().find_map(|line| line.split_once("http://"));
            line.expect("it says where it serves").1.to_owned()
        };
        let mut stream = TcpStream::connect(address).expect("it listens");
        let request = format!("GET {path} HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// A sample of its metrics, by its whole name; the sum of all that begin with it.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = self.get("/metrics");
        let samples = text.lines().filter(|line| line.starts_with(name));
        samples
            .filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok())
            .sum()
    }

    /// Everything it has tried to change.
    pub(crate) fn changes(&self) -> u64 {
        let text = self.get("/metrics");
        let samples = text.lines().filter(|line| {
            line.starts_with("rest_client_requests_total") && !line.contains("method=\"GET\"")
        });
        samples
            .filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok())
            .sum()
    }

    #[track_caller]
    pub(crate) fn signal(&self, signal: &str) {
        let mut kill = Command::new("kill");
        run(kill.args([format!("-{signal}"), self.child.id().to_string()]), "").success();
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> ExitStatus {
        let mut status = None;
        until("the operator ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            println!("--- an operator's output\n{:#?}", self.lines.lock().unwrap());
        }
    }
}

fn collect(source: impl std::io::Read + Send + 'static, lines: Arc<Mutex<Vec<String>>>) {
    thread::spawn(move || {
        for line in BufReader::new(source).lines().map_while(Result::ok) {
            lines.lock().unwrap().push(line);
        }
    });
}
