//! Events as users read them in `kubectl describe`.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client,
    runtime::events::{self, EventType, Reporter},
};
use tokio::sync::mpsc;

/// How many events may wait to be told; more in a row than that are of no use to anybody.
const WAITING: usize = 1024;

/// Tells of what one controller did, in order. Telling never holds up doing: a lost event is only logged.
#[derive(Clone)]
pub struct Recorder {
    queue: mpsc::Sender<(events::Event, ObjectReference)>,
}

impl Recorder {
    pub fn new(client: Client, controller: &'static str) -> Self {
        Self::made(client, controller, None)
    }

    /// One of many of its sort, named for where it runs.
    pub fn on_node(client: Client, controller: &'static str, node: &str) -> Self {
        Self::made(client, controller, Some(node.to_owned()))
    }

    fn made(client: Client, controller: &'static str, instance: Option<String>) -> Self {
        let reporter = Reporter {
            controller: controller.to_owned(),
            instance,
        };
        let (queue, waiting) = mpsc::channel(WAITING);
        // Ends with the last clone of its sender.
        tokio::spawn(publish(events::Recorder::new(client, reporter), waiting));
        Self { queue }
    }

    pub fn normal(&self, about: ObjectReference, reason: &str, note: String) {
        self.tell(about, EventType::Normal, reason, note);
    }

    pub fn warning(&self, about: ObjectReference, reason: &str, note: String) {
        self.tell(about, EventType::Warning, reason, note);
    }

    fn tell(&self, about: ObjectReference, type_: EventType, reason: &str, note: String) {
        let event = events::Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note),
            action: reason.to_owned(),
            secondary: None,
        };
        if self.queue.try_send((event, about)).is_err() {
            tracing::warn!(reason, "an event was lost: too many wait");
        }
    }
}

async fn publish(recorder: events::Recorder, mut waiting: mpsc::Receiver<(events::Event, ObjectReference)>) {
    while let Some((event, about)) = waiting.recv().await {
        if let Err(error) = recorder.publish(&event, &about).await {
            tracing::warn!(%error, reason = event.reason, "an event was lost");
        }
    }
}
