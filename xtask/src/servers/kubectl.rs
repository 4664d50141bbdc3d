//! The real kubectl, for what a cluster must have before it is used.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Result, bail};

use crate::{
    processes::wait_until,
    real_kubernetes::{self, Component},
};

const PATIENCE: Duration = Duration::from_mins(5);

pub(crate) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    pub(crate) fn new(kubeconfig: PathBuf) -> Result<Self> {
        Ok(Self {
            program: real_kubernetes::ensure(Component::Kubectl)?,
            kubeconfig,
        })
    }

    /// Waits until the API server says that it is ready: it accepts connections long before.
    pub(crate) fn until_ready(&self) -> Result<()> {
        wait_until("the API server is ready", PATIENCE, || {
            Ok(self.run(&["get", "--raw", "/readyz"]).is_ok())
        })
    }

    pub(crate) fn apply(&self, text: &str) -> Result<()> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), text)?;
        self.run(&["apply", "-f", &file.path().to_string_lossy()])?;
        Ok(())
    }

    /// What it prints.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(arguments)
            .stdin(Stdio::null())
            .output()?;
        if !output.status.success() {
            bail!(
                "kubectl {}: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
