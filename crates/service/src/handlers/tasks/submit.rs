//! Filled values become a task: judged, rendered for a try, and stored in one write under a name nobody else has.

use std::sync::Arc;

use http::{HeaderName, StatusCode};
use resources::tasks::{TASK, names};
use serde_json::{Map, Value, json};

use super::{change, endpoints, folder, idempotency, location};
use crate::{
    answer::Answer,
    app::{App, Asked},
    audit::{Begun, Target},
    handlers::{definitions, templates},
    objects::{About as _, Earnest, Folder},
    problem::{Code, Mistake, Outcome, Problem},
    rendering::{self, Preview},
    rows::{self, put, text, version},
};

/// How often another name is tried where one is taken.
const TRIES: usize = 5;

/// What a task is made of, judged and found right.
struct Judged {
    definition: String,
    /// Without secrets.
    values: Value,
    headers: Vec<(String, String)>,
    warnings: Vec<Value>,
    manifests: Vec<Value>,
    release: String,
}

pub(crate) async fn create(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    if asked.earnest() == Earnest::DryRun {
        let judged = judge(app, asked).await?;
        let mut preview = json!({
            "name": judged.release,
            "namespace": asked.namespace,
            "task_def": judged.definition,
            "creator": asked.identity.name,
            "manifests": judged.manifests,
        });
        put(&mut preview, "warnings", judged.warnings);
        return Ok(Answer::json(preview));
    }
    if let Some(key) = asked.text("Idempotency-Key") {
        create_once(app, asked, key).await
    } else {
        let judged = judge(app, asked).await?;
        let stored = store(app, asked, &judged, None).await?;
        Ok(made(asked, stored, judged.warnings))
    }
}

/// Makes the task of a key, or finds it made.
async fn create_once(app: &Arc<App>, asked: &Asked, key: &str) -> Outcome<Answer> {
    let (namespace, who) = (asked.namespace.as_str(), asked.identity.name.as_str());
    // What was made once is not judged by what has changed since.
    if let Some(note) = idempotency::find(app, namespace, who, key, &asked.bytes).await?
        && let Some(answer) = replay(app, asked, &note).await?
    {
        return Ok(answer);
    }
    // Values that are wrong leave no note.
    let judged = judge(app, asked).await?;
    let note = idempotency::leave(app, namespace, who, key, &asked.bytes, &judged.release).await?;
    if let Some(answer) = replay(app, asked, &note).await? {
        return Ok(answer);
    }
    let judged = Judged {
        release: note.task.clone(),
        ..judged
    };
    let stored = store(app, asked, &judged, Some(&note)).await?;
    if stored.begun.is_none() {
        return Ok(replayed(asked, &stored.task));
    }
    if let Err(refusal) = note.made(app, namespace).await {
        // The task is there, which is what whoever comes next looks for first.
        tracing::warn!(
            ?refusal,
            task = judged.release,
            "a key could not be marked as used"
        );
    }
    Ok(made(asked, stored, judged.warnings))
}

/// The answer with a task that this request has made.
fn made(asked: &Asked, stored: Stored, warnings: Vec<Value>) -> Answer {
    let answer = answer(asked, &stored.task, warnings);
    match stored.begun {
        Some(begun) => answer.changed(begun, change(asked, text(&stored.task["metadata"], "name"))),
        None => answer,
    }
}

/// The answer with a task that a request before this one has made.
fn replayed(asked: &Asked, task: &Value) -> Answer {
    let replayed = HeaderName::from_static("idempotent-replayed");
    answer(asked, task, Vec::new()).header(replayed, "true")
}

/// The answer to a request whose task was made before; none where it is still to be made.
async fn replay(app: &App, asked: &Asked, note: &idempotency::Note) -> Outcome<Option<Answer>> {
    let found = app.objects.find(&folder(&asked.namespace), &note.task).await;
    if let Some(task) = found.about("task", &note.task)? {
        check_is_of(&task, note)?;
        return Ok(Some(replayed(asked, &task)));
    }
    if note.is_made {
        return Err(Problem::new(
            Code::Gone,
            format!(
                "the task `{}` of this Idempotency-Key was made, and is gone",
                note.task
            ),
        ));
    }
    Ok(None)
}

