//! `/v1/definitions`, in the words of the original service.

use std::sync::Arc;

use http::StatusCode;
use reconcile::Cached as _;
use resources::tasks::TASK_DEFINITION;
use serde_json::{Value, json};

use super::{after, hash, page, templates};
use crate::{
    answer::{Answer, Change},
    app::{App, Asked},
    audit::Target,
    etag::{self, Need},
    objects::{About as _, Earnest, Folder, escaped},
    problem::{Code, Mistake, Outcome, Problem},
    rows::{put, text, version},
};

fn folder(namespace: &str) -> Folder {
    Folder::of(&TASK_DEFINITION, namespace)
}

/// What users call a definition.
pub(super) fn called(object: &Value) -> &str {
    match text(&object["spec"], "name") {
        "" => text(&object["metadata"], "name"),
        name => name,
    }
}

fn shown(object: &Value) -> Value {
    let mut shown = object["spec"].clone();
    shown["name"] = json!(called(object));
    shown["namespace"] = object["metadata"]["namespace"].clone();
    shown["created_at"] = object["metadata"]["creationTimestamp"].clone();
    put(&mut shown, "etag", version(object));
    shown
}

fn change(asked: &Asked, name: &str, before: Option<&Value>, after: Option<&Value>) -> Change {
    Change {
        kind: "TaskDefinition",
        namespace: asked.namespace.clone(),
        name: name.to_owned(),
        before: before.map(|object| hash(&object["spec"])),
        after: after.map(|object| hash(&object["spec"])),
    }
}

pub(super) fn list(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let template = asked.text("template");
    let (found, beside) = app.definitions.page(
        asked.one_namespace(),
        after(asked)?.as_ref(),
        asked.limit(),
        |row| template.is_none_or(|template| &*row.form.template == template),
    );
    Ok(page(asked, found.iter().map(|row| row.json()).collect(), &beside))
}

/// A definition by the name its users know, or by that of its object.
pub(super) async fn find(app: &App, namespace: &str, name: &str) -> Outcome<Option<Value>> {
    let folder = folder(namespace);
    let usual = app
        .objects
        .find(&folder, &::templates::definition_slug(name))
        .await
        .about("definition", name)?;
    if let Some(object) = usual
        && called(&object) == name
    {
        return Ok(Some(object));
    }
    // Somebody has made it with a name of its own.
    let named = app.definitions.all(Some(namespace), |row| {
        &*row.form.called == name || row.name() == name
    });
    // The first of several: whoever renders tasks goes by the same.
    let best = named
        .iter()
        .filter(|row| &*row.form.called == name)
        .min_by_key(|row| row.name())
        .or_else(|| named.first());
    match best {
        Some(row) => app
            .objects
            .find(&folder, row.name())
            .await
            .about("definition", name),
        None => Ok(None),
    }
}

/// A definition as it was last seen, or as it is: whoever has just registered it elsewhere is right, too.
pub(super) async fn known(app: &App, namespace: &str, name: &str) -> Outcome<Option<Value>> {
    let row = app
        .definitions
        .get(namespace, &::templates::definition_slug(name));
    match row.filter(|row| &*row.form.called == name) {
        Some(row) => Ok(Some(row.form.object())),
        None => find(app, namespace, name).await,
    }
}

/// Something like the name that was given, in the same namespace.
pub(super) fn similar(app: &App, namespace: &str, name: &str) -> Option<String> {
    let known = app.definitions.all(Some(namespace), |_| true);
    crate::checking::nearest(name, known.iter().map(|row| &*row.form.called)).map(str::to_owned)
}

async fn wanted(app: &App, asked: &Asked) -> Outcome<Value> {
    let name = asked.text("definition").unwrap_or_default();
    let found = find(app, &asked.namespace, name).await?;
    found.ok_or_else(|| {
        let mut problem = Problem::not_found("definition", &crate::checking::clipped(name));
        if let Some(similar) = similar(app, &asked.namespace, name) {
            problem.detail.push_str(&format!("; did you mean `{similar}`?"));
        }
        problem
    })
}

pub(super) async fn get(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let object = wanted(app, asked).await?;
    let version = version(&object);
    if etag::is_known(&asked.headers, version) {
        return Ok(Answer::nothing(StatusCode::NOT_MODIFIED).version(version));
    }
    Ok(Answer::json(shown(&object)).version(version))
}

/// The specification of a definition that was sent, if it is a right one, and what is odd about it.
async fn inspect(app: &App, asked: &Asked, name: &str) -> Outcome<(Value, Vec<Value>)> {
    let mut spec = asked.body.clone();
    spec["name"] = json!(name);
    let claimed = text(&asked.body, "creator");
    let own = asked.identity.name.as_str();
    let mut warnings = Vec::new();
    if !claimed.is_empty() && claimed != own {
        warnings.push(json!({
            "pointer": "/creator",
            "detail": format!("is `{own}`, who the token is of"),
        }));
    }
    spec["creator"] = json!(own);
    let template = text(&spec, "task_template_name");
    let template = match templates::find(app, template).await {
        Err(problem) if problem.code == Code::NotFound => {
            return Err(Problem::invalid(vec![Mistake::new(
                "/task_template_name",
                problem.detail,
            )]));
        }
        other => other?,
    };
    warnings.extend(app.renderer.inspect_definition(&spec, &template).await?);
    Ok((spec, warnings))
}

