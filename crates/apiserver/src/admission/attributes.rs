//! What webhooks and policies are told about a request.

use serde_json::{Map, Value, json};

use super::Operation;
use crate::{
    call::Call,
    kind::Kind,
    object,
    writes::{Writer, delete::DeleteOptions},
};

/// A request on its way to the store. The objects it is about go beside it, because they change.
pub(crate) struct Attributes<'a> {
    pub call: &'a Call,
    pub operation: Operation,
    /// Namespaces count as being in themselves.
    pub namespace: String,
    /// Empty where the name is generated and for deletions of whole collections.
    pub name: String,
    pub dry_run: bool,
    pub options: Value,
}

impl<'a> Attributes<'a> {
    pub(crate) fn of(writer: &Writer<'a>, operation: Operation, object: Option<&Value>) -> Self {
        let call = writer.call;
        let name = call.name_of(object).to_owned();
        let namespace = if call.kind.is("", "Namespace") {
            name.clone()
        } else {
            call.key_namespace().to_owned()
        };
        let options = match operation {
            Operation::Create => typed_options("CreateOptions", write_options(call)),
            Operation::Update | Operation::Apply => typed_options("UpdateOptions", write_options(call)),
            Operation::Delete => {
                let options = writer.deletion.as_ref();
                typed_options(
                    "DeleteOptions",
                    options.map_or_else(|| json!({}), DeleteOptions::to_value),
                )
            }
            Operation::Connect => Value::Null,
        };
        Self {
            call,
            operation,
            namespace,
            name,
            dry_run: writer.options.dry_run,
            options,
        }
    }

    pub(crate) fn subresource(&self) -> &str {
        &self.call.target.subresource
    }

    /// The name by which an error calls the object: its own, or what it is generated from.
    pub(crate) fn shown_name<'n>(&'n self, object: Option<&'n Value>) -> &'n str {
        let own = object.map_or("", object::name);
        let prefix = object.map_or("", |object| object::meta_text(object, "generateName"));
        [&self.name, own, prefix, "Unknown"]
            .into_iter()
            .find(|name| !name.is_empty())
            .unwrap_or_default()
    }

    /// The request as an `AdmissionRequest` without its objects, seen as a request to `kind`.
    pub(crate) fn to_request(&self, kind: &Kind) -> Value {
        let mut request = json!({
            "kind": kind_of(kind, self.subresource()),
            "resource": resource_of(kind),
            "requestKind": kind_of(&self.call.kind, self.subresource()),
            "requestResource": resource_of(&self.call.kind),
            "operation": self.operation.name(),
            "userInfo": self.call.user.to_info(),
            "dryRun": self.dry_run,
            "options": self.options,
        });
        let optional = [
            ("subResource", self.subresource()),
            ("requestSubResource", self.subresource()),
            ("name", &self.name),
            ("namespace", &self.namespace),
        ];
        for (field, text) in optional.into_iter().filter(|(_, text)| !text.is_empty()) {
            request[field] = text.into();
        }
        request
    }
}

/// The parameters of a write, as the real server turns them into an options object.
fn write_options(call: &Call) -> Value {
    let mut options = Map::new();
    let dry_run: Vec<&str> = call.query.all("dryRun").collect();
    if !dry_run.is_empty() {
        options.insert("dryRun".to_owned(), json!(dry_run));
    }
    for field in ["fieldManager", "fieldValidation"] {
        if let Some(text) = call.query.text(field) {
            options.insert(field.to_owned(), text.into());
        }
    }
    options.into()
}

fn typed_options(kind: &str, mut options: Value) -> Value {
    options["kind"] = kind.into();
    options["apiVersion"] = "meta.k8s.io/v1".into();
    options
}

/// The kind of the object in a request to a resource or one of its subresources.
pub(crate) fn kind_of(kind: &Kind, subresource: &str) -> Value {
    match kind
        .subresource(subresource)
        .filter(|subresource| !subresource.version.is_empty())
    {
        Some(other) => json!({ "group": other.group, "version": other.version, "kind": other.kind }),
        None => json!({ "group": kind.group, "version": kind.version, "kind": kind.kind }),
    }
}

fn resource_of(kind: &Kind) -> Value {
    json!({ "group": kind.group, "version": kind.version, "resource": kind.plural })
}
