//! `/v1/node-groups`: what tasks wait for.

use std::sync::Arc;

use resources::tasks::NODE_GROUP;
use serde_json::{Value, json};

use super::page;
use crate::{
    answer::Answer,
    app::{self, App, Asked},
    cursor,
    objects::{About as _, Folder},
    problem::Outcome,
    rows::{put, snake, text},
};

pub(super) async fn list(app: &Arc<App>, asked: &Asked) -> Outcome<Answer> {
    let after: Option<String> = asked.text("cursor").map(cursor::decode).transpose()?;
    app.check_templates(app::PATIENCE).await?;
    let list = app
        .objects
        .list(&Folder::of(&NODE_GROUP, ""), "")
        .await
        .about("list of", "node groups")?;
    let items = list["items"].as_array().into_iter().flatten();
    let mut all: Vec<(String, Value)> = items
        .map(|item| (text(&item["metadata"], "name").to_owned(), shown(item)))
        .collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    let (groups, beside) = cursor::page(all.into_iter(), after.as_ref(), asked.limit());
    Ok(page(asked, groups, &beside))
}

fn shown(group: &Value) -> Value {
    let (spec, status) = (&group["spec"], &group["status"]);
    let mut shown = json!({"name": group["metadata"]["name"]});
    put(&mut shown, "description", text(spec, "description"));
    // Names of labels stay as they are.
    put(&mut shown, "selector", spec["selector"].clone());
    for (from, names) in [
        (spec, &["gpusPerNode", "minNodes", "maxNodes", "bootSeconds"][..]),
        (status, &["nodes", "readyNodes", "waitingTasks"]),
    ] {
        for name in names {
            if let (Value::Object(renamed), false) =
                (snake(&json!({*name: from[*name]})), from[*name].is_null())
                && let Value::Object(shown) = &mut shown
            {
                shown.extend(renamed);
            }
        }
    }
    shown
}
