//! The real kube-apiserver with its etcd, to learn what is true.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, ChildStdout, Stdio},
    time::{Duration, Instant},
};

use crate::{binary::cargo, http, server::data_dir};

/// A real control plane. It ends when its input does.
#[derive(Debug)]
pub(crate) struct Real {
    child: Child,
    /// Kept open: it ends when it has something to say and nobody listens.
    _output: BufReader<ChildStdout>,
}

impl Real {
    /// Starts it where Trainyard would be; it writes a kubeconfig as Trainyard does.
    pub(crate) fn start(home: &Path, more: &[&str]) -> Self {
        let log = File::create(home.join("server.log")).expect("a log can be written");
        let mut child = cargo()
            .args(["xtask", "real-server", "--data-dir"])
            .arg(data_dir(home))
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("cargo can be started");
        let mut output = BufReader::new(child.stdout.take().expect("the output is piped"));
        let first = output.read_line(&mut String::new());
        assert!(
            first.is_ok_and(|length| length > 0),
            "the real server did not start"
        );
        Self {
            child,
            _output: output,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The real components announce nothing, so they are asked until they answer.
pub(crate) fn wait_until_ready(address: &str, token: &str) {
    let deadline = Instant::now() + Duration::from_mins(5);
    let is_there = |path: &str| http::get(address, path, Some(token)).status == 200;
    while !["/readyz", SERVICE_ACCOUNT, ROOT_CERTIFICATE]
        .into_iter()
        .all(is_there)
    {
        assert!(Instant::now() < deadline, "the real server does not get ready");
        std::thread::sleep(Duration::from_millis(100));
    }
}

const SERVICE_ACCOUNT: &str = "/api/v1/namespaces/default/serviceaccounts/default";
const ROOT_CERTIFICATE: &str = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
