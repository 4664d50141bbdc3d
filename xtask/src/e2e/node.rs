//! The node group: the embedded cluster as it is, with pods that really run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::Result;

use super::images;
use crate::{
    processes::{Background, wait_until},
    real_kubernetes::{self, Component},
    run,
    servers::{self, Profile},
};

pub(super) struct Cluster {
    pub(super) kubeconfig: PathBuf,
    binary: PathBuf,
    data: PathBuf,
    server: Background,
}

impl Cluster {
    pub(super) fn start(work: &Path) -> Result<Self> {
        let binary = servers::build(Profile::Debug, &[])?.join("trainyard");
        let archive = images::ensure()?;
        let data = work.join("data");
        let mut up = Command::new(&binary);
        up.args(["up", "--listen=127.0.0.1:0", "--data-dir"]).arg(&data);
        let server = Background::start("trainyard", &mut up, work)?;
        let kubeconfig = data.join("kubeconfig");
        wait_until("the kubeconfig", Duration::from_secs(20), || {
            Ok(kubeconfig.exists())
        })?;
        let mut import = Command::new(&binary);
        import.args(["image", "import"]).arg(archive);
        run::check(import.arg("--data-dir").arg(&data))?;
        let mut ready = Command::new(real_kubernetes::ensure(Component::Kubectl)?);
        ready.arg("--kubeconfig").arg(&kubeconfig);
        run::check(ready.args(["wait", "--for=condition=Ready", "node", "--all", "--timeout=60s"]))?;
        Ok(Self {
            kubeconfig,
            binary,
            data,
            server,
        })
    }

    /// The suite may pass although the cluster died; that is a failure too.
    pub(super) fn check(&mut self) -> Result<()> {
        self.server.check_alive()
    }
}

impl Drop for Cluster {
    /// Pods outlive the server, but not the test.
    fn drop(&mut self) {
        let mut down = Command::new(&self.binary);
        let _ = down.args(["down", "--data-dir"]).arg(&self.data).status();
        let _ = fs::remove_dir_all(&self.data);
    }
}
