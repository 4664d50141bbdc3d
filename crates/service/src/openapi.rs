//! The OpenAPI document, written from the table of routes.

use serde_json::{Map, Value, json};

use crate::{
    routes::{Access, Content, Operation, Parameter, Place, Route},
    schemas,
};

/// The whole document.
pub(crate) fn document(routes: &[Route]) -> Value {
    let mut paths = Map::new();
    for route in routes {
        let methods = paths.entry(route.path).or_insert_with(|| json!({}));
        methods[route.method.as_str().to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Trainyard task service",
            "version": "1",
            "summary": "Templates, definitions and tasks over HTTP",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas::components(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "tags": [tag(route.path)],
        "responses": responses(route),
    });
    if !route.parameters.is_empty() {
        operation["parameters"] = route.parameters.iter().map(parameter).collect();
    }
    if let Some(schema) = route.body {
        operation["requestBody"] = json!({
            "required": true,
            "content": {"application/json": {"schema": schemas::reference(schema)}},
        });
    }
    if route.access == Access::Open {
        operation["security"] = json!([]);
    }
    if let Some(links) = links(route.operation) {
        operation["responses"]["201"]["links"] = links;
    }
    operation
}

fn tag(path: &str) -> &str {
    let part = path.strip_prefix("/v1/").unwrap_or("service");
    part.split(['/', ':']).next().unwrap_or(part)
}

fn parameter(parameter: &Parameter) -> Value {
    let place = match parameter.place {
        Place::Path => "path",
        Place::Query => "query",
        Place::Header => "header",
    };
    json!({
        "name": parameter.name,
        "in": place,
        "required": parameter.is_required,
        "description": parameter.description,
        "schema": parameter.schema,
    })
}

fn responses(route: &Route) -> Value {
    let mut responses = Map::new();
    for (status, content) in &route.answers {
        let mut response = json!({
            "description": status.canonical_reason().unwrap_or_default(),
            "headers": headers(route, status.as_u16()),
        });
        let json_of = |name: &str| json!({"schema": schemas::reference(name)});
        let text = json!({"schema": {"type": "string"}});
        let bodies = match content {
            Content::Nothing => None,
            Content::Json(name) => Some(json!({"application/json": json_of(name)})),
            Content::JsonOrEvents(name) => {
                Some(json!({"application/json": json_of(name), "text/event-stream": text}))
            }
            Content::TextOrEvents => Some(json!({"text/plain": text, "text/event-stream": text})),
            Content::Text => Some(json!({"text/plain": text})),
        };
        if let Some(bodies) = bodies {
            response["content"] = bodies;
        }
        responses.insert(status.as_str().to_owned(), response);
    }
    for status in problems(route) {
        let status = http::StatusCode::from_u16(status).unwrap_or_default();
        let mut response = json!({
            "description": status.canonical_reason().unwrap_or_default(),
            "content": {"application/problem+json": {"schema": schemas::reference("Problem")}},
        });
        if matches!(status.as_u16(), 429 | 503) {
            response["headers"] = json!({"Retry-After": {
                "description": "After so many seconds it may work",
                "schema": {"type": "integer", "minimum": 1},
            }});
        }
        responses.insert(status.as_str().to_owned(), response);
    }
    responses.into()
}

/// What can go wrong with a request: what its route says, and what can with each.
fn problems(route: &Route) -> Vec<u16> {
    let mut all = route.problems.clone();
    if !matches!(route.operation, Operation::Health | Operation::Ready) {
        all.extend([429, 503]);
    }
    if route.access != Access::Open {
        all.extend([401]);
    }
    if matches!(route.access, Access::Right(_)) {
        all.extend([403]);
    }
    // Parameters that are not what they should be, or that there are none of.
    all.extend([406, 422]);
    all.sort_unstable();
    all.dedup();
    all
}

fn headers(route: &Route, status: u16) -> Value {
    let text = |description: &str| json!({"description": description, "schema": {"type": "string"}});
    let mut headers = json!({"X-Request-ID": text("The request, as the logs know it")});
    let creates = status == 201 || status == 202;
    if creates && route.operation != Operation::CreateToken {
        headers["Location"] = text("Where it is");
    }
    if status == 200
        && route
            .parameters
            .iter()
            .any(|parameter| parameter.name == "cursor")
    {
        headers["Link"] = text("Where the pages beside this one are: `next`, `prev`, `first` (RFC 8288)");
    }
    let has_version = matches!(
        route.operation,
        Operation::GetTemplate
            | Operation::CreateTemplate
            | Operation::ReplaceTemplate
            | Operation::GetDefinition
            | Operation::CreateDefinition
            | Operation::ReplaceDefinition
            | Operation::GetTask
            | Operation::CreateTask
    );
    if has_version && status != 204 {
        headers["ETag"] = text("The version");
    }
    headers
}

/// Which operations go on from what was just made.
fn links(operation: Operation) -> Option<Value> {
    let named = |ids: &[&str], parameter: &str, value: &str| -> Value {
        ids.iter()
            .map(|id| {
                (
                    (*id).to_owned(),
                    json!({"operationId": id, "parameters": {parameter: value}}),
                )
            })
            .collect::<Map<_, _>>()
            .into()
    };
    match operation {
        Operation::CreateTemplate => Some(named(
            &[
                "getTemplate",
                "replaceTemplate",
                "deleteTemplate",
                "renderTemplate",
            ],
            "template",
            "$response.body#/name",
        )),
        Operation::CreateDefinition => Some(named(
            &[
                "getDefinition",
                "replaceDefinition",
                "deleteDefinition",
                "getDefinitionSchema",
                "getDefinitionForm",
            ],
            "definition",
            "$response.body#/name",
        )),
        Operation::CreateTask => Some(named(
            &[
                "getTask",
                "getTaskStatus",
                "getTaskEvents",
                "getTaskLogs",
                "cancelTask",
                "deleteTask",
                "retryTask",
            ],
            "task",
            "$response.body#/name",
        )),
        Operation::CreateToken => Some(named(&["getToken", "deleteToken"], "token", "$response.body#/id")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes;

    #[test]
    fn every_operation_is_described() {
        let document = document(&routes::table());
        assert_eq!(document["openapi"], "3.1.0");
        let create = &document["paths"]["/v1/tasks"]["post"];
        assert_eq!(create["operationId"], "createTask");
        for status in ["200", "201", "400", "401", "403", "413", "415", "422", "429"] {
            assert!(create["responses"][status].is_object(), "{status}");
        }
        assert_eq!(document["paths"]["/healthz"]["get"]["security"], json!([]));
        let operations = document["paths"].as_object().unwrap().values();
        let count: usize = operations.map(|methods| methods.as_object().unwrap().len()).sum();
        assert_eq!(count, routes::table().len());
    }
}
