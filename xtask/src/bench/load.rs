//! The load generator: `crates/bench`, built for speed and run as a program of its own.

use std::{
    io::{BufRead as _, BufReader, Lines},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{run, servers::Server};

pub(super) const PACKAGE: &str = "bench";

pub(super) struct Generator {
    binary: PathBuf,
}

impl Generator {
    pub(super) fn new(binaries: &Path) -> Self {
        Self {
            binary: binaries.join(PACKAGE),
        }
    }

    /// Prepares to notice when a server that is about to be started is ready.
    pub(super) fn wait_for(&self, server: &dyn Server) -> Result<Waiter> {
        let argument = format!(
            "{}={},,{}",
            server.name(),
            server.url(),
            server.authority().display()
        );
        let mut child = Command::new(&self.binary)
            .args(["ready", &argument])
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the load generator")?;
        let output = child.stdout.take().context("the load generator has no output")?;
        let mut waiter = Waiter {
            child,
            lines: BufReader::new(output).lines(),
        };
        waiter.hear("waiting")?;
        Ok(waiter)
    }

    pub(super) fn fill(&self, servers: &[String], pods: usize) -> Result<()> {
        run::check(
            Command::new(&self.binary)
                .args(["fill", "--pods", &pods.to_string()])
                .args(servers),
        )
    }

    /// Does rounds of work, and returns the samples of each figure by server.
    pub(super) fn load(&self, servers: &[String], rounds: u32) -> Result<Value> {
        self.figures(|command| {
            command
                .args(["load", "--rounds", &rounds.to_string()])
                .args(servers)
        })
    }

    /// Rounds of pods that are processes.
    pub(super) fn lives(&self, servers: &[String], rounds: u32) -> Result<Value> {
        self.figures(|command| {
            command
                .args(["lives", "--rounds", &rounds.to_string()])
                .args(servers)
        })
    }

    pub(super) fn nodes(&self, server: &str, count: usize) -> Result<()> {
        run::check(Command::new(&self.binary).args(["nodes", "--count", &count.to_string(), server]))
    }

    /// Many pods for many nodes.
    pub(super) fn crowd(&self, server: &str, nodes: usize, pods: usize) -> Result<Value> {
        let (nodes, pods) = (nodes.to_string(), pods.to_string());
        self.figures(|command| command.args(["crowd", "--nodes", &nodes, "--pods", &pods, server]))
    }

    /// Workflows, and as many pods without any.
    pub(super) fn pipelines(&self, server: &str, steps: u32, workflows: u32, round: u32) -> Result<Value> {
        let numbers = [steps, workflows, round].map(|number| number.to_string());
        self.figures(|command| {
            command
                .args(["pipelines", "--steps", &numbers[0], "--workflows", &numbers[1]])
                .args(["--round", &numbers[2], server])
        })
    }

    /// A first training job, by which an operator shows that it works.
    pub(super) fn training_ready(&self, server: &str, kind: &str) -> Result<()> {
        let status = Command::new(&self.binary)
            .args(["training-ready", "--kind", kind, server])
            .status()
            .context("cannot start the load generator")?;
        if !status.success() {
            bail!("no pods were made for a first job: {status}");
        }
        Ok(())
    }

    /// Training jobs of so many pods each, in a namespace without any.
    pub(super) fn training(
        &self,
        server: &str,
        kind: &str,
        jobs: u32,
        pods: u32,
        namespace: &str,
    ) -> Result<Value> {
        let (jobs, pods) = (jobs.to_string(), pods.to_string());
        self.figures(|command| {
            command
                .args(["training", "--kind", kind, "--jobs", &jobs, "--pods", &pods])
                .args(["--namespace", namespace, server])
        })
    }

    /// The same jobs where nobody makes their pods: the client does, from what is rendered for the first of them.
    pub(super) fn training_unaided(
        &self,
        server: &str,
        kind: &str,
        [jobs, pods]: [u32; 2],
        children: &Path,
    ) -> Result<Value> {
        let (jobs, pods) = (jobs.to_string(), pods.to_string());
        self.figures(|command| {
            command
                .args(["training", "--kind", kind, "--jobs", &jobs, "--pods", &pods])
                .arg("--children")
                .arg(children)
                .arg(server)
        })
    }

    /// A training job as it is submitted.
    pub(super) fn training_job(&self, kind: &str, pods: u32, namespace: &str) -> Result<Vec<u8>> {
        let output = Command::new(&self.binary)
            .args(["training-job", "--kind", kind, "--pods", &pods.to_string()])
            .args(["--namespace", namespace])
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start the load generator")?;
        if !output.status.success() {
            bail!("the load generator failed: {}", output.status);
        }
        Ok(output.stdout)
    }

    fn figures(&self, arguments: impl FnOnce(&mut Command) -> &mut Command) -> Result<Value> {
        let output = arguments(&mut Command::new(&self.binary))
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start the load generator")?;
        if !output.status.success() {
            bail!("the load generator failed: {}", output.status);
        }
        serde_json::from_slice(&output.stdout).context("the load generator did not answer in JSON")
    }
}

/// A client that asks a server until it is ready.
pub(super) struct Waiter {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Waiter {
    pub(super) fn until_ready(mut self, url: &str) -> Result<()> {
        self.hear("ready").with_context(|| format!("waiting for {url}"))
    }

    fn hear(&mut self, word: &str) -> Result<()> {
        match self.lines.next() {
            Some(Ok(line)) if line == word => Ok(()),
            _ => bail!("the load generator did not say `{word}`"),
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
