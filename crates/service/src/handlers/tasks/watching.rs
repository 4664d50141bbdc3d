//! `/v1/tasks/{task}/status` and `/events`: as they are, or as a stream that goes on where it broke off.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{folder, has_ended, is_told, wanted};
use crate::{
    answer::Answer,
    app::{App, Asked},
    index::Follower,
    objects::Refusal,
    problem::{Code, Outcome, Problem},
    rows::{self, text, version},
    sse::{self, Event, Next},
    streams::Place,
};

pub(crate) async fn status(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let task = wanted(app, asked).await?;
    if !asked.wants_events {
        return Ok(Answer::json(rows::task_state(&task)).version(version(&task)));
    }
    let seen = asked.text("Last-Event-ID").unwrap_or_default().to_owned();
    watch(app, asked, &task, seen, |task, seen| {
        // A reader that has seen this version need not see it again.
        let is_new = version(task) != seen.as_str();
        version(task).clone_into(seen);
        let event = || Event::json("status", Some(version(task).to_owned()), &rows::task_state(task));
        is_new.then(event).into_iter().collect()
    })
}

pub(crate) async fn events(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let task = wanted(app, asked).await?;
    if !asked.wants_events {
        return Ok(Answer::json(json!({"items": rows::task_events(&task, 0)})));
    }
    let seen = match asked.text("Last-Event-ID") {
        None => 0,
        Some(id) => id
            .parse::<i64>()
            .map_err(|_| Problem::field("Last-Event-ID:", "is no id of an event of this stream"))?,
    };
    watch(app, asked, &task, seen, |task, seen| {
        let events = rows::task_events(task, *seen);
        events
            .into_iter()
            .map(|event| {
                *seen = event["sequence"].as_i64().unwrap_or(*seen);
                Event::json("event", Some(seen.to_string()), &event)
            })
            .collect()
    })
}

/// What a stream knows between two events.
struct Watched<S> {
    app: Arc<App>,
    namespace: String,
    name: String,
    uid: String,
    changes: Follower,
    seen: S,
    /// The task as it was when the stream began.
    first: Option<Value>,
    _place: Place,
}

/// Tells of a task at every change until it has ended or is gone.
fn watch<S: Send + 'static>(
    app: &Arc<App>,
    asked: &Asked,
    task: &Value,
    seen: S,
    tell: impl Fn(&Value, &mut S) -> Vec<Event> + Copy + Send + Sync + 'static,
) -> Outcome<Answer> {
    let name = text(&task["metadata"], "name");
    let watched = Watched {
        changes: app.tasks.follow(&asked.namespace, name),
        app: app.clone(),
        namespace: asked.namespace.clone(),
        name: name.to_owned(),
        uid: text(&task["metadata"], "uid").to_owned(),
        seen,
        first: Some(task.clone()),
        _place: place(app, asked)?,
    };
    let stream = sse::stream(watched, move |mut watched| async move {
        let task = if let Some(task) = watched.first.take() {
            Ok(Some(task))
        } else {
            watched.changes.changed().await;
            look(&watched.app, &watched.namespace, &watched.name, &watched.uid).await
        };
        let next = match task {
            // The cluster is away; the next change, or the reader that comes back, finds it.
            Err(_) => Next::Last(Vec::new()),
            Ok(None) => Next::Last(vec![Event::end(&json!({"reason": "deleted"}))]),
            Ok(Some(task)) => {
                let mut events = tell(&task, &mut watched.seen);
                if has_ended(&task) && is_told(&task) {
                    events.push(Event::end(
                        &json!({"reason": "ended", "phase": super::phase(&task)}),
                    ));
                    Next::Last(events)
                } else {
                    Next::Events(events)
                }
            }
        };
        (watched, next)
    });
    Ok(Answer::events(stream))
}

/// The task as it is now; none when it is gone.
async fn look(app: &App, namespace: &str, name: &str, uid: &str) -> Result<Option<Value>, Refusal> {
    let found = app.objects.find(&folder(namespace), name).await?;
    Ok(found.filter(|task| text(&task["metadata"], "uid") == uid))
}

/// A place among the streams there may be.
pub(super) fn place(app: &App, asked: &Asked) -> Outcome<Place> {
    let place = app.streams.take(&asked.identity.name);
    place.ok_or_else(|| Problem {
        retry_after: Some(10),
        ..Problem::new(
            Code::TooMany,
            "there are too many streams; ask without one, or later",
        )
    })
}
