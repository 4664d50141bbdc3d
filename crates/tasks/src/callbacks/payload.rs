//! What receivers read: the envelope of Standard Webhooks, and beside it the four fields that the first users'
//! receivers know. Pure.

use resources::tasks::{CALLBACK_DELIVERY, CallbackDeliverySpec, TaskEvent, names::labels};
use serde_json::{Value, json};

use crate::plan::{Endpoint, Task};

/// Longer messages are in the task itself.
const LONGEST_MESSAGE: usize = 2000;

/// The delivery of an event to an endpoint.
pub(crate) fn delivery(task: &Task, event: &TaskEvent, endpoint: &Endpoint) -> Value {
    let spec = CallbackDeliverySpec {
        task: task.name.clone(),
        task_uid: task.uid.clone(),
        sequence: event.sequence,
        endpoint: i32::try_from(endpoint.index).unwrap_or(i32::MAX),
        url: endpoint.url.clone(),
        event: event.kind.clone(),
        payload: payload(task, event).to_string(),
        secret: task.spec.callback_secret.clone(),
        replay: None,
    };
    json!({
        "apiVersion": CALLBACK_DELIVERY.api_version(),
        "kind": CALLBACK_DELIVERY.kind,
        "metadata": {
            "name": name(task, event, endpoint),
            "namespace": task.namespace,
            "labels": {labels::TASK: task.name},
        },
        "spec": spec,
    })
}

/// One name for one event and endpoint of one task, whoever makes it and how often.
pub(crate) fn name(task: &Task, event: &TaskEvent, endpoint: &Endpoint) -> String {
    let uid: String = task
        .uid
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(8)
        .collect();
    format!(
        "{}-{}-{}-{}",
        task.name,
        uid.to_lowercase(),
        event.sequence,
        endpoint.index
    )
}

fn payload(task: &Task, event: &TaskEvent) -> Value {
    let status = event.kind.strip_prefix("task.").unwrap_or(&event.kind);
    let of_values = |field: &str| {
        task.spec
            .values
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let mut message = event.message.clone();
    if let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE) {
        message.truncate(end);
    }
    json!({
        "type": event.kind,
        "timestamp": event.time,
        "status": status,
        "task_id": task.name,
        "task_def": task.spec.definition(),
        "creator": task.spec.creator(),
        "data": {
            "namespace": task.namespace,
            "task": task.name,
            "uid": task.uid,
            "name": of_values("name"),
            "sequence": event.sequence,
            "attempt": event.attempt,
            "reason": event.reason,
            "message": message,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_find_the_fields_they_know_and_the_envelope() {
        let values = json!({"taskDef": "mnist_softmax_cpu", "creator": "ducta", "name": "demo"});
        let mut task = Task {
            name: "mnist-x1".to_owned(),
            uid: "0a1b2c3d-4e5f".to_owned(),
            namespace: "team".to_owned(),
            ..Task::default()
        };
        task.spec.values = values.as_object().unwrap().clone();
        let event = TaskEvent {
            sequence: 3,
            kind: "task.succeeded".to_owned(),
            attempt: 1,
            ..TaskEvent::default()
        };
        let endpoint = Endpoint {
            index: 1,
            url: "http://x/".to_owned(),
            headers: None,
        };
        let made = delivery(&task, &event, &endpoint);
        assert_eq!(made["metadata"]["name"], "mnist-x1-0a1b2c3d-3-1");
        let body: Value = serde_json::from_str(made["spec"]["payload"].as_str().unwrap()).unwrap();
        assert_eq!(body["status"], "succeeded");
        assert_eq!(body["task_id"], "mnist-x1");
        assert_eq!(body["task_def"], "mnist_softmax_cpu");
        assert_eq!(body["creator"], "ducta");
        assert_eq!(body["type"], "task.succeeded");
        assert_eq!(body["data"]["sequence"], 3);
    }
}
