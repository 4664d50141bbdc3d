//! What a server says of the pods of a namespace while it happens, as little of it as is needed.

use std::collections::VecDeque;

use anyhow::{Context as _, Result};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde::Deserialize;

use crate::{client::Client, site::Site};

pub(crate) struct Watch {
    client: Client,
    path: String,
    body: Incoming,
    /// The version of the last event: where to go on when the server ends the watch.
    reached: String,
    /// The beginning of an event whose end has not come yet.
    begun: Vec<u8>,
    events: VecDeque<Event>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(rename = "object")]
    pub(crate) pod: Glimpse,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Glimpse {
    pub(crate) metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    #[serde(rename = "resourceVersion")]
    version: String,
}

#[derive(Debug, Default, Deserialize)]
struct Spec {
    #[serde(rename = "nodeName")]
    node: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Status {
    phase: Option<String>,
}

impl Event {
    pub(crate) fn is_gone(&self) -> bool {
        self.kind == "DELETED"
    }
}

impl Glimpse {
    pub(crate) fn is_bound(&self) -> bool {
        self.spec.node.is_some()
    }

    pub(crate) fn is(&self, phase: &str) -> bool {
        self.status.phase.as_deref() == Some(phase)
    }
}

impl Watch {
    /// Everything that happens to the pods of a namespace from now on.
    pub(crate) async fn open(site: &Site<'_>) -> Result<Self> {
        let mut client = site.client().await?;
        let (path, reached) = site.watch_path(&mut client).await?;
        Ok(Self {
            body: client.stream(&from(&path, &reached)).await?,
            client,
            path,
            reached,
            begun: Vec::new(),
            events: VecDeque::new(),
        })
    }

    pub(crate) async fn next(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            // A server may end a watch at any time, and some do when much happens.
            let Some(frame) = self.body.frame().await else {
                self.begun.clear();
                self.body = self.client.stream(&from(&self.path, &self.reached)).await?;
                continue;
            };
            if let Ok(data) = frame.context("the watch broke off")?.into_data() {
                self.take_in(&data)?;
            }
        }
    }

    /// Events are lines, and JSON has no other line ends.
    fn take_in(&mut self, data: &[u8]) -> Result<()> {
        let mut pieces = data.split(|byte| *byte == b'\n');
        let last = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            self.begun.extend_from_slice(piece);
            let event: Event = serde_json::from_slice(&self.begun).context("an event is not as expected")?;
            self.reached.clone_from(&event.pod.metadata.version);
            self.events.push_back(event);
            self.begun.clear();
        }
        self.begun.extend_from_slice(last);
        Ok(())
    }
}

fn from(path: &str, version: &str) -> String {
    format!("{path}&resourceVersion={version}")
}
