//! Who uses which template. It is written into the template's status, by which the API server refuses to delete one that
//! is in use (`resources::tasks::admission`), whoever asks.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use parking_lot::Mutex;
use reconcile::{Cached as _, Change, Closing, Key, Next, Queue, requests, run};
use resources::tasks::{TASK_TEMPLATE, TaskTemplateStatus};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    kept::KeptText,
    places::{self, folder},
    world::World,
};

/// So many users are named.
const NAMED: usize = 5;

/// Definitions by the template they use.
type Users = Arc<Mutex<BTreeMap<String, BTreeSet<Key>>>>;

/// Keeps the status of templates as it is.
pub(crate) fn start(world: Arc<World>, closing: Closing, tasks: &mut JoinSet<()>) {
    tasks.spawn(async move {
        tokio::select! {
            () = world.synced() => {}
            () = closing.heard() => return,
        }
        let (queue, users): (Queue<Key>, Users) = (Queue::new(), Users::default());
        wake(&queue, &world, &users);
        let working = run("template-use", queue.clone(), 1, move |key: Key| {
            let (world, users) = (world.clone(), users.clone());
            async move { report(&world, &users, &key).await }
        });
        let closed = async {
            closing.heard().await;
            queue.close();
        };
        tokio::join!(working, closed);
    });
}

fn wake(queue: &Queue<Key>, world: &World, users: &Users) {
    let (woken, users) = (queue.clone(), users.clone());
    world.definitions.on_change(move |change| {
        for template in note(&users, change) {
            woken.add(Key::new("", &template));
        }
    });
    // Templates may include any other.
    let (woken, templates) = (queue.clone(), world.templates.clone());
    world.templates.on_change(move |change| {
        let text = |kept: Option<&Arc<KeptText>>| kept.map(|kept| template_text(&kept.object()));
        if text(change.before) != text(change.after) {
            for template in templates.all() {
                woken.add(Key::of(&*template));
            }
        }
    });
}

/// Takes a change of a definition into account; the templates that it changes something for.
fn note(users: &Users, change: &Change<'_, KeptText>) -> BTreeSet<String> {
    let template = |kept: &Arc<KeptText>| {
        let object = kept.object();
        object["spec"]["task_template_name"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let mut users = users.lock();
    let mut changed = BTreeSet::new();
    if let Some(before) = change.before {
        let template = template(before);
        if let Some(known) = users.get_mut(&template) {
            known.remove(&Key::of(&**before));
        }
        changed.insert(template);
    }
    if let Some(after) = change.after {
        let template = template(after);
        users
            .entry(template.clone())
            .or_default()
            .insert(Key::of(&**after));
        changed.insert(template);
    }
    changed
}

async fn report(world: &World, users: &Users, key: &Key) -> kube::Result<Next> {
    let Some(template) = world.templates.get(key) else {
        return Ok(Next::Wait);
    };
    let definitions: Vec<String> = {
        let users = users.lock();
        let known = users.get(&*key.name).into_iter().flatten();
        known
            .map(|key| format!("{}/{}", key.namespace, key.name))
            .collect()
    };
    let all = world.templates.all();
    let includers = all
        .iter()
        .filter(|other| {
            other.name() != &*key.name && templates::mentions(&template_text(&other.object()), &key.name)
        })
        .map(|other| other.name().to_owned());
    let status = status(&definitions, &includers.collect::<Vec<_>>());
    let object = template.object();
    let known: TaskTemplateStatus = serde_json::from_value(object["status"].clone()).unwrap_or_default();
    if known == status {
        return Ok(Next::Wait);
    }
    let folder = format!("{}/{}", folder(&places::of(&TASK_TEMPLATE), None), key.name);
    let patch = json!({"status": status});
    match requests::merge::<KeptText>(&world.client, &folder, "status", &patch).await {
        Ok(written) => world.templates.wrote(written),
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => return Err(error),
    }
    Ok(Next::Wait)
}

fn template_text(object: &Value) -> String {
    object["spec"]["template"].as_str().unwrap_or_default().to_owned()
}

fn status(definitions: &[String], includers: &[String]) -> TaskTemplateStatus {
    let all: Vec<String> = definitions
        .iter()
        .map(|name| format!("definition {name}"))
        .chain(includers.iter().map(|name| format!("template {name}")))
        .collect();
    let mut used_by = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if all.len() > NAMED {
        used_by.push_str(&format!(" and {} more", all.len() - NAMED));
    }
    TaskTemplateStatus {
        users: i32::try_from(all.len()).unwrap_or(i32::MAX),
        used_by,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn users_are_named_as_far_as_there_is_room() {
        assert_eq!(status(&[], &[]), TaskTemplateStatus::default());
        let few = status(&names(&["a/x"]), &names(&["base"]));
        assert_eq!(
            (few.users, few.used_by.as_str()),
            (2, "definition a/x, template base")
        );
        let many = status(&names(&["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7"]), &[]);
        assert_eq!(many.users, 7);
        assert!(
            many.used_by.ends_with("definition a/5 and 2 more"),
            "{}",
            many.used_by
        );
    }
}
