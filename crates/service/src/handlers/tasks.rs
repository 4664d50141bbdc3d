//! `/v1/tasks`. What is asked of a task is written into it; its controller carries it out.

mod endpoints;
mod idempotency;
pub(super) mod logs;
pub(super) mod submit;
pub(super) mod watching;

pub(crate) use idempotency::is_forgotten;

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use resources::tasks::TASK;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{after, page};
use crate::{
    answer::{Answer, Change},
    app::{App, Asked},
    audit::Target,
    etag::{self, Need},
    objects::{About as _, Folder, Refusal},
    problem::{Code, Outcome, Problem},
    rows::{self, text, version},
};

/// So long whoever deletes a task waits for it to be gone.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a change is tried again that others came before.
const TRIES: usize = 5;

fn folder(namespace: &str) -> Folder {
    Folder::of(&TASK, namespace)
}

fn name(asked: &Asked) -> &str {
    asked.text("task").unwrap_or_default()
}

async fn wanted(app: &App, asked: &Asked) -> Outcome<Value> {
    let name = name(asked);
    app.objects
        .get(&folder(&asked.namespace), name)
        .await
        .about("task", name)
}

fn location(namespace: &str, name: &str) -> String {
    format!("/v1/tasks/{name}?namespace={namespace}")
}

fn change(asked: &Asked, name: &str) -> Change {
    Change {
        kind: "Task",
        namespace: asked.namespace.clone(),
        name: name.to_owned(),
        ..Change::default()
    }
}

fn phase(task: &Value) -> &str {
    match text(&task["status"], "phase") {
        "" => "Pending",
        phase => phase,
    }
}

pub(crate) fn has_ended(task: &Value) -> bool {
    matches!(phase(task), "Succeeded" | "Failed" | "Cancelled")
}

/// The attempt that is wanted, and whether its state is the one that is shown.
fn wanted_attempt(task: &Value) -> i64 {
    task["spec"]["attempt"].as_i64().unwrap_or(1)
}

fn is_told(task: &Value) -> bool {
    task["status"]["attempt"].as_i64().unwrap_or_default() >= wanted_attempt(task)
}

pub(super) fn list(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let (phase, definition, creator) = (asked.text("phase"), asked.text("task_def"), asked.text("creator"));
    let (found, beside) = app.tasks.page(
        asked.one_namespace(),
        after(asked)?.as_ref(),
        asked.limit(),
        |row| {
            phase.is_none_or(|phase| &*row.form.phase == phase)
                && definition.is_none_or(|definition| &*row.form.definition == definition)
                && creator.is_none_or(|creator| &*row.form.creator == creator)
        },
    );
    Ok(page(asked, found.iter().map(|row| row.json()).collect(), &beside))
}

pub(super) async fn get(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let task = wanted(app, asked).await?;
    let version = version(&task);
    if etag::is_known(&asked.headers, version) {
        return Ok(Answer::nothing(StatusCode::NOT_MODIFIED).version(version));
    }
    Ok(Answer::json(rows::task(&task)).version(version))
}

/// Changes a task as it is now, however often others change it meanwhile.
async fn alter(
    app: &App,
    asked: &Asked,
    decide: impl Fn(&Value) -> Outcome<Option<Value>>,
) -> Outcome<Answer> {
    let name = name(asked);
    let folder = folder(&asked.namespace);
    let accepted = |task: &Value| {
        Answer::json(rows::task(task))
            .status(StatusCode::ACCEPTED)
            .location(location(&asked.namespace, name))
    };
    let mut tries = 0;
    loop {
        let task = wanted(app, asked).await?;
        let Some(mut patch) = decide(&task)? else {
            return Ok(accepted(&task));
        };
        patch["metadata"] = json!({"resourceVersion": version(&task)});
        let change = change(asked, name);
        let target = Target::changed(&folder, &task);
        let mut begun = app.audit.begin(asked, &change, &target).await?;
        begun.mark(&mut patch);
        match begun.attempt(app.objects.merge(&folder, name, &patch)).await {
            Err(refusal) if refusal.is(409) && tries < TRIES => tries += 1,
            answer => {
                let task = answer.about("task", name)?;
                app.tasks.wrote(&task);
                return Ok(accepted(&task).changed(begun, change));
            }
        }
    }
}

pub(super) async fn cancel(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    alter(app, asked, |task| {
        if task["spec"]["cancelled"] == true {
            return Ok(None);
        }
        if has_ended(task) && is_told(task) {
            return Err(Problem::new(
                Code::Conflict,
                format!("the task has ended: it is {}", phase(task)),
            ));
        }
        Ok(Some(json!({"spec": {"cancelled": true}})))
    })
    .await
}

pub(super) async fn retry(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    alter(app, asked, |task| {
        if !has_ended(task) || !is_told(task) {
            return Err(Problem::new(
                Code::Conflict,
                format!("the task has not ended: it is {}; cancel it first", phase(task)),
            ));
        }
        Ok(Some(
            json!({"spec": {"cancelled": false, "attempt": wanted_attempt(task) + 1}}),
        ))
    })
    .await
}

/// Deletes a task and waits a moment for it to be gone.
pub(super) async fn delete(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let name = name(asked);
    let folder = folder(&asked.namespace);
    let mut task = wanted(app, asked).await?;
    etag::check(&asked.headers, version(&task), Need::Optional)?;
    idempotency::remember(app, &task).await.about("task", name)?;
    let change = change(asked, name);
    let target = Target::gone(&folder, &task);
    let mut begun = app.audit.begin(asked, &change, &target).await?;
    if let Some(claims) = asked.text("claims") {
        let mut patch = json!({"spec": {"claims": claims}});
        begun.mark(&mut patch);
        task = begun
            .attempt(app.objects.merge(&folder, name, &patch))
            .await
            .about("task", name)?;
    }
    let uid = text(&task["metadata"], "uid");
    let options = json!({"preconditions": {"uid": uid}});
    let mut changes = app.tasks.follow(&asked.namespace, name);
    begun
        .attempt(app.objects.delete(&folder, name, &options))
        .await
        .about("task", name)?;
    let is_gone = async || -> Result<bool, Refusal> {
        let left = app.objects.find(&folder, name).await?;
        Ok(left.is_none_or(|left| text(&left["metadata"], "uid") != uid))
    };
    let gone = timeout(PATIENCE, async {
        while !is_gone().await.about("task", name)? {
            changes.changed().await;
        }
        Ok(())
    });
    let answer = match gone.await {
        Ok(gone) => {
            gone?;
            app.tasks.removed(&task);
            Answer::nothing(StatusCode::NO_CONTENT)
        }
        Err(_) => Answer::json(rows::task(&task))
            .status(StatusCode::ACCEPTED)
            .location(location(&asked.namespace, name)),
    };
    Ok(answer.changed(begun, change))
}
