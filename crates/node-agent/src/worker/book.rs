//! What the agent must not forget of a pod, in a file of the pod's folder.

use std::{collections::BTreeMap, fs, io, net::Ipv4Addr};

use serde::{Deserialize, Serialize};

use crate::{admission::Rejection, folders::PodFolder, lifecycle::Records};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Book {
    pub(super) records: Records,
    pub(super) address: Option<Ipv4Addr>,
    /// How each container wants to be asked to end.
    pub(super) stop_signals: BTreeMap<String, i32>,
    /// Why the node does not take the pod at all.
    pub(super) rejection: Option<Rejection>,
    /// The pod was told what it has to do without.
    pub(super) knows_shortfalls: bool,
    /// Why the node does not keep the pod any longer.
    pub(super) eviction: Option<String>,
    /// All that the pod held was given back.
    pub(super) released: bool,
    #[serde(skip)]
    written: Vec<u8>,
}

impl Book {
    /// The first page of a pod that the node takes, or does not.
    pub(super) fn new(rejection: Option<Rejection>) -> Self {
        Self {
            rejection,
            ..Self::default()
        }
    }

    /// What was written last, if anything was.
    pub(super) fn load(folder: &PodFolder) -> Option<Self> {
        let written = fs::read(folder.book()).ok()?;
        let book = serde_json::from_slice(&written)
            .inspect_err(
                |error| tracing::error!(%error, file = %folder.book().display(), "a file is damaged"),
            )
            .ok()?;
        Some(Self { written, ..book })
    }

    /// Replaces the file if anything has changed since.
    pub(super) fn save(&mut self, folder: &PodFolder) {
        let Ok(text) = serde_json::to_vec(self) else {
            return;
        };
        if text == self.written {
            return;
        }
        let written = self.is_empty() || write(folder, &text).is_ok();
        if written {
            self.written = text;
        }
    }

    /// Of a pod that was never touched there is nothing to keep.
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn write(folder: &PodFolder, text: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    let temporary = folder.file("agent.json.new");
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder.path())
        .and_then(|()| fs::write(&temporary, text))
        .and_then(|()| fs::rename(&temporary, folder.book()))
        .inspect_err(|error| tracing::error!(%error, folder = %folder.path().display(), "cannot write"))
}
