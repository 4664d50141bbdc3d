//! `/v1/templates`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http::StatusCode;
use reconcile::Cached as _;
use resources::tasks::{TASK_TEMPLATE, admission};
use serde_json::{Map, Value, json};
use templates::BuiltIn;

use super::{after, hash, page};
use crate::{
    answer::{Answer, Change},
    app::{self, App, Asked},
    audit::{Begun, Target},
    etag::{self, Need},
    objects::{About as _, Earnest, Folder, Refusal},
    problem::{Code, Outcome, Problem},
    rendering,
    roles::{EVERYWHERE, Resource, Verb, right},
    rows::{put, text, version},
};

/// How often a change is tried again that the template's status came before.
const TRIES: usize = 5;
/// So long a deletion waits for the status of the template to say that it is not used, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// Fields as the service and as the object call them.
const FIELDS: [(&str, &str); 6] = [
    ("description", "description"),
    ("template", "template"),
    ("required_values", "requiredValues"),
    ("allowed_kinds", "allowedKinds"),
    ("trusted", "trusted"),
    ("claims", "claims"),
];

fn folder() -> Folder {
    Folder::of(&TASK_TEMPLATE, "")
}

fn shown(object: &Value) -> Value {
    let mut shown =
        json!({"name": object["metadata"]["name"], "created_at": object["metadata"]["creationTimestamp"]});
    for (ours, theirs) in FIELDS {
        put(&mut shown, ours, object["spec"][theirs].clone());
    }
    put(&mut shown, "etag", published(object));
    shown
}

/// The version of what was published. Who uses a template is told by its status, and changes nothing of it.
fn published(object: &Value) -> String {
    let meta = &object["metadata"];
    let uid: String = text(meta, "uid").chars().take(8).collect();
    format!("{uid}-{}", meta["generation"].as_i64().unwrap_or_default())
}

fn spec(body: &Value) -> Value {
    let members = FIELDS
        .into_iter()
        .filter_map(|(ours, theirs)| Some((theirs.to_owned(), body.get(ours)?.clone())));
    Value::Object(members.collect::<Map<_, _>>())
}

fn name(asked: &Asked) -> &str {
    asked.text("template").unwrap_or_default()
}

fn change(name: &str, before: Option<&Value>, after: Option<&Value>) -> Change {
    Change {
        kind: "TaskTemplate",
        name: name.to_owned(),
        before: before.map(|object| hash(&object["spec"])),
        after: after.map(|object| hash(&object["spec"])),
        ..Change::default()
    }
}

pub(super) async fn list(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    app.check_templates(app::PATIENCE).await?;
    let (found, beside) = app
        .templates
        .page(None, after(asked)?.as_ref(), asked.limit(), |_| true);
    Ok(page(asked, found.iter().map(|row| row.json()).collect(), &beside))
}

pub(super) async fn get(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let object = find(app, name(asked)).await?;
    let version = published(&object);
    if etag::is_known(&asked.headers, &version) {
        return Ok(Answer::nothing(StatusCode::NOT_MODIFIED).version(&version));
    }
    Ok(Answer::json(shown(&object)).version(&version))
}

/// A template by its name, with what may have been meant where there is none.
pub(super) async fn find(app: &App, name: &str) -> Outcome<Value> {
    if let Some(object) = look_for(app, name).await? {
        return Ok(object);
    }
    app.check_templates(app::PATIENCE).await?;
    // It may have come while it was waited for.
    if let Some(object) = look_for(app, name).await? {
        return Ok(object);
    }
    let mut problem = Problem::not_found("template", name);
    let known = app.templates.all(None, |_| true);
    if let Some(nearest) = crate::checking::nearest(name, known.iter().map(|row| row.name())) {
        problem.detail.push_str(&format!("; did you mean `{nearest}`?"));
    }
    Err(problem)
}

async fn look_for(app: &App, name: &str) -> Outcome<Option<Value>> {
    app.objects.find(&folder(), name).await.about("template", name)
}