/// A name that somebody else has taken between the note and the task: what they have made is not what was asked for.
fn check_is_of(task: &Value, note: &idempotency::Note) -> Outcome<()> {
    if note.is_of(task) {
        return Ok(());
    }
    Err(Problem::new(
        Code::Conflict,
        format!(
            "the name `{}` that was chosen for this Idempotency-Key is taken by another task; send another key",
            note.task
        ),
    ))
}

/// A name for a task that none has. Who comes between is found out when the task is stored.
fn free_name(app: &App, namespace: &str, definition: &str) -> String {
    let name = || ::templates::release_name(definition, random());
    let mut chosen = name();
    for _ in 0..TRIES {
        if app.tasks.get(namespace, &chosen).is_none() {
            break;
        }
        chosen = name();
    }
    chosen
}

/// Everything that can be wrong with values, before anything is made.
async fn judge(app: &App, asked: &Asked) -> Outcome<Judged> {
    let called = text(&asked.body, "taskDef");
    let definition = definitions::known(app, &asked.namespace, called)
        .await?
        .ok_or_else(|| {
            let similar = definitions::similar(app, &asked.namespace, called);
            Problem::invalid(vec![Mistake {
                hint: similar.map(|similar| format!("did you mean `{similar}`?")),
                ..Mistake::new(
                    "/taskDef",
                    format!(
                        "there is no definition `{}` in the namespace `{}`",
                        crate::checking::clipped(called),
                        asked.namespace
                    ),
                )
            }])
        })?;
    let template = text(&definition["spec"], "task_template_name");
    let template = match templates::known(app, template).await {
        Err(problem) if problem.code == Code::NotFound => {
            return Err(Problem::invalid(vec![Mistake {
                hint: Some("publish the template again, or change the definition".to_owned()),
                ..Mistake::new(
                    "/taskDef",
                    format!("the template `{template}` of this definition is gone"),
                )
            }]));
        }
        other => other?,
    };
    let spec = &definition["spec"];
    let mut warnings = app.renderer.validate(spec, &asked.body).await?;
    let system_values = rendering::known_system_values(spec)?;
    let parted = endpoints::part(asked.body.clone()).map_err(Problem::invalid)?;
    let own = asked.identity.name.as_str();
    let claimed = text(&asked.body, "creator");
    if !claimed.is_empty() && claimed != own {
        warnings.push(json!({
            "pointer": "/creator",
            "detail": format!("the creator is `{own}`, who the token is of"),
        }));
    }
    let release = free_name(app, &asked.namespace, called);
    let manifests = app
        .renderer
        .preview(Preview {
            template: &template,
            system_values,
            values: parted.values.clone(),
            definition: called,
            application: application(spec, &parted.values),
            creator: own,
            release: &release,
            namespace: &asked.namespace,
        })
        .await?;
    Ok(Judged {
        definition: called.to_owned(),
        values: parted.values,
        headers: parted.headers,
        warnings,
        manifests,
        release,
    })
}

/// What a task belongs to: what its definition says, or else its values.
fn application<'a>(spec: &'a Value, values: &'a Value) -> &'a str {
    match text(spec, "application") {
        "" => text(values, "name"),
        application => application,
    }
}

