//! One task for one key, however often a request is sent and whoever is killed meanwhile. The first to come
//! leaves a note with the name the task is to have; everybody makes that task or finds it made.

use jiff::Timestamp;
use resources::tasks::names::{KEY_NOTE_PREFIX, TASK_MADE as MADE, labels::IDEMPOTENCY_KEY as LABEL};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    app::App,
    objects::{About as _, Earnest, Folder, Refusal},
    problem::{Code, Outcome, Problem},
    rows::text,
};

/// Keys are remembered so long.
const REMEMBERED: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);

/// What a key stands for.
pub(super) struct Note {
    name: String,
    /// The task that is to be made, or was.
    pub(super) task: String,
    /// Whether it was made at some time.
    pub(super) is_made: bool,
}

/// The note of a key; keys of others are others.
fn note_name(namespace: &str, who: &str, key: &str) -> String {
    let digest = Sha256::digest(json!([namespace, who, key]).to_string());
    let mut hash = crate::hex(&digest);
    hash.truncate(40);
    format!("{KEY_NOTE_PREFIX}{hash}")
}

fn folder(namespace: &str) -> Folder {
    Folder::core(namespace, "configmaps")
}

/// The note of a key, if somebody has left one.
pub(super) async fn find(
    app: &App,
    namespace: &str,
    who: &str,
    key: &str,
    body: &[u8],
) -> Outcome<Option<Note>> {
    let name = note_name(namespace, who, key);
    let found = app
        .objects
        .find(&folder(namespace), &name)
        .await
        .about("Idempotency-Key", key)?;
    found.map(|found| read(&found, body)).transpose()
}

/// Leaves a note that says that `task` is to be made of this body, or finds one that somebody has just left.
pub(super) async fn leave(
    app: &App,
    namespace: &str,
    who: &str,
    key: &str,
    body: &[u8],
    task: &str,
) -> Outcome<Note> {
    let name = note_name(namespace, who, key);
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {LABEL: "true"}},
        "immutable": true,
        "data": {"task": task, "body": hash(body)},
    });
    let folder = folder(namespace);
    let note = match app.objects.create(&folder, &object, Earnest::Really).await {
        Err(refusal) if refusal.is(409) => app.objects.get(&folder, &name).await,
        other => other,
    };
    read(&note.about("Idempotency-Key", key)?, body)
}

fn hash(body: &[u8]) -> String {
    crate::hex(&Sha256::digest(body))
}

fn read(note: &Value, body: &[u8]) -> Outcome<Note> {
    if text(&note["data"], "body") != hash(body) {
        return Err(Problem::new(
            Code::KeyUsed,
            "this Idempotency-Key was sent with another body; a key stands for one task",
        ));
    }
    Ok(Note {
        name: text(&note["metadata"], "name").to_owned(),
        task: text(&note["data"], "task").to_owned(),
        is_made: note["metadata"]["annotations"][MADE] == "true",
    })
}

impl Note {
    /// Whether a task is the one of this key, and not one that happens to have its name.
    pub(super) fn is_of(&self, task: &Value) -> bool {
        task["metadata"]["labels"][LABEL] == self.name.as_str()
    }

    /// What the task is labelled with.
    pub(super) fn label(&self) -> (&'static str, &str) {
        (LABEL, &self.name)
    }

    /// Writes down that the task was made.
    pub(super) async fn made(&self, app: &App, namespace: &str) -> Result<(), Refusal> {
        mark(app, namespace, &self.name).await
    }
}

async fn mark(app: &App, namespace: &str, note: &str) -> Result<(), Refusal> {
    let change = json!({"metadata": {"annotations": {MADE: "true"}}});
    match app.objects.merge(&folder(namespace), note, &change).await {
        // It was old enough to be forgotten.
        Err(refusal) if refusal.is(404) => Ok(()),
        other => other.map(drop),
    }
}

/// Makes sure, before a task goes, that its key will not make it again.
pub(super) async fn remember(app: &App, task: &Value) -> Result<(), Refusal> {
    let meta = &task["metadata"];
    match meta["labels"][LABEL].as_str() {
        Some(note) => mark(app, text(meta, "namespace"), note).await,
        None => Ok(()),
    }
}

/// Whether a note is so old that its key may be used for something else.
pub(crate) fn is_forgotten(note: &Value, now: Timestamp) -> bool {
    let created: Option<Timestamp> = text(&note["metadata"], "creationTimestamp").parse().ok();
    created.is_some_and(|created| now.duration_since(created) > REMEMBERED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart_by_who_uses_them_where() {
        let name = note_name("team", "ada", "k");
        assert_eq!(name, note_name("team", "ada", "k"));
        assert_ne!(name, note_name("team", "bob", "k"));
        assert_ne!(name, note_name("other", "ada", "k"));
        // Parts do not run into each other.
        assert_ne!(note_name("team", "a", "dak"), note_name("team", "ad", "ak"));
        assert!(name.len() <= 63, "labels have no room for more");
    }

    #[test]
    fn notes_are_forgotten_after_a_day() {
        let note = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}});
        assert!(!is_forgotten(&note, "2026-01-01T23:00:00Z".parse().unwrap()));
        assert!(is_forgotten(&note, "2026-01-02T00:00:01Z".parse().unwrap()));
        assert!(!is_forgotten(&json!({}), "2026-01-02T00:00:01Z".parse().unwrap()));
    }
}
