//! Custom resources: their definitions, and what the server makes of them.

use serde_json::{Value, json};

use crate::{Check, Context, Outcome, answer::Answer, request::Request};

mod definitions;
mod expressions;
mod objects;
mod schemas;
mod subresources;
mod versions;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The areas' checks, one slice per file.
pub(super) const CHECKS: [&[Check]; 6] = [
    definitions::CHECKS,
    objects::CHECKS,
    schemas::CHECKS,
    expressions::CHECKS,
    subresources::CHECKS,
    versions::CHECKS,
];

/// A kind `Widget` in a group of the check's own, served.
pub(super) struct Widgets {
    pub(super) group: String,
    /// The path of its definition.
    pub(super) definition: String,
    /// The path of its collection in the check's namespace.
    path: String,
}

/// A definition of widgets with one version, whose objects have this schema.
fn definition(group: &str, schema: Value) -> Value {
    json!({
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}},
            ],
        },
    })
}

/// The schema of an object with this schema of its spec.
fn with_spec(spec: Value) -> Value {
    json!({"type": "object", "properties": {"spec": spec}})
}

/// The schema of an object whose spec has these properties.
pub(super) fn with_properties(properties: Value) -> Value {
    with_spec(json!({"type": "object", "properties": properties}))
}

fn unique_group(cx: &Context<'_>) -> String {
    format!("{}.example.com", cx.unique("group"))
}

/// Creates the definition and waits until its objects are served.
fn define(cx: &Context<'_>, body: Value) -> Outcome<Widgets> {
    let made = cx.create_cluster("apiextensions.k8s.io/v1", "customresourcedefinitions", body)?;
    let group = made.text("/spec/group");
    let version = made.text("/spec/versions/0/name");
    let definition = format!("{DEFINITIONS}/{}", made.text("/metadata/name"));
    cx.eventually(|| {
        cx.get(&definition)
            .expect(200)?
            .has(json!({"status": {"conditions": ["<includes>", {
                "type": "Established", "status": "True",
            }]}}))
    })?;
    let path = cx.in_group(&format!("{group}/{version}"), "widgets")?;
    cx.eventually(|| cx.get(&path).expect(200))?;
    Ok(Widgets {
        group,
        definition,
        path,
    })
}

/// Widgets whose objects have this schema.
pub(super) fn widgets(cx: &Context<'_>, schema: Value) -> Outcome<Widgets> {
    define(cx, definition(&unique_group(cx), schema))
}

impl Widgets {
    pub(super) fn api_version(&self) -> String {
        format!("{}/v1", self.group)
    }

    /// A widget `a` with this content beside its metadata.
    fn object(&self, content: &Value) -> Value {
        let mut object =
            json!({"apiVersion": self.api_version(), "kind": "Widget", "metadata": {"name": "a"}});
        for (key, value) in content.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
        object
    }

    /// The creation of a widget `a` with this content.
    fn post<'a>(&self, cx: &Context<'a>, content: Value) -> Request<'a> {
        cx.post(&self.path, self.object(&content))
    }

    pub(super) fn create(&self, cx: &Context<'_>, content: Value) -> Outcome<Answer> {
        self.post(cx, content).expect(201)
    }

    fn one(&self) -> String {
        format!("{}/a", self.path)
    }
}
