//! What lists show of each kind of object.

use std::sync::Arc;

use jiff::Timestamp;
use reconcile::Cached as _;
use serde_json::{Map, Value, json};

use crate::index::{Form, Row, word};

/// A value that says nothing is left out of a row.
pub(crate) fn put(row: &mut Value, name: &str, value: impl Into<Value>) {
    let value = value.into();
    let is_empty = match &value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    if !is_empty {
        row[name] = value;
    }
}

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// Seconds since the epoch.
fn second(value: &Value) -> Option<i64> {
    let time: Timestamp = value.as_str()?.parse().ok()?;
    Some(time.as_second())
}

fn shown(second: i64) -> String {
    Timestamp::from_second(second).unwrap_or_default().to_string()
}

#[derive(Debug)]
pub(crate) struct TemplateForm {
    description: Box<str>,
    is_trusted: bool,
    kept: Kept,
}

impl TemplateForm {
    /// The object, as it was last seen.
    pub(crate) fn object(&self) -> Value {
        self.kept.object()
    }

    /// Its text.
    pub(crate) fn template(&self) -> String {
        text(&self.object()["spec"], "template").to_owned()
    }
}

/// An object that every task needs: its text, which is far smaller than what is made of it.
#[derive(Debug)]
struct Kept(Box<str>);

impl Kept {
    fn new(object: &Value) -> Self {
        let mut object = object.clone();
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.remove("managedFields");
        }
        Self(object.to_string().into_boxed_str())
    }

    fn object(&self) -> Value {
        // It was written a moment ago.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl Form for TemplateForm {
    fn read(object: &Value) -> Self {
        Self {
            description: text(&object["spec"], "description").into(),
            is_trusted: object["spec"]["trusted"] == true,
            kept: Kept::new(object),
        }
    }
}

impl Row<TemplateForm> {
    pub(crate) fn json(&self) -> Value {
        let mut row = json!({"name": self.name(), "created_at": self.created().to_string()});
        put(&mut row, "description", &*self.form.description);
        if self.form.is_trusted {
            row["trusted"] = json!(true);
        }
        row
    }
}

#[derive(Debug)]
pub(crate) struct DefinitionForm {
    /// What users call it.
    pub(crate) called: Box<str>,
    pub(crate) template: Arc<str>,
    creator: Arc<str>,
    application: Arc<str>,
    description: Box<str>,
    kept: Kept,
}

impl DefinitionForm {
    /// The object, as it was last seen.
    pub(crate) fn object(&self) -> Value {
        self.kept.object()
    }
}

impl Form for DefinitionForm {
    fn read(object: &Value) -> Self {
        let spec = &object["spec"];
        let called = match text(spec, "name") {
            "" => text(&object["metadata"], "name"),
            name => name,
        };
        Self {
            called: called.into(),
            template: word(text(spec, "task_template_name")),
            creator: word(text(spec, "creator")),
            application: word(text(spec, "application")),
            description: text(spec, "description").into(),
            kept: Kept::new(object),
        }
    }
}

impl Row<DefinitionForm> {
    pub(crate) fn json(&self) -> Value {
        let mut row = json!({
            "name": self.form.called,
            "namespace": self.namespace(),
            "task_template_name": &*self.form.template,
            "created_at": self.created().to_string(),
        });
        put(&mut row, "creator", &*self.form.creator);
        put(&mut row, "application", &*self.form.application);
        put(&mut row, "description", &*self.form.description);
        row
    }
}

/// There may be a hundred thousand of these.
#[derive(Debug)]
pub(crate) struct TaskForm {
    pub(crate) phase: Arc<str>,
    reason: Arc<str>,
    pub(crate) definition: Arc<str>,
    pub(crate) creator: Arc<str>,
    application: Arc<str>,
    attempt: u32,
    started: i64,
    finished: i64,
    /// Whether its definition may change and go without it.
    pub(crate) is_pinned: bool,
}

impl Form for TaskForm {
    fn read(object: &Value) -> Self {
        let (spec, status) = (&object["spec"], &object["status"]);
        let or = |first: &str, second: &str| {
            if first.is_empty() {
                word(second)
            } else {
                word(first)
            }
        };
        Self {
            phase: or(text(status, "phase"), "Pending"),
            reason: word(text(status, "reason")),
            definition: or(text(spec, "definition"), text(&spec["values"], "taskDef")),
            creator: or(text(spec, "creator"), text(&spec["values"], "creator")),
            application: word(text(&spec["values"], "name")),
            attempt: attempt(object),
            started: second(&status["startTime"]).unwrap_or_default(),
            finished: second(&status["completionTime"]).unwrap_or_default(),
            is_pinned: status["pinned"].is_object(),
        }
    }
}

/// The attempt a task is at.
fn attempt(task: &Value) -> u32 {
    let of = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
    of(&task["status"]["attempt"])
        .filter(|number| *number > 0)
        .or_else(|| of(&task["spec"]["attempt"]))
        .unwrap_or(1)
}

impl Row<TaskForm> {
    pub(crate) fn json(&self) -> Value {
        let form = &self.form;
        let mut row = json!({
            "name": self.name(),
            "namespace": self.namespace(),
            "phase": &*form.phase,
            "attempt": form.attempt,
            "created_at": self.created().to_string(),
        });
        put(&mut row, "reason", &*form.reason);
        put(&mut row, "task_def", &*form.definition);
        put(&mut row, "application", &*form.application);
        put(&mut row, "creator", &*form.creator);
        if form.started > 0 {
            row["started_at"] = json!(shown(form.started));
        }
        if form.finished > 0 {
            row["finished_at"] = json!(shown(form.finished));
        }
        row
    }
}

