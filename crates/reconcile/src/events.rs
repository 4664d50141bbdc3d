//! Events as users read them in `kubectl describe`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client,
    runtime::events::{self, EventType, Reporter},
};

/// Tells of what one controller did. Telling never holds up doing: a lost event is only logged.
#[derive(Clone)]
pub struct Recorder {
    recorder: Arc<events::Recorder>,
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
        Self {
            recorder: Arc::new(events::Recorder::new(client, reporter)),
        }
    }

    pub fn normal(&self, about: ObjectReference, reason: &str, note: String) {
        self.publish(about, EventType::Normal, reason, note);
    }

    pub fn warning(&self, about: ObjectReference, reason: &str, note: String) {
        self.publish(about, EventType::Warning, reason, note);
    }

    fn publish(&self, about: ObjectReference, type_: EventType, reason: &str, note: String) {
        let recorder = self.recorder.clone();
        let event = events::Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note),
            action: reason.to_owned(),
            secondary: None,
        };
        tokio::spawn(async move {
            if let Err(error) = recorder.publish(&event, &about).await {
                tracing::warn!(%error, reason = event.reason, "an event was lost");
            }
        });
    }
}