pub(super) async fn create(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let name = text(&asked.body, "name");
    let warnings = inspect(app, asked).await?;
    let mut object = json!({
        "apiVersion": TASK_TEMPLATE.api_version(),
        "kind": TASK_TEMPLATE.kind,
        "metadata": {"name": name},
        "spec": spec(&asked.body),
    });
    let earnest = asked.earnest();
    let target = Target::made(&folder(), name);
    let mut begun = app.audit.begin(asked, &change(name, None, None), &target).await?;
    begun.mark(&mut object);
    let made = begun
        .attempt(app.objects.create(&folder(), &object, earnest))
        .await
        .about("template", name)?;
    let mut shown = shown(&made);
    put(&mut shown, "warnings", warnings);
    if earnest == Earnest::DryRun {
        return Ok(Answer::json(shown));
    }
    app.templates.wrote(&made);
    Ok(Answer::json(shown)
        .status(StatusCode::CREATED)
        .version(&published(&made))
        .location(format!("/v1/templates/{name}"))
        .changed(begun, change(name, None, Some(&made))))
}

/// Whether a template can be published: it can be read, and who publishes it may say what it says.
async fn inspect(app: &App, asked: &Asked) -> Outcome<Vec<Value>> {
    let allowed = rendering::allowed(&asked.body, "allowed_kinds");
    // Whoever may make a RoleBinding may do anything.
    if allowed.trusted || !allowed.unusual().is_empty() {
        app.doorkeeper
            .check(
                &asked.identity,
                right(Verb::Trust, Resource::Templates),
                EVERYWHERE,
            )
            .await?;
    }
    app.renderer.inspect(&asked.body).await
}

pub(super) async fn replace(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let name = name(asked);
    if text(&asked.body, "name") != name {
        return Err(Problem::field(
            "/name",
            format!("is not `{name}`, as in the path; templates keep their names"),
        ));
    }
    let known = find(app, name).await?;
    etag::check(&asked.headers, &published(&known), Need::Required)?;
    let warnings = inspect(app, asked).await?;
    let earnest = asked.earnest();
    let Overwritten {
        begun,
        before,
        after: made,
    } = overwrite(app, asked, name, earnest).await?;
    let mut shown = shown(&made);
    put(&mut shown, "warnings", warnings);
    let answer = Answer::json(shown).version(&published(&made));
    if earnest == Earnest::DryRun {
        return Ok(answer);
    }
    app.templates.wrote(&made);
    Ok(answer.changed(begun, change(name, Some(&before), Some(&made))))
}

/// What was there, and what is.
struct Overwritten {
    begun: Begun,
    before: Value,
    after: Value,
}

/// Puts what was sent in the place of what the client has seen.
async fn overwrite(app: &App, asked: &Asked, name: &str, earnest: Earnest) -> Outcome<Overwritten> {
    let mut tries = 0;
    loop {
        let before = find(app, name).await?;
        etag::check(&asked.headers, &published(&before), Need::Required)?;
        let mut object = before.clone();
        object["spec"] = spec(&asked.body);
        let target = Target::changed(&folder(), &before);
        let change = change(name, Some(&before), None);
        let mut begun = app.audit.begin(asked, &change, &target).await?;
        begun.mark(&mut object);
        let answer = begun
            .attempt(app.objects.replace(&folder(), name, &object, earnest))
            .await;
        match answer {
            // Its status has changed meanwhile, or what was published, which the next look tells.
            Err(refusal) if refusal.is(409) && tries < TRIES => tries += 1,
            made => {
                return Ok(Overwritten {
                    after: made.about("template", name)?,
                    begun,
                    before,
                });
            }
        }
    }
}