/// The state of a task: its row, and why.
pub(crate) fn task_state(task: &Value) -> Value {
    let mut state = Row::<TaskForm>::read(task).json();
    let status = &task["status"];
    put(&mut state, "message", status["message"].clone());
    put(&mut state, "waiting", snake(&status["waiting"]));
    state
}

/// A task as it is shown: everything but secrets.
pub(crate) fn task(task: &Value) -> Value {
    let mut shown = task_state(task);
    let (spec, status) = (&task["spec"], &task["status"]);
    put(&mut shown, "description", text(&spec["values"], "description"));
    if spec["cancelled"] == true {
        shown["cancelled"] = json!(true);
    }
    for name in ["attempts", "outputs", "children"] {
        put(&mut shown, name, snake(&status[name]));
    }
    put(&mut shown, "values", spec["values"].clone());
    put(&mut shown, "etag", version(task));
    shown
}

/// What has happened to a task, from after a sequence on.
pub(crate) fn task_events(task: &Value, after: i64) -> Vec<Value> {
    let events = task["status"]["events"].as_array().into_iter().flatten();
    events
        .filter(|event| event["sequence"].as_i64().unwrap_or_default() > after)
        .map(snake)
        .collect()
}

#[derive(Debug)]
pub(crate) struct DeliveryForm {
    pub(crate) task: Box<str>,
    pub(crate) phase: Arc<str>,
    event: Arc<str>,
    url: Arc<str>,
    sequence: i64,
    endpoint: i64,
    attempts: i64,
    next: i64,
}

impl Form for DeliveryForm {
    fn read(object: &Value) -> Self {
        let (spec, status) = (&object["spec"], &object["status"]);
        let number = |value: &Value| value.as_i64().unwrap_or_default();
        Self {
            task: text(spec, "task").into(),
            phase: word(match text(status, "phase") {
                "" => "Pending",
                phase => phase,
            }),
            event: word(text(spec, "event")),
            url: word(text(spec, "url")),
            sequence: number(&spec["sequence"]),
            endpoint: number(&spec["endpoint"]),
            attempts: number(&status["attemptCount"]),
            next: second(&status["nextAttempt"]).unwrap_or_default(),
        }
    }
}

impl Row<DeliveryForm> {
    pub(crate) fn json(&self) -> Value {
        let form = &self.form;
        let mut row = json!({
            "name": self.name(),
            "namespace": self.namespace(),
            "task": form.task,
            "sequence": form.sequence,
            "event": &*form.event,
            "endpoint": form.endpoint,
            "url": &*form.url,
            "phase": &*form.phase,
            "attempt_count": form.attempts,
            "created_at": self.created().to_string(),
        });
        if form.next > 0 {
            row["next_attempt_at"] = json!(shown(form.next));
        }
        row
    }
}

/// A delivery with its body and every attempt.
pub(crate) fn delivery(object: &Value) -> Value {
    let mut shown = Row::<DeliveryForm>::read(object).json();
    put(&mut shown, "payload", text(&object["spec"], "payload"));
    put(&mut shown, "attempts", snake(&object["status"]["attempts"]));
    shown
}

pub(crate) fn version(object: &Value) -> &str {
    text(&object["metadata"], "resourceVersion")
}

/// Names of members as the service writes them, which are those of the original one: `nodeGroup` is `node_group`.
pub(crate) fn snake(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(snake).collect(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, member)| (snake_name(name), snake(member)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn snake_name(name: &str) -> String {
    let mut written = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            written.push('_');
        }
        written.push(character.to_ascii_lowercase());
    }
    written
}

/// Of a token, and of whatever else is secret beside it, nothing but that it is there.
pub(crate) struct TokenForm;

impl Form for TokenForm {
    fn read(_: &Value) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Value {
        json!({
            "metadata": {"name": "m-abc123", "namespace": "team", "uid": "u", "resourceVersion": "9",
                         "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"definition": "m", "creator": "ada",
                     "values": {"taskDef": "m", "name": "demo", "creator": "ducta", "description": "d"}},
            "status": {"phase": "Running", "attempt": 2, "startTime": "2026-01-01T00:00:05Z",
                       "waiting": {"code": "ScalingUp", "nodeGroup": "gpu"},
                       "events": [{"sequence": 1, "type": "task.pending"}, {"sequence": 2, "type": "task.running"}]},
        })
    }

    #[test]
    fn a_row_is_what_a_list_shows() {
        assert_eq!(
            Row::<TaskForm>::read(&example()).json(),
            json!({
                "name": "m-abc123", "namespace": "team", "phase": "Running", "attempt": 2,
                "created_at": "2026-01-01T00:00:00Z", "task_def": "m", "application": "demo", "creator": "ada",
                "started_at": "2026-01-01T00:00:05Z",
            })
        );
    }

    #[test]
    fn a_task_that_nobody_has_looked_at_is_pending() {
        let row = Row::<TaskForm>::read(&json!({"metadata": {"name": "a"}, "spec": {"values": {}}})).json();
        assert_eq!((&row["phase"], &row["attempt"]), (&json!("Pending"), &json!(1)));
    }

    #[test]
    fn details_have_the_names_of_the_service() {
        let shown = task(&example());
        assert_eq!(shown["waiting"]["node_group"], "gpu");
        assert_eq!(shown["values"]["creator"], "ducta");
        assert_eq!(shown["etag"], "9");
        assert_eq!(
            task_events(&example(), 1),
            [json!({"sequence": 2, "type": "task.running"})]
        );
    }
}
