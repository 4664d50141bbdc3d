//! `/v1/tokens`: nobody gives more than they have.

use std::sync::Arc;

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::page;
use crate::{
    answer::{Answer, Change},
    app::{App, Asked},
    audit::Target,
    cursor,
    objects::{About as _, Earnest, Folder},
    problem::{Code, Outcome, Problem},
    roles::{EVERYWHERE, Grant, Resource, Role, Verb, right},
    tokens::{self, Token},
};

fn folder(app: &App) -> Folder {
    Folder::core(&app.system_namespace, "secrets")
}

fn shown(token: &Token) -> Value {
    let mut shown = json!(token);
    shown["id"] = json!(token.id);
    shown
}

/// Whether somebody may do something to a token: what they may in every namespace it is for.
async fn check(app: &App, asked: &Asked, verb: Verb, grants: &[Grant]) -> Outcome<()> {
    for grant in grants {
        app.doorkeeper
            .check(&asked.identity, right(verb, Resource::Tokens), &grant.namespace)
            .await?;
    }
    Ok(())
}

pub(super) async fn create(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let now = Timestamp::now();
    let body = &asked.body;
    let grants: Vec<Grant> = serde_json::from_value(body["grants"].clone())
        .map_err(|_| Problem::field("/grants", "is no list of roles in namespaces"))?;
    check(app, asked, Verb::Create, &grants).await?;
    let life = body["expires_in_seconds"].as_i64().map(SignedDuration::from_secs);
    let (id, text) = tokens::mint().map_err(|_| Problem::new(Code::Internal, "there is no randomness"))?;
    let token = Token {
        id,
        name: body["name"].as_str().unwrap_or_default().to_owned(),
        description: body["description"].as_str().unwrap_or_default().to_owned(),
        grants,
        created_by: asked.identity.name.clone(),
        created_at: now,
        expires_at: life.and_then(|life| now.checked_add(life).ok()),
    };
    let mut secret = tokens::to_secret(&token, &text, &app.system_namespace);
    let earnest = asked.earnest();
    let target = Target::made(&folder(app), &tokens::secret_name(&token.id));
    let mut begun = app.audit.begin(asked, &change(&token), &target).await?;
    begun.mark(&mut secret);
    begun
        .attempt(app.objects.create(&folder(app), &secret, earnest))
        .await
        .about("token", &token.id)?;
    let mut shown = shown(&token);
    if earnest == Earnest::DryRun {
        return Ok(Answer::json(shown));
    }
    shown["token"] = json!(text);
    Ok(Answer::json(shown)
        .status(StatusCode::CREATED)
        .changed(begun, change(&token)))
}

pub(crate) fn change(token: &Token) -> Change {
    let namespace = match token.grants.as_slice() {
        [only] if only.namespace != EVERYWHERE => only.namespace.clone(),
        _ => String::new(),
    };
    Change {
        kind: "Token",
        namespace,
        name: format!("{} ({})", token.id, token.name),
        ..Change::default()
    }
}

pub(super) async fn list(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let after: Option<(Timestamp, String)> = asked.text("cursor").map(cursor::decode).transpose()?;
    let query = format!("labelSelector={}", tokens::LABEL);
    let list = app
        .objects
        .list(&folder(app), &query)
        .await
        .about("list of", "tokens")?;
    let secrets = list["items"].as_array().into_iter().flatten();
    // What a token may elsewhere is the business of those who are there.
    let seen_from_here = |mut token: Token| {
        if let Some(namespace) = asked.one_namespace() {
            token.grants.retain(|grant| grant.namespace == namespace);
        }
        (!token.grants.is_empty()).then_some(token)
    };
    let mut all: Vec<((Timestamp, String), Token)> = secrets
        .filter_map(tokens::from_secret)
        .filter_map(|(token, _)| seen_from_here(token))
        .map(|token| ((token.created_at, token.id.clone()), token))
        .collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    let (tokens, beside) = cursor::page(all.into_iter(), after.as_ref(), asked.limit());
    Ok(page(asked, tokens.iter().map(shown).collect(), &beside))
}

async fn find(app: &App, asked: &Asked, verb: Verb) -> Outcome<Token> {
    let id = asked.text("token").unwrap_or_default();
    let secret = app
        .objects
        .find(&folder(app), &tokens::secret_name(id))
        .await
        .about("token", id)?;
    let found = secret
        .as_ref()
        .and_then(tokens::from_secret)
        .map(|(token, _)| token);
    let Some(token) = found else {
        // Whoever is an admin nowhere does not learn which tokens there are.
        let everywhere = [Grant {
            role: Role::Admin,
            namespace: asked.namespace.clone(),
        }];
        check(app, asked, verb, &everywhere).await?;
        return Err(Problem::not_found("token", id));
    };
    check(app, asked, verb, &token.grants).await?;
    Ok(token)
}

pub(super) async fn get(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let token = find(app, asked, Verb::Get).await?;
    Ok(Answer::json(shown(&token)))
}

pub(super) async fn delete(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let token = find(app, asked, Verb::Delete).await?;
    let folder = folder(app);
    let name = tokens::secret_name(&token.id);
    // Its name is nobody else's.
    let target = Target::gone(&folder, &json!({"metadata": {"name": name}}));
    let mut begun = app.audit.begin(asked, &change(&token), &target).await?;
    begun
        .attempt(app.objects.delete(&folder, &name, &json!({})))
        .await
        .about("token", &token.id)?;
    app.doorkeeper.forget();
    Ok(Answer::nothing(StatusCode::NO_CONTENT).changed(begun, change(&token)))
}
