//! One operation of a path: what it is called, takes and answers, in either dialect.

use serde_json::{Map, Value, json};

use super::{Dialect, KindDoc, parameters::Parameter, schema::reference, special};

pub(super) const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

/// One path of a document.
#[derive(Debug)]
pub(super) struct PathItem<'a> {
    /// Whose name `{name}` is.
    pub(super) kind: &'a str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) operations: Vec<Operation<'a>>,
}

/// What one method does there.
#[derive(Debug)]
pub(super) struct Operation<'a> {
    pub(super) method: &'static str,
    pub(super) id: String,
    pub(super) tag: String,
    pub(super) description: String,
    /// What the operation does to which kind; discovery does nothing to any.
    pub(super) action: Option<(&'static str, KindDoc<'a>)>,
    pub(super) parameters: &'static [Parameter],
    pub(super) consumes: &'static [&'static str],
    pub(super) produces: &'static [&'static str],
    pub(super) request: Request,
    pub(super) response: Response,
    pub(super) codes: &'static [Code],
}

/// An HTTP status and its name.
pub(super) type Code = (&'static str, &'static str);

/// What a method takes.
#[derive(Debug)]
pub(super) enum Request {
    Nothing,
    /// An object, by the name of its schema.
    Object(String),
    Patch,
    /// How to delete, which may be left out.
    DeleteOptions,
}

/// What a method answers.
#[derive(Debug)]
pub(super) enum Response {
    Text,
    /// An object, by the name of its schema.
    Object(String),
}

impl PathItem<'_> {
    pub(super) fn to_value(&self, dialect: Dialect) -> Value {
        let mut item: Map<String, Value> = self
            .operations
            .iter()
            .map(|operation| {
                (
                    operation.method.to_owned(),
                    operation.to_value(self.kind, dialect),
                )
            })
            .collect();
        if !self.parameters.is_empty() {
            item.insert(
                "parameters".to_owned(),
                list(&self.parameters, self.kind, dialect),
            );
        }
        Value::Object(item)
    }

    /// The schemas the path speaks of.
    pub(super) fn references(&self) -> impl Iterator<Item = &str> {
        self.operations.iter().flat_map(|operation| {
            let answer = match &operation.response {
                Response::Text => None,
                Response::Object(name) => Some(name.as_str()),
            };
            operation.request.schema().into_iter().chain(answer)
        })
    }
}

impl Operation<'_> {
    fn to_value(&self, kind: &str, dialect: Dialect) -> Value {
        let mut operation = json!({
            "tags": [self.tag],
            "description": self.description,
            "operationId": self.id,
            "responses": self.responses(dialect),
        });
        if let Some((action, kind)) = self.action {
            operation["x-kubernetes-action"] = json!(action);
            operation["x-kubernetes-group-version-kind"] = kind.to_value();
        }
        let mut parameters = list(self.parameters, kind, dialect);
        match dialect {
            Dialect::V2 => {
                operation["schemes"] = json!(["https"]);
                operation["consumes"] = json!(self.consumes);
                operation["produces"] = json!(self.produces);
                if let (Some(body), Some(parameters)) = (self.body_parameter(), parameters.as_array_mut()) {
                    parameters.insert(0, body);
                }
            }
            Dialect::V3 => {
                if let Some(body) = self.request_body() {
                    operation["requestBody"] = body;
                }
            }
        }
        if parameters.as_array().is_some_and(|it| !it.is_empty()) {
            operation["parameters"] = parameters;
        }
        operation
    }

    /// The body as OpenAPI 3 has it.
    fn request_body(&self) -> Option<Value> {
        let schema = reference(self.request.schema()?, Dialect::V3);
        let mut body = json!({"content": content(self.consumes, &schema)});
        if self.request.is_required() {
            body["required"] = json!(true);
        }
        Some(body)
    }

    /// The body as Swagger has it.
    fn body_parameter(&self) -> Option<Value> {
        let schema = reference(self.request.schema()?, Dialect::V2);
        let mut body = json!({"name": "body", "in": "body", "schema": schema});
        if self.request.is_required() {
            body["required"] = json!(true);
        }
        Some(body)
    }

    fn responses(&self, dialect: Dialect) -> Value {
        let schema = match &self.response {
            Response::Text => json!({"type": "string"}),
            Response::Object(name) => reference(name, dialect),
        };
        let answers = self.codes.iter().map(|(code, name)| {
            let answer = match dialect {
                Dialect::V2 => json!({"description": name, "schema": schema}),
                Dialect::V3 => json!({"description": name, "content": content(self.produces, &schema)}),
            };
            ((*code).to_owned(), answer)
        });
        let mut responses: Map<String, Value> = answers.collect();
        responses.insert("401".to_owned(), json!({"description": "Unauthorized"}));
        Value::Object(responses)
    }
}

impl Request {
    fn schema(&self) -> Option<&str> {
        match self {
            Request::Nothing => None,
            Request::Object(name) => Some(name),
            Request::Patch => Some(special::PATCH),
            Request::DeleteOptions => Some(DELETE_OPTIONS),
        }
    }

    fn is_required(&self) -> bool {
        !matches!(self, Request::DeleteOptions)
    }
}

fn list(parameters: &[Parameter], kind: &str, dialect: Dialect) -> Value {
    let listed = parameters
        .iter()
        .map(|parameter| parameter.to_value(kind, dialect));
    listed.collect()
}

/// The same schema under each media type.
fn content(media_types: &[&str], schema: &Value) -> Value {
    let each = media_types
        .iter()
        .map(|media| ((*media).to_owned(), json!({"schema": schema})));
    Value::Object(each.collect())
}
