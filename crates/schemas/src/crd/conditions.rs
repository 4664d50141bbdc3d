//! Whether the names of a definition are free, and whether it is established.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::props::{at, list, text, texts};

/// What the naming of a definition comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// `status.acceptedNames`.
    pub accepted: Value,
    /// The condition `NamesAccepted`, without a time.
    pub names_accepted: Value,
    /// The condition `Established`, without a time unless it was there before.
    pub established: Value,
}

/// Computes the accepted names and conditions of a definition, given all other definitions (those
/// of other groups and the definition itself are passed over).
pub fn name_conditions<'a>(crd: &Value, others: impl IntoIterator<Item = &'a Value>) -> Names {
    let used = Used::by(crd, others);
    let requested = at(crd, &["spec", "names"]);
    let before = at(crd, &["status", "acceptedNames"]);
    let mut accepted = before.as_object().cloned().unwrap_or_default();
    let mut conflict: Option<(&str, String)> = None;
    let fields = [
        ("plural", "PluralConflict", &used.resources),
        ("singular", "SingularConflict", &used.resources),
        ("shortNames", "ShortNamesConflict", &used.resources),
        ("kind", "KindConflict", &used.kinds),
        ("listKind", "ListKindConflict", &used.kinds),
    ];
    for (field, reason, used) in fields {
        let taken: Vec<String> = if field == "shortNames" {
            let known: Vec<&str> = texts(before, field).collect();
            let new = texts(requested, field).filter(|name| !known.contains(name));
            new.filter(|name| used.contains(*name)).map(in_use).collect()
        } else {
            let name = text(requested, field);
            let taken = name != text(before, field) && used.contains(name);
            taken.then(|| in_use(name)).into_iter().collect()
        };
        if taken.is_empty() {
            accept(&mut accepted, requested, field);
        } else {
            let message = if taken.len() == 1 {
                taken.concat()
            } else {
                format!("[{}]", taken.join(", "))
            };
            conflict = Some((reason, message));
        }
    }
    accept(&mut accepted, requested, "categories");
    let free = conflict.is_none();
    let names_accepted = match conflict {
        None => condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        Some((reason, message)) => condition("NamesAccepted", "False", reason, &message),
    };
    Names {
        accepted: Value::Object(accepted),
        names_accepted,
        established: established(crd, free),
    }
}

/// The condition a definition with accepted names gets once its kind is served.
pub fn establish() -> Value {
    condition(
        "Established",
        "True",
        "InitialNamesAccepted",
        "the initial names have been accepted",
    )
}

fn established(crd: &Value, free: bool) -> Value {
    let conditions = list(at(crd, &["status"]), "conditions");
    let before = conditions
        .iter()
        .find(|condition| text(condition, "type") == "Established");
    match before {
        Some(before) if text(before, "status") == "True" || !free => before.clone(),
        _ if free => condition(
            "Established",
            "False",
            "Installing",
            "the initial names have been accepted",
        ),
        _ => condition(
            "Established",
            "False",
            "NotAccepted",
            "not all names are accepted",
        ),
    }
}

fn accept(accepted: &mut serde_json::Map<String, Value>, requested: &Value, field: &str) {
    match requested.get(field) {
        Some(value) => accepted.insert(field.to_owned(), value.clone()),
        None => accepted.remove(field),
    };
}

fn in_use(name: &str) -> String {
    format!("{name:?} is already in use")
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message})
}

/// The names other definitions of the group have.
struct Used<'a> {
    resources: HashSet<&'a str>,
    kinds: HashSet<&'a str>,
}

impl<'a> Used<'a> {
    fn by(crd: &Value, others: impl IntoIterator<Item = &'a Value>) -> Self {
        let (group, own) = (at(crd, &["spec", "group"]), at(crd, &["metadata", "name"]));
        let mut used = Self {
            resources: HashSet::new(),
            kinds: HashSet::new(),
        };
        for other in others {
            if at(other, &["spec", "group"]) != group || at(other, &["metadata", "name"]) == own {
                continue;
            }
            let names = at(other, &["status", "acceptedNames"]);
            used.resources
                .extend([text(names, "plural"), text(names, "singular")]);
            used.resources.extend(texts(names, "shortNames"));
            used.kinds.extend([text(names, "kind"), text(names, "listKind")]);
        }
        used
    }
}
