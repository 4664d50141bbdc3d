//! What server-side apply has to know about a write.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    compare::Changes,
    field_set::{Branch, FieldSet, elements, is_member},
};

/// A write to one object: by whom, when, and what the server knows about the kind.
#[derive(Clone, Copy)]
pub struct Write<'a, S> {
    /// The type of the object in the version of the request.
    pub shape: S,
    /// The field manager of the request; see [`manager_name`](super::manager_name).
    pub manager: &'a str,
    /// The version of the request, such as `apps/v1`.
    pub api_version: &'a str,
    pub kind: &'a str,
    /// The subresource of the request; empty for the object itself.
    pub subresource: &'a str,
    /// The current time as RFC 3339 in UTC, in whole seconds.
    pub now: &'a str,
    /// Whether an apply takes fields from other managers.
    pub force: bool,
    /// What the server resets on this write, in the version of the request.
    pub reset: &'a Reset,
    /// An object of this kind with nothing set, as the server writes it: `{"spec":{"containers":
    /// null},"status":{}}` for a pod. What it has nobody owns by creating an object that has it
    /// too. Custom resources have none of it: `{}`.
    pub blank: &'a Value,
    /// The other versions in which the object is served.
    pub versions: &'a dyn Versions<S>,
}

/// The fields that nobody can own by a write because the server resets them.
#[derive(Clone, Debug, Default)]
pub enum Reset {
    #[default]
    Nothing,
    /// These fields and all below them, such as `status` on a write to the object itself.
    Fields(FieldSet),
    /// Everything but what lies on, or below, one of these paths; `*` stands for any element.
    AllBut(&'static [&'static [&'static str]]),
}

/// One of the versions in which an object is served.
#[derive(Clone, Copy)]
pub struct Version<'a, S> {
    pub shape: S,
    pub reset: &'a Reset,
}

/// How a kind looks in its other versions. `()` is for kinds that have only one.
pub trait Versions<S> {
    /// A version other than that of the request; `None` if the server does not know it.
    fn version(&self, api_version: &str) -> Option<Version<'_, S>>;

    /// The object in another version. As it is, unless the kind needs to be converted.
    fn convert<'v>(&self, object: &'v Value, _api_version: &str) -> Cow<'v, Value> {
        Cow::Borrowed(object)
    }
}

impl<S> Versions<S> for () {
    fn version(&self, _api_version: &str) -> Option<Version<'_, S>> {
        None
    }
}

impl<S: Copy> Write<'_, S> {
    pub(super) fn version(&self, api_version: &str) -> Option<Version<'_, S>> {
        if api_version == self.api_version {
            return Some(Version {
                shape: self.shape,
                reset: self.reset,
            });
        }
        self.versions.version(api_version)
    }

    /// The object in another version. Objects know their own.
    pub(super) fn convert<'v>(&self, object: &'v Value, api_version: &str) -> Cow<'v, Value> {
        if object["apiVersion"]
            .as_str()
            .is_none_or(|version| version == api_version)
        {
            return Cow::Borrowed(object);
        }
        self.versions.convert(object, api_version)
    }
}

impl Reset {
    /// The fields that are left.
    pub(super) fn filter(&self, fields: &mut FieldSet) {
        match self {
            Self::Nothing => {}
            Self::Fields(reset) => fields.subtract_deep(reset),
            Self::AllBut(paths) => *fields = only(fields.branch(), paths),
        }
    }

    pub(super) fn filter_changes(&self, changes: &mut Changes) {
        for fields in [&mut changes.removed, &mut changes.modified, &mut changes.added] {
            self.filter(fields);
        }
    }
}

fn only(branch: &Branch, paths: &[&[&str]]) -> FieldSet {
    let mut out = FieldSet::new();
    for (text, below) in elements(branch) {
        let name = text.strip_prefix("f:");
        let matching: Vec<&[&str]> = paths
            .iter()
            .filter(|path| {
                path.first()
                    .is_none_or(|step| *step == "*" || Some(*step) == name)
            })
            .map(|path| path.get(1..).unwrap_or_default())
            .collect();
        if !matching.is_empty() {
            out.attach(text.to_owned(), is_member(below), only(below, &matching));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_but_some_paths_are_reset() {
        let reset = Reset::AllBut(&[&["spec", "containers", "*", "resources"], &["metadata", "labels"]]);
        let container = json!({".": {}, "f:image": {}, "f:resources": {".": {}, "f:limits": {"f:cpu": {}}}});
        let fields = json!({
            "f:metadata": {"f:labels": {"f:a": {}}, "f:annotations": {"f:a": {}}},
            "f:spec": {"f:nodeName": {}, "f:containers": {"k:{\"name\":\"c\"}": container}},
            "f:status": {},
        });
        let mut fields = FieldSet::from_json(&fields).unwrap();
        reset.filter(&mut fields);
        let kept = json!({".": {}, "f:resources": {".": {}, "f:limits": {"f:cpu": {}}}});
        let expected = json!({
            "f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": kept}},
        });
        assert_eq!(fields.into_value(), expected);
    }
}
