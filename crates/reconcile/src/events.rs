//! Events as users read them in `kubectl describe`.

mod history;

use futures_util::{StreamExt as _, stream};
use k8s_openapi::{
    api::core::v1::{Event, EventSource, ObjectReference},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time},
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::sync::mpsc;

use history::{History, Write};

/// So many events may wait to be written; in a storm the rest is lost, and that is logged.
const WAITING: usize = 16_384;

/// So many are written at a time.
const WRITERS: usize = 8;

/// The longest text an event may have.
const LONGEST: usize = 1024;

/// Tells of what one controller did. Telling never holds up doing: a lost event is only logged.
/// The same words about the same object are one event that is counted.
#[derive(Clone)]
pub struct Recorder {
    told: mpsc::Sender<Told>,
}

/// What is said, and of what.
struct Told {
    about: ObjectReference,
    kind: &'static str,
    reason: String,
    note: String,
    at: Timestamp,
}

/// Who says it.
#[derive(Clone)]
struct Reporter {
    controller: &'static str,
    node: Option<String>,
}

impl Recorder {
    pub fn new(client: Client, controller: &'static str) -> Self {
        let node = None;
        Self::made(client, Reporter { controller, node })
    }

    /// One of many of its sort, named for where it runs.
    pub fn on_node(client: Client, controller: &'static str, node: &str) -> Self {
        let node = Some(node.to_owned());
        Self::made(client, Reporter { controller, node })
    }

    fn made(client: Client, reporter: Reporter) -> Self {
        let (told, heard) = mpsc::channel(WAITING);
        tokio::spawn(write_down(client, reporter, heard));
        Self { told }
    }

    pub fn normal(&self, about: ObjectReference, reason: &str, note: String) {
        self.tell(about, "Normal", reason, note);
    }

    pub fn warning(&self, about: ObjectReference, reason: &str, note: String) {
        self.tell(about, "Warning", reason, note);
    }

    fn tell(&self, about: ObjectReference, kind: &'static str, reason: &str, mut note: String) {
        if let Some((end, _)) = note.char_indices().nth(LONGEST) {
            note.truncate(end);
        }
        let told = Told {
            about,
            kind,
            reason: reason.to_owned(),
            note,
            at: Timestamp::now(),
        };
        if self.told.try_send(told).is_err() {
            tracing::warn!(reason, "an event was lost: too many at a time");
        }
    }
}

/// Writes until the last recorder is gone.
async fn write_down(client: Client, reporter: Reporter, heard: mpsc::Receiver<Told>) {
    let mut history = History::default();
    let told = stream::unfold(
        heard,
        |mut heard| async move { Some((heard.recv().await?, heard)) },
    );
    told.map(|told| history.next(&told, &reporter))
        .for_each_concurrent(WRITERS, |write| {
            let client = client.clone();
            async move {
                if let Err(error) = carry_out(client, write).await {
                    tracing::warn!(%error, "an event was lost");
                }
            }
        })
        .await;
}

async fn carry_out(client: Client, write: Write) -> kube::Result<()> {
    match write {
        Write::New(event) => {
            let namespace = event.metadata.namespace.clone().unwrap_or_default();
            let api: Api<Event> = Api::namespaced(client, &namespace);
            match api.create(&PostParams::default(), &event).await {
                // Its namespace goes away, and the event would with it.
                Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404 | 409) => Ok(()),
                outcome => outcome.map(drop),
            }
        }
        Write::Again {
            namespace,
            name,
            count,
            at,
        } => {
            let api: Api<Event> = Api::namespaced(client, &namespace);
            let patch = Patch::Merge(json!({"count": count, "lastTimestamp": Time(at)}));
            match api.patch(&name, &PatchParams::default(), &patch).await {
                // It has expired.
                Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(()),
                outcome => outcome.map(drop),
            }
        }
    }
}

fn event(told: &Told, reporter: &Reporter, name: String) -> Event {
    // What belongs to the whole cluster is told of in one place.
    let namespace = told
        .about
        .namespace
        .clone()
        .unwrap_or_else(|| "default".to_owned());
    let time = Time(Timestamp::from_second(told.at.as_second()).unwrap_or(told.at));
    Event {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace),
            ..ObjectMeta::default()
        },
        involved_object: told.about.clone(),
        type_: Some(told.kind.to_owned()),
        reason: Some(told.reason.clone()),
        message: Some(told.note.clone()),
        source: Some(EventSource {
            component: Some(reporter.controller.to_owned()),
            host: reporter.node.clone(),
        }),
        reporting_component: Some(reporter.controller.to_owned()),
        reporting_instance: reporter.node.clone().or(Some(String::new())),
        first_timestamp: Some(time.clone()),
        last_timestamp: Some(time),
        event_time: None::<MicroTime>,
        count: Some(1),
        ..Event::default()
    }
}
