//! The objects that are waited for, by the collections they are in, and what becomes of them event by event. Pure.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use super::super::Placed;
use crate::jobs::api::{ApiError, Event, escaped};

/// What becomes of an object that is waited for.
pub(super) enum Look {
    Done,
    NotYet(String),
}

/// The objects of one kind in one namespace: they are watched together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Collection {
    /// Where the objects are that matter: of one, nothing is heard but what happens to it.
    pub(super) path: String,
    root: String,
}

/// The collections of some objects.
pub(super) fn collections<'a>(objects: impl Iterator<Item = &'a Placed>) -> Vec<Collection> {
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for object in objects {
        names.entry(root(object)).or_default().push(name(&object.object));
    }
    let collection = |(root, names): (&str, Vec<&str>)| Collection {
        path: match names.as_slice() {
            [name] => {
                let selector = escaped(&format!("metadata.name={name}"));
                format!("{root}?fieldSelector={selector}")
            }
            _ => root.to_owned(),
        },
        root: root.to_owned(),
    };
    names.into_iter().map(collection).collect()
}

fn root(object: &Placed) -> &str {
    object.path.rsplit_once('/').map_or("", |(root, _)| root)
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The objects that are not yet as they should be, and why not.
pub(super) struct Left<'a, L> {
    objects: Vec<(&'a Placed, String)>,
    look: L,
}

impl<'a, L> Left<'a, L>
where
    L: Fn(&Placed, Option<&Value>) -> Result<Look>,
{
    pub(super) fn new(objects: &'a [Placed], look: L) -> Self {
        let unseen = |object| (object, "the cluster has not said how it is".to_owned());
        Self {
            objects: objects.iter().map(unseen).collect(),
            look,
        }
    }

    pub(super) fn first(&self) -> Option<(&'a Placed, &str)> {
        self.objects.first().map(|(object, why)| (*object, why.as_str()))
    }

    /// What is left, in words.
    pub(super) fn said(&self) -> Vec<String> {
        let left = self.objects.iter();
        left.map(|(object, why)| format!("{}: {why}", object.shown))
            .collect()
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &'a Placed> {
        self.objects.iter().map(|(object, _)| *object)
    }

    /// Whether any of the objects is in a collection.
    pub(super) fn is_in(&self, collection: &Collection) -> bool {
        self.objects().any(|object| root(object) == collection.root)
    }

    /// Takes in everything a collection has.
    pub(super) fn list(&mut self, collection: &Collection, mut list: Value) -> Result<()> {
        let items = match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        let mut live: BTreeMap<String, Value> = BTreeMap::new();
        for item in items {
            live.insert(name(&item).to_owned(), item);
        }
        self.look_at(collection, |object| {
            let mut item = live.remove(name(&object.object));
            for field in ["apiVersion", "kind"] {
                // Lists do not repeat it in their items.
                if let Some(item) = &mut item {
                    item[field] = object.object[field].clone();
                }
            }
            Some(item)
        })
    }

    /// Takes in what has happened in a collection.
    pub(super) fn learn(&mut self, collection: &Collection, event: Event) -> Result<()> {
        let (live, is_there) = match event {
            Event::Added(object) | Event::Modified(object) => (object, true),
            Event::Deleted(object) => (object, false),
            Event::Bookmark(_) => return Ok(()),
            Event::Error(status) => return Err(ApiError::refused(&status).into()),
        };
        self.look_at(collection, |object| {
            (name(&object.object) == name(&live)).then(|| is_there.then(|| live.clone()))
        })
    }

    /// Looks at the objects of a collection of which there is news.
    fn look_at(
        &mut self,
        collection: &Collection,
        mut news: impl FnMut(&Placed) -> Option<Option<Value>>,
    ) -> Result<()> {
        let mut left = Vec::with_capacity(self.objects.len());
        for (object, why) in std::mem::take(&mut self.objects) {
            let news = Some(object)
                .filter(|object| root(object) == collection.root)
                .and_then(&mut news);
            match news.map(|live| (self.look)(object, live.as_ref())).transpose()? {
                None => left.push((object, why)),
                Some(Look::NotYet(why)) => left.push((object, why)),
                Some(Look::Done) => {}
            }
        }
        self.objects = left;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str) -> Placed {
        Placed {
            shown: format!("pod/{name}"),
            path: format!("/api/v1/namespaces/lab/pods/{name}"),
            object: json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}),
        }
    }

    fn live(name: &str, is_ready: bool) -> Value {
        json!({"metadata": {"name": name}, "ready": is_ready})
    }

    fn is_ready(_: &Placed, live: Option<&Value>) -> Result<Look> {
        Ok(match live {
            Some(live) if live["ready"] == true => Look::Done,
            Some(_) => Look::NotYet("it is not ready".to_owned()),
            None => anyhow::bail!("it is gone"),
        })
    }

    #[test]
    fn objects_of_a_kind_are_watched_together_and_one_by_its_name() {
        let (one, other) = (pod("one"), pod("other"));
        let [collection] = &collections([&one].into_iter())[..] else {
            panic!("one collection");
        };
        assert_eq!(
            collection.path,
            "/api/v1/namespaces/lab/pods?fieldSelector=metadata.name%3Done"
        );
        let both = collections([&one, &other].into_iter());
        assert_eq!(both.len(), 1);
        assert_eq!(both[0].path, "/api/v1/namespaces/lab/pods");
    }

    #[test]
    fn an_object_is_done_when_an_event_says_so() {
        let objects = [pod("one"), pod("other")];
        let collection = &collections(objects.iter())[0];
        let mut left = Left::new(&objects, is_ready);
        let list = json!({"items": [live("one", false), live("other", true), live("third", true)]});
        left.list(collection, list).unwrap();
        assert_eq!(left.first().unwrap().1, "it is not ready");
        assert_eq!(left.objects().count(), 1);
        left.learn(collection, Event::Modified(live("third", true)))
            .unwrap();
        assert_eq!(left.objects().count(), 1, "another object");
        left.learn(collection, Event::Modified(live("one", true)))
            .unwrap();
        assert!(left.first().is_none());
    }

    #[test]
    fn an_object_that_goes_is_seen_to_go() {
        let objects = [pod("one")];
        let collection = &collections(objects.iter())[0];
        let mut left = Left::new(&objects, is_ready);
        left.list(collection, json!({"items": [live("one", false)]}))
            .unwrap();
        let gone = left.learn(collection, Event::Deleted(live("one", false)));
        assert_eq!(gone.unwrap_err().to_string(), "it is gone");
    }
}