pub(super) async fn create(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let mut name = text(&asked.body, "name").to_owned();
    if asked.body["append_uuid"] == true || asked.body["append_uuid"] == 1 {
        name = format!("{name}-{}", crate::random_hex::<6>());
    }
    let (spec, warnings) = inspect(app, asked, &name).await?;
    // One that was made under another object's name would be found by this name, too.
    if let Some(known) = find(app, &asked.namespace, &name).await?
        && called(&known) == name
    {
        return Err(Problem::new(
            Code::AlreadyExists,
            format!(
                "there is already a definition `{name}`; send `append_uuid: 1` for a name of its own, or change it with PUT"
            ),
        ));
    }
    let folder = folder(&asked.namespace);
    let slug = ::templates::definition_slug(&name);
    let mut object = json!({
        "apiVersion": TASK_DEFINITION.api_version(),
        "kind": TASK_DEFINITION.kind,
        "metadata": {"name": slug, "namespace": asked.namespace},
        "spec": spec,
    });
    let earnest = asked.earnest();
    let target = Target::made(&folder, &slug);
    let change_of = |made| change(asked, &name, None, made);
    let mut begun = app.audit.begin(asked, &change_of(None), &target).await?;
    begun.mark(&mut object);
    let made = begun
        .attempt(app.objects.create(&folder, &object, earnest))
        .await
        .about("definition", &name)?;
    let mut shown = shown(&made);
    put(&mut shown, "warnings", warnings);
    if earnest == Earnest::DryRun {
        return Ok(Answer::json(shown));
    }
    app.definitions.wrote(&made);
    Ok(Answer::json(shown)
        .status(StatusCode::CREATED)
        .version(version(&made))
        .location(format!(
            "/v1/definitions/{}?namespace={}",
            escaped(&name),
            asked.namespace
        ))
        .changed(begun, change_of(Some(&made))))
}

pub(super) async fn replace(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let before = wanted(app, asked).await?;
    etag::check(&asked.headers, version(&before), Need::Required)?;
    let name = called(&before).to_owned();
    if text(&asked.body, "name") != name {
        return Err(Problem::field(
            "/name",
            format!("is not `{name}`, as in the path; definitions keep their names"),
        ));
    }
    let (mut spec, warnings) = inspect(app, asked, &name).await?;
    // Whoever changes it has not made it.
    put(&mut spec, "creator", before["spec"]["creator"].clone());
    let mut object = before.clone();
    object["spec"] = spec;
    let earnest = asked.earnest();
    let own = text(&before["metadata"], "name");
    let folder = folder(&asked.namespace);
    let target = Target::changed(&folder, &before);
    let change_of = |made| change(asked, &name, Some(&before), made);
    let mut begun = app.audit.begin(asked, &change_of(None), &target).await?;
    begun.mark(&mut object);
    let made = begun
        .attempt(app.objects.replace(&folder, own, &object, earnest))
        .await
        .about("definition", &name)?;
    let mut shown = shown(&made);
    put(&mut shown, "warnings", warnings);
    let answer = Answer::json(shown).version(version(&made));
    if earnest == Earnest::DryRun {
        return Ok(answer);
    }
    app.definitions.wrote(&made);
    Ok(answer.changed(begun, change_of(Some(&made))))
}

pub(super) async fn delete(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let object = wanted(app, asked).await?;
    etag::check(&asked.headers, version(&object), Need::Optional)?;
    let (own, name) = (text(&object["metadata"], "name"), called(&object));
    // Tasks that run have it by heart; those that were just submitted have not looked at it yet.
    let waiting = app.tasks.all(Some(&asked.namespace), |row| {
        !row.form.is_pinned
            && &*row.form.phase == "Pending"
            && (&*row.form.definition == name || &*row.form.definition == own)
    });
    if let Some(task) = waiting.first() {
        return Err(Problem {
            retry_after: Some(1),
            ..Problem::new(
                Code::InUse,
                format!(
                    "the task `{}` was submitted and has not begun; try again",
                    task.name()
                ),
            )
        });
    }
    let options = json!({"preconditions": {"resourceVersion": version(&object)}});
    let change = change(asked, name, Some(&object), None);
    let folder = folder(&asked.namespace);
    let target = Target::gone(&folder, &object);
    let mut begun = app.audit.begin(asked, &change, &target).await?;
    begun
        .attempt(app.objects.delete(&folder, own, &options))
        .await
        .about("definition", name)?;
    app.definitions.removed(&object);
    Ok(Answer::nothing(StatusCode::NO_CONTENT).changed(begun, change))
}

pub(super) async fn schema(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let object = wanted(app, asked).await?;
    let reply = app.renderer.schema(&object["spec"]).await?;
    Ok(Answer::json(reply.schema))
}

pub(super) async fn form(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let object = wanted(app, asked).await?;
    let reply = app.renderer.schema(&object["spec"]).await?;
    let mut form = json!(reply.form);
    form["definition"] = json!(called(&object));
    form["example"] = reply.example;
    Ok(Answer::json(form))
}