pub(super) async fn delete(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let name = name(asked);
    let object = find(app, name).await?;
    etag::check(&asked.headers, &published(&object), Need::Optional)?;
    let users = app.definitions.all(None, |row| &*row.form.template == name);
    if !users.is_empty() {
        let shown: Vec<String> = users
            .iter()
            .take(5)
            .map(|row| format!("`{}` in `{}`", row.form.called, row.namespace()))
            .collect();
        let more = users.len().saturating_sub(shown.len());
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        return Err(Problem::new(
            Code::InUse,
            format!(
                "the template `{name}` is used by the definitions {}{more}; delete them first",
                shown.join(", ")
            ),
        ));
    }
    let includers = app.templates.all(None, |row| {
        row.name() != name && ::templates::mentions(&row.form.template(), name)
    });
    if let Some(includer) = includers.first() {
        return Err(Problem::new(
            Code::InUse,
            format!(
                "the template `{name}` is included by the template `{}`; change that first",
                includer.name()
            ),
        ));
    }
    let change = change(name, Some(&object), None);
    let target = Target::gone(&folder(), &object);
    let mut begun = app.audit.begin(asked, &change, &target).await?;
    remove(app, &mut begun, &object).await?;
    app.templates.removed(&object);
    Ok(Answer::nothing(StatusCode::NO_CONTENT).changed(begun, change))
}

/// Deletes a template that nobody uses any more. The API server goes by what the template's status says of that
/// (`resources::tasks::admission`), which comes a moment after the last definition has gone.
async fn remove(app: &App, begun: &mut Begun, object: &Value) -> Outcome<()> {
    let name = text(&object["metadata"], "name");
    let spec = hash(&object["spec"]);
    let deadline = Instant::now() + PATIENCE;
    let mut known = version(object).to_owned();
    loop {
        let options = json!({"preconditions": {"resourceVersion": known}});
        let answer = begun.attempt(app.objects.delete(&folder(), name, &options)).await;
        let Err(refusal) = answer else {
            return Ok(());
        };
        let is_late = refusal.is(403) && refusal.to_string().contains(admission::IN_USE);
        if !(is_late || refusal.is(409)) || Instant::now() >= deadline {
            return Err(if is_late {
                behind(&refusal)
            } else {
                refusal.about("template", name)
            });
        }
        tokio::time::sleep(PAUSE).await;
        let now = find(app, name).await?;
        // Only what it says of itself may change meanwhile.
        if hash(&now["spec"]) != spec {
            return Err(refusal.about("template", name));
        }
        version(&now).clone_into(&mut known);
    }
}

/// Whoever keeps the status of templates is away or far behind: what it says of their users does not hold any more.
fn behind(refusal: &Refusal) -> Problem {
    Problem {
        retry_after: Some(10),
        ..Problem::new(
            Code::InUse,
            format!(
                "{refusal}. The service knows of no such user any more; `status.usedBy`, which the cluster goes by, is kept by the operator: see that it runs, and try again"
            ),
        )
    }
}

/// Says everything that is wrong or odd about a template.
pub(super) async fn check(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let report = app.renderer.report(&asked.body).await?;
    Ok(Answer::json(report))
}

/// A template as it was last seen, or as it is.
pub(super) async fn known(app: &App, name: &str) -> Outcome<Value> {
    match app.templates.get("", name) {
        Some(row) => Ok(row.form.object()),
        None => find(app, name).await,
    }
}

/// What a definition of a template that comes with the program begins with; of others nobody knows.
fn usual_values(template: &Value) -> Value {
    let metadata = &template["metadata"];
    let built_in = BuiltIn::find(text(metadata, "name"))
        .filter(|_| metadata["labels"]["trainyard.dev/built-in"] == "true");
    let values = built_in.and_then(|it| templates::yaml("system_values", it.system_values).ok());
    values.unwrap_or_else(|| json!({}))
}

pub(super) async fn render(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let object = find(app, name(asked)).await?;
    let body = &asked.body;
    let release = match text(body, "release") {
        "" => "preview",
        release => release,
    };
    let rendered = app
        .renderer
        .preview(rendering::Preview {
            template: &object,
            system_values: body
                .get("system_values")
                .cloned()
                .unwrap_or_else(|| usual_values(&object)),
            values: body["values"].clone(),
            definition: text(&body["values"], "taskDef"),
            application: text(&body["values"], "name"),
            creator: &asked.identity.name,
            release,
            namespace: &asked.namespace,
        })
        .await?;
    Ok(Answer::json(json!({"manifests": rendered})))
}
