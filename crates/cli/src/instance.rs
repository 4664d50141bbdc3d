//! What a running server tells about itself, in a file beside its data.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::{kubeconfig, lock};

/// A server that runs, as `status` shows it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Instance {
    pub(crate) pid: u32,
    pub(crate) address: String,
    pub(crate) kubeconfig: PathBuf,
    /// Where the task service is; none where there is none.
    #[serde(default)]
    pub(crate) service: Option<String>,
    /// When it became ready, RFC 3339.
    pub(crate) since: String,
    pub(crate) version: String,
    /// How pods are kept apart; none where there are none.
    #[serde(default)]
    pub(crate) tier: Option<String>,
    /// What stands in the way of a better one.
    #[serde(default)]
    pub(crate) tier_reasons: Vec<String>,
    /// What was not there yet when it said that it is ready.
    #[serde(default)]
    pub(crate) late: Vec<String>,
}

/// What is found of a server in a directory.
#[derive(Debug)]
pub(crate) enum Found {
    Nothing,
    Running(Instance),
    /// A process has the directory but does not tell where it is reached: it is just starting, or its
    /// file was removed.
    Silent(u32),
}

const FILE: &str = "instance.json";

impl Instance {
    pub(crate) fn new(dir: &Path, address: &str, tier: Option<&cluster::Decision>) -> Self {
        Self {
            pid: std::process::id(),
            address: address.to_owned(),
            kubeconfig: kubeconfig::path(dir),
            service: None,
            since: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tier: tier.map(|decision| decision.tier.name().to_owned()),
            tier_reasons: tier.map(|decision| decision.reasons.clone()).unwrap_or_default(),
            late: Vec::new(),
        }
    }

    /// The time since the cluster became ready.
    pub(crate) fn age(&self) -> jiff::SignedDuration {
        let since = self.since.parse::<jiff::Timestamp>();
        since.map_or(jiff::SignedDuration::MAX, |since| {
            jiff::Timestamp::now().duration_since(since)
        })
    }

    /// The directory of its data.
    pub(crate) fn dir(&self) -> &Path {
        self.kubeconfig.parent().unwrap_or(&self.kubeconfig)
    }

    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        let (path, temporary) = (dir.join(FILE), dir.join("instance.json.new"));
        let text = serde_json::to_string_pretty(self).context("cannot describe the server")?;
        fs::write(&temporary, text)
            .and_then(|()| fs::rename(&temporary, &path))
            .with_context(|| format!("cannot write `{}`", path.display()))
    }

    /// The server that runs in this directory now. The lock decides, not the file: a killed server
    /// leaves its file behind.
    pub(crate) fn find(dir: &Path) -> Result<Found> {
        let Some(pid) = lock::holder(dir)? else {
            return Ok(Found::Nothing);
        };
        let text = fs::read_to_string(dir.join(FILE)).unwrap_or_default();
        let instance: Option<Self> = serde_json::from_str(&text).ok();
        Ok(match instance.filter(|instance| instance.pid == pid) {
            Some(instance) => Found::Running(instance),
            None => Found::Silent(pid),
        })
    }

    pub(crate) fn remove(dir: &Path) {
        // Left over it does no harm: it counts only together with the lock.
        let _ = fs::remove_file(dir.join(FILE));
    }
}

/// Resident memory of a process in bytes.
pub(crate) fn memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}