/// What makes a name unique.
fn random() -> u64 {
    use ring::rand::SecureRandom as _;
    let mut bytes = [0; 8];
    // Without randomness the name is taken, which the API says.
    let _ = ring::rand::SystemRandom::new().fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// A task that is stored, by this request or by another with the same key.
struct Stored {
    task: Value,
    /// None where another has made it.
    begun: Option<Begun>,
}

/// Stores the task, after what it refers to.
async fn store(
    app: &App,
    asked: &Asked,
    judged: &Judged,
    note: Option<&idempotency::Note>,
) -> Outcome<Stored> {
    let mut name = judged.release.clone();
    for _ in 0..TRIES {
        if !judged.headers.is_empty() && !store_secret(app, asked, judged, &name, note.is_some()).await? {
            name = free_name(app, &asked.namespace, &judged.definition);
            continue;
        }
        let mut object = task(asked, judged, &name, note);
        let folder = folder(&asked.namespace);
        let target = Target::made(&folder, &name);
        let mut begun = app.audit.begin(asked, &change(asked, &name), &target).await?;
        begun.mark(&mut object);
        let answer = begun
            .attempt(app.objects.create(&folder, &object, Earnest::Really))
            .await;
        match answer {
            Ok(made) => {
                app.tasks.wrote(&made);
                if !judged.headers.is_empty() {
                    own_secret(app, &made).await;
                }
                return Ok(Stored {
                    task: made,
                    begun: Some(begun),
                });
            }
            Err(refusal) if refusal.is(409) && refusal.reason() == "AlreadyExists" => match note {
                // Somebody else with the same key was faster.
                Some(note) => {
                    let found = app.objects.get(&folder, &name).await;
                    let task = found.about("task", &name)?;
                    check_is_of(&task, note)?;
                    return Ok(Stored { task, begun: None });
                }
                None => name = free_name(app, &asked.namespace, &judged.definition),
            },
            Err(refusal) => return Err(refusal.about("task", &name)),
        }
    }
    Err(Problem::new(
        Code::Internal,
        "no name could be found for the task; try again",
    ))
}

fn task(asked: &Asked, judged: &Judged, name: &str, note: Option<&idempotency::Note>) -> Value {
    let mut spec = json!({
        "definition": judged.definition,
        "values": judged.values,
        "creator": asked.identity.name,
    });
    if let Some(seconds) = asked.number("ttlSeconds") {
        spec["ttlSecondsAfterFinished"] = json!(seconds);
    }
    if let Some(claims) = asked.text("claims") {
        spec["claims"] = json!(claims);
    }
    if !judged.headers.is_empty() {
        spec["callbackSecret"] = json!(names::callback_secret(name));
    }
    let mut labels = Map::new();
    if let Some(note) = note {
        let (label, value) = note.label();
        labels.insert(label.to_owned(), json!(value));
    }
    json!({
        "apiVersion": TASK.api_version(),
        "kind": TASK.kind,
        "metadata": {
            "name": name,
            "namespace": asked.namespace,
            "labels": labels,
            // It must not go before what it has made; its controller would write this first.
            "finalizers": [names::FINALIZER],
        },
        "spec": spec,
    })
}

/// The headers of callbacks, before the task that they are of; whether its name was free. With a key of the
/// sender's own it may be there from the last try.
async fn store_secret(
    app: &App,
    asked: &Asked,
    judged: &Judged,
    task: &str,
    may_exist: bool,
) -> Outcome<bool> {
    let name = names::callback_secret(task);
    let secret = endpoints::secret(&name, &asked.namespace, task, &judged.headers);
    let folder = Folder::core(&asked.namespace, "secrets");
    match app.objects.create(&folder, &secret, Earnest::Really).await {
        Err(refusal) if refusal.is(409) => Ok(may_exist),
        other => other.map(|_| true).about("secret of the task", task),
    }
}

/// The secret goes with the task. Where this fails the controller sees to it.
async fn own_secret(app: &App, task: &Value) {
    let meta = &task["metadata"];
    let name = names::callback_secret(text(meta, "name"));
    let owner = json!({
        "apiVersion": TASK.api_version(),
        "kind": TASK.kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": true,
    });
    let change = json!({"metadata": {"ownerReferences": [owner]}});
    let folder = Folder::core(text(meta, "namespace"), "secrets");
    if let Err(refusal) = app.objects.merge(&folder, &name, &change).await {
        tracing::warn!(?refusal, name, "the secret of a task could not be given to it");
    }
}

fn answer(asked: &Asked, task: &Value, warnings: Vec<Value>) -> Answer {
    let name = text(&task["metadata"], "name");
    let mut shown = rows::task(task);
    put(&mut shown, "warnings", warnings);
    Answer::json(shown)
        .status(StatusCode::CREATED)
        .version(version(task))
        .location(location(&asked.namespace, name))
}
