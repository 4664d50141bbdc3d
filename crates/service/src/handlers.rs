//! What each operation does, a file for each kind of thing.

mod audit;
mod definitions;
mod deliveries;
mod node_groups;
mod tasks;
mod templates;
mod tokens;

use std::sync::Arc;

use http::header;
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    app::{App, Asked},
    cursor::{self, Beside},
    index::Place,
    problem::Outcome,
    routes::Operation,
};

pub(crate) use tasks::{has_ended, is_forgotten};
pub(crate) use tokens::change as token_change;

/// Whether an operation finds out itself who may: where what it is about says so.
pub(crate) fn asks_itself(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::CreateToken | Operation::GetToken | Operation::DeleteToken
    )
}

pub(crate) async fn handle(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    match asked.operation {
        // Answered before anybody is asked who they are.
        Operation::OpenApi | Operation::Health | Operation::Ready => Ok(Answer::text("ok\n")),
        Operation::WhoAmI => Ok(Answer::json(asked.identity.json())),
        Operation::ListTemplates => templates::list(app, asked).await,
        Operation::CreateTemplate => templates::create(app, asked).await,
        Operation::GetTemplate => templates::get(app, asked).await,
        Operation::ReplaceTemplate => templates::replace(app, asked).await,
        Operation::DeleteTemplate => templates::delete(app, asked).await,
        Operation::RenderTemplate => templates::render(app, asked).await,
        Operation::CheckTemplate => templates::check(app, asked).await,
        Operation::ListDefinitions => definitions::list(app, asked),
        Operation::CreateDefinition => definitions::create(app, asked).await,
        Operation::GetDefinition => definitions::get(app, asked).await,
        Operation::ReplaceDefinition => definitions::replace(app, asked).await,
        Operation::DeleteDefinition => definitions::delete(app, asked).await,
        Operation::GetSchema => definitions::schema(app, asked).await,
        Operation::GetForm => definitions::form(app, asked).await,
        Operation::ListTasks => tasks::list(app, asked),
        Operation::CreateTask => tasks::submit::create(app, asked).await,
        Operation::GetTask => tasks::get(app, asked).await,
        Operation::DeleteTask => tasks::delete(app, asked).await,
        Operation::CancelTask => tasks::cancel(app, asked).await,
        Operation::RetryTask => tasks::retry(app, asked).await,
        Operation::GetStatus => tasks::watching::status(app, asked).await,
        Operation::GetEvents => tasks::watching::events(app, asked).await,
        Operation::GetLogs => tasks::logs::logs(app, asked).await,
        Operation::ListDeliveries => deliveries::list(app, asked),
        Operation::GetDelivery => deliveries::get(app, asked).await,
        Operation::ReplayDelivery => deliveries::replay(app, asked).await,
        Operation::GetSigningKey => deliveries::signing_key(app, asked).await,
        Operation::ListNodeGroups => node_groups::list(app, asked).await,
        Operation::ListTokens => tokens::list(app, asked).await,
        Operation::CreateToken => tokens::create(app, asked).await,
        Operation::GetToken => tokens::get(app, asked).await,
        Operation::DeleteToken => tokens::delete(app, asked).await,
        Operation::ListAudit => audit::list(app, asked).await,
    }
}

/// The place a page begins after.
fn after(asked: &Asked) -> Outcome<Option<Place>> {
    asked.text("cursor").map(cursor::decode).transpose()
}

/// A page of a list, and where those beside it are: in the body for programs of ours, in a header for all (RFC 8288).
fn page<K: serde::Serialize>(asked: &Asked, items: Vec<Value>, beside: &Beside<K>) -> Answer {
    let mut page = json!({"items": items});
    let mut links = Vec::new();
    if let Some(next) = &beside.next {
        let next = cursor::encode(next);
        links.push(link(asked, Some(&next), "next"));
        page["next_cursor"] = json!(next);
    }
    if let Some(previous) = &beside.previous {
        let previous = previous.key().map(cursor::encode);
        links.push(link(asked, previous.as_deref(), "prev"));
    }
    if asked.text("cursor").is_some() {
        links.push(link(asked, None, "first"));
    }
    let answer = Answer::json(page);
    if links.is_empty() {
        answer
    } else {
        answer.header(header::LINK, links.join(", "))
    }
}

/// The same list from another place on.
fn link(asked: &Asked, cursor: Option<&str>, relation: &str) -> String {
    let pairs = form_urlencoded::parse(asked.query.as_bytes()).filter(|(name, _)| name != "cursor");
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs);
    if let Some(cursor) = cursor {
        query.append_pair("cursor", cursor);
    }
    format!("<{}?{}>; rel=\"{relation}\"", asked.path, query.finish())
}

/// What somebody may see of an object that was changed: enough to tell versions apart.
fn hash(spec: &Value) -> String {
    use sha2::{Digest as _, Sha256};
    let mut hash = crate::hex(&Sha256::digest(spec.to_string()));
    hash.truncate(16);
    hash
}
