//! The definitions as they were last seen: a change of one costs nothing for the others.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use kinds::read::{at, get, object_mut};
use serde_json::Value;
use store::Object;

use super::condition_holds;
use crate::{custom, kind::Kind, object};

/// Every definition, by name.
#[derive(Default)]
pub(crate) struct Definitions(HashMap<String, Seen>);

struct Seen {
    revision: u64,
    form: Form,
    kinds: Vec<Arc<Kind>>,
    /// The definition without its versions, which are most of it.
    outline: Value,
}

/// What a definition says of its objects, and since when. A label or a condition changes nothing about
/// them, and they can be followed from before it.
struct Form {
    text: Box<str>,
    since: u64,
}

impl Definitions {
    /// Reads what has changed.
    pub(super) fn follow(&mut self, stored: &[Arc<Object>]) {
        let names: HashSet<&str> = stored.iter().map(|object| object.name()).collect();
        self.0.retain(|name, _| names.contains(name.as_str()));
        for object in stored {
            let before = self.0.remove(object.name());
            let seen = match before {
                Some(seen) if seen.revision == object.revision() => Some(seen),
                before => object::readable(object)
                    .map(|definition| Seen::new(definition, object.revision(), before.map(|seen| seen.form))),
            };
            self.0.extend(seen.map(|seen| (object.name().to_owned(), seen)));
        }
    }

    /// The outlines, oldest first: the first to ask for a name has it.
    pub(super) fn oldest_first(&self) -> Vec<&Value> {
        self.sorted().map(|seen| &seen.outline).collect()
    }

    /// The kinds that are served.
    pub(super) fn kinds(&self) -> Vec<Arc<Kind>> {
        self.sorted()
            .flat_map(|seen| seen.kinds.iter().cloned())
            .collect()
    }

    fn sorted(&self) -> impl Iterator<Item = &Seen> {
        let mut all: Vec<&Seen> = self.0.values().collect();
        all.sort_by_key(|seen| {
            (
                object::meta_text(&seen.outline, "creationTimestamp"),
                object::name(&seen.outline),
            )
        });
        all.into_iter()
    }
}

impl Seen {
    fn new(mut definition: Value, revision: u64, before: Option<Form>) -> Self {
        let form = Form::new(&definition, revision, before);
        let served = ["NamesAccepted", "Established"]
            .iter()
            .all(|name| condition_holds(&definition, name));
        let kinds = if served {
            custom::kinds(&definition, form.since)
        } else {
            Vec::new()
        };
        object_mut(&mut definition, "spec").remove("versions");
        Self {
            revision,
            form,
            kinds,
            outline: definition,
        }
    }
}

impl Form {
    /// The form of a definition that was last changed at `revision`.
    fn new(definition: &Value, revision: u64, before: Option<Self>) -> Self {
        let names = at(definition, &["status", "acceptedNames"]);
        let text = format!("{} {} {names}", object::uid(definition), get(definition, "spec")).into();
        match before {
            Some(before) if before.text == text => before,
            _ => Self {
                text,
                since: revision,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_change_of_form_cuts_history_off() {
        let mut definition = json!({
            "metadata": { "uid": "1" },
            "spec": { "group": "example.com" },
            "status": { "acceptedNames": { "kind": "Widget" } },
        });
        let form = Form::new(&definition, 5, None);
        assert_eq!(form.since, 5);
        definition["metadata"]["labels"] = json!({ "a": "b" });
        definition["status"]["conditions"] = json!([{ "type": "Established" }]);
        let form = Form::new(&definition, 6, Some(form));
        assert_eq!(form.since, 5);
        definition["spec"]["preserveUnknownFields"] = true.into();
        let form = Form::new(&definition, 7, Some(form));
        assert_eq!(form.since, 7);
        definition["status"]["acceptedNames"]["shortNames"] = json!(["w"]);
        let form = Form::new(&definition, 8, Some(form));
        assert_eq!(form.since, 8);
        definition["metadata"]["uid"] = "2".into();
        assert_eq!(Form::new(&definition, 9, Some(form)).since, 9);
    }
}
