//! What is to be seen of a change afterwards, by whoever finds that nobody wrote down what became of it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{objects::Folder, rows::text};

/// On objects: the record of the last change that the service has made to them.
const CHANGE: &str = "trainyard.dev/change";

/// The object that a change is about, and what is to become of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Target {
    path: String,
    effect: Effect,
    /// Which object of this name; none where it is to be made.
    uid: Option<String>,
    /// The record of the change before.
    before: Option<String>,
    /// What its specification was: the mark of ours may be taken off by whoever writes the whole object next.
    #[serde(default)]
    generation: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Effect {
    Made,
    Changed,
    Gone,
}

/// What can be said of a change by looking at its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Done(&'static str),
    NotDone(&'static str),
    /// Nothing certain; what is seen.
    Open(&'static str),
}

impl Target {
    pub(crate) fn made(folder: &Folder, name: &str) -> Self {
        Self {
            path: folder.item(name),
            effect: Effect::Made,
            uid: None,
            before: None,
            generation: None,
        }
    }

    pub(crate) fn changed(folder: &Folder, object: &Value) -> Self {
        Self {
            before: mark_of(object).map(str::to_owned),
            generation: generation_of(object),
            ..Self::of(folder, object, Effect::Changed)
        }
    }

    pub(crate) fn gone(folder: &Folder, object: &Value) -> Self {
        Self::of(folder, object, Effect::Gone)
    }

    fn of(folder: &Folder, object: &Value, effect: Effect) -> Self {
        let meta = &object["metadata"];
        Self {
            path: folder.item(text(meta, "name")),
            effect,
            uid: meta["uid"].as_str().map(str::to_owned),
            before: None,
            generation: None,
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// What became of the change of this record, by what is at its place when nobody makes it any more. Only that it
    /// was made is certain before.
    pub(super) fn judge(&self, record: &str, found: Option<&Value>) -> Verdict {
        let is_it = |object: &&Value| {
            let uid = object["metadata"]["uid"].as_str();
            self.uid.is_none() || self.uid.as_deref() == uid
        };
        match (self.effect, found.filter(is_it)) {
            (Effect::Gone, None) => Verdict::Done("it is gone"),
            (Effect::Gone, Some(object)) if object["metadata"]["deletionTimestamp"].is_string() => {
                Verdict::Done("it is being deleted")
            }
            (Effect::Gone, Some(object)) if mark_of(object) == Some(record) => {
                Verdict::Open("it is still there, and was changed for this")
            }
            (Effect::Gone, Some(_)) => Verdict::NotDone("it is still there"),
            (_, Some(object)) if mark_of(object) == Some(record) => Verdict::Done("it bears this record"),
            (Effect::Changed, Some(object)) if self.is_as_before(object) => {
                Verdict::NotDone("it is as it was")
            }
            (_, Some(_)) => Verdict::Open("it was changed once more since, or made by another"),
            (_, None) => Verdict::Open("it is not there: it was not made, or has gone since"),
        }
    }

    fn is_as_before(&self, object: &Value) -> bool {
        mark_of(object) == self.before.as_deref() && generation_of(object) == self.generation
    }
}

/// Makes an object, or a patch of one, say which change it comes from.
pub(super) fn mark(object: &mut Value, record: &str) {
    object["metadata"]["annotations"][CHANGE] = json!(record);
}

fn mark_of(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][CHANGE].as_str()
}

fn generation_of(object: &Value) -> Option<i64> {
    object["metadata"]["generation"].as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> Folder {
        Folder::core("n", "secrets")
    }

    fn object(uid: &str, record: Option<&str>) -> Value {
        let mut object = json!({"metadata": {"name": "x", "uid": uid}});
        if let Some(record) = record {
            mark(&mut object, record);
        }
        object
    }

    #[test]
    fn what_was_to_be_made_is_known_by_its_mark() {
        let target = Target::made(&folder(), "x");
        assert_eq!(target.path(), "/api/v1/namespaces/n/secrets/x");
        let judge = |found: Option<Value>| target.judge("r", found.as_ref());
        assert!(matches!(judge(Some(object("u", Some("r")))), Verdict::Done(_)));
        // Another of that name may have been made by anybody, after ours or instead of it.
        assert!(matches!(judge(Some(object("u", None))), Verdict::Open(_)));
        assert!(matches!(judge(None), Verdict::Open(_)));
    }

    #[test]
    fn what_was_to_be_changed_has_the_mark_of_it_or_of_the_change_before() {
        for before in [None, Some("q")] {
            let target = Target::changed(&folder(), &object("u", before));
            let judge = |found: Option<Value>| target.judge("r", found.as_ref());
            assert!(matches!(judge(Some(object("u", Some("r")))), Verdict::Done(_)));
            assert!(matches!(judge(Some(object("u", before))), Verdict::NotDone(_)));
            assert!(matches!(judge(Some(object("u", Some("s")))), Verdict::Open(_)));
            // Another object of the same name says nothing of this one.
            assert!(matches!(judge(Some(object("v", Some("r")))), Verdict::Open(_)));
            assert!(matches!(judge(None), Verdict::Open(_)));
        }
    }

    #[test]
    fn whoever_takes_the_mark_off_does_not_make_a_change_undone() {
        let of = |generation: i64| {
            let mut object = object("u", None);
            object["metadata"]["generation"] = json!(generation);
            object
        };
        let target = Target::changed(&folder(), &of(1));
        assert!(matches!(target.judge("r", Some(&of(1))), Verdict::NotDone(_)));
        assert!(matches!(target.judge("r", Some(&of(3))), Verdict::Open(_)));
    }

    #[test]
    fn what_was_to_go_is_gone_or_was_left() {
        let target = Target::gone(&folder(), &object("u", Some("q")));
        let judge = |found: Option<Value>| target.judge("r", found.as_ref());
        assert!(matches!(judge(None), Verdict::Done(_)));
        assert!(matches!(judge(Some(object("v", None))), Verdict::Done(_)));
        assert!(matches!(judge(Some(object("u", Some("q")))), Verdict::NotDone(_)));
        // It was told what is to become of its claims before it was to go.
        assert!(matches!(judge(Some(object("u", Some("r")))), Verdict::Open(_)));
        let mut going = object("u", Some("r"));
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert!(matches!(judge(Some(going)), Verdict::Done(_)));
    }

    #[test]
    fn it_is_stored_with_the_record() {
        let target = Target::changed(&folder(), &object("u", Some("q")));
        let stored = json!(target);
        assert_eq!(serde_json::from_value::<Target>(stored).unwrap(), target);
    }
}
