//! `/v1/deliveries`: callbacks, what became of them, and once more.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::StatusCode;
use resources::tasks::{
    CALLBACK_DELIVERY,
    names::{NAMESPACE_SIGNING_SECRET, SIGNING_KEY},
};
use ring::rand::SecureRandom as _;
use serde_json::{Value, json};

use super::{after, page};
use crate::{
    answer::{Answer, Change},
    app::{App, Asked},
    audit::Target,
    objects::{About as _, Earnest, Folder},
    problem::{Code, Outcome, Problem},
    rows,
};

pub(super) fn list(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let (task, phase) = (asked.text("task"), asked.text("phase"));
    let (found, beside) = app.deliveries.page(
        asked.one_namespace(),
        after(asked)?.as_ref(),
        asked.limit(),
        |row| {
            task.is_none_or(|task| &*row.form.task == task)
                && phase.is_none_or(|phase| &*row.form.phase == phase)
        },
    );
    Ok(page(asked, found.iter().map(|row| row.json()).collect(), &beside))
}

pub(super) async fn get(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let name = asked.text("delivery").unwrap_or_default();
    let folder = Folder::of(&CALLBACK_DELIVERY, &asked.namespace);
    let object = app.objects.get(&folder, name).await.about("delivery", name)?;
    Ok(Answer::json(rows::delivery(&object)))
}

/// Raises the number that says how often it was asked for once more; whoever delivers sees that.
pub(super) async fn replay(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let name = asked.text("delivery").unwrap_or_default();
    let folder = Folder::of(&CALLBACK_DELIVERY, &asked.namespace);
    let object = app.objects.get(&folder, name).await.about("delivery", name)?;
    let replay = object["spec"]["replay"].as_i64().unwrap_or_default() + 1;
    let mut patch = json!({
        "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
        "spec": {"replay": replay},
    });
    let change = Change {
        kind: "CallbackDelivery",
        namespace: asked.namespace.clone(),
        name: name.to_owned(),
        ..Change::default()
    };
    let target = Target::changed(&folder, &object);
    let mut begun = app.audit.begin(asked, &change, &target).await?;
    begun.mark(&mut patch);
    let object = begun
        .attempt(app.objects.merge(&folder, name, &patch))
        .await
        .about("delivery", name)?;
    app.deliveries.wrote(&object);
    Ok(Answer::json(rows::delivery(&object))
        .status(StatusCode::ACCEPTED)
        .location(format!("/v1/deliveries/{name}?namespace={}", asked.namespace))
        .changed(begun, change))
}

/// The key that callbacks of a namespace are signed with; made where nobody has needed it yet.
pub(super) async fn signing_key(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let folder = Folder::core(&asked.namespace, "secrets");
    let find = async || {
        let found = app.objects.find(&folder, NAMESPACE_SIGNING_SECRET).await;
        found.about("signing key of", &asked.namespace)
    };
    let secret = if let Some(secret) = find().await? {
        Some(secret)
    } else {
        let mut bytes = [0; 32];
        ring::rand::SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| Problem::new(Code::Internal, "there is no randomness"))?;
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": NAMESPACE_SIGNING_SECRET, "namespace": asked.namespace},
            "stringData": {SIGNING_KEY: format!("whsec_{}", BASE64_STANDARD.encode(bytes))},
        });
        match app.objects.create(&folder, &secret, Earnest::Really).await {
            Err(refusal) if refusal.is(409) => find().await?,
            other => Some(other.about("signing key of", &asked.namespace)?),
        }
    };
    let key = secret.as_ref().and_then(key);
    let key =
        key.ok_or_else(|| Problem::new(Code::Internal, "the signing key of the namespace is damaged"))?;
    Ok(Answer::json(json!({"namespace": asked.namespace, "secret": key})))
}

fn key(secret: &Value) -> Option<String> {
    let bytes = BASE64_STANDARD
        .decode(secret["data"][SIGNING_KEY].as_str()?)
        .ok()?;
    String::from_utf8(bytes).ok()
}
