//! Requests held against the table of routes: parameters that there are, values they may have, bodies of the
//! right shape. Everything that is wrong is told at once.

use std::collections::{BTreeMap, HashMap};

use http::HeaderMap;
use jsonschema::{Validator, error::ValidationErrorKind};
use serde_json::{Value, json};

use crate::{
    problem::{Code, Mistake, Outcome, Problem},
    routes::{Parameter, Place, Route},
    schemas,
};

/// So many mistakes are told; whoever has made more knows enough.
const MAX_MISTAKES: usize = 50;

/// The checks of every route, made once.
pub(crate) struct Checks {
    bodies: HashMap<&'static str, Validator>,
    parameters: HashMap<(&'static str, &'static str), Validator>,
}

/// The values of a request's parameters, by name: those that were given, and defaults.
pub(crate) type Parameters = BTreeMap<&'static str, Value>;

impl Checks {
    pub(crate) fn new(routes: &[Route]) -> Self {
        let mut checks = Self {
            bodies: HashMap::new(),
            parameters: HashMap::new(),
        };
        // The schemas are constants, which a test holds against their own rules.
        let compiled = |schema: &Value| jsonschema::validator_for(schema).ok();
        for route in routes {
            for parameter in &route.parameters {
                let compiled = compiled(&parameter.schema);
                checks
                    .parameters
                    .extend(compiled.map(|validator| ((route.id, parameter.name), validator)));
            }
            let body = route
                .body
                .and_then(|name| Some((name, compiled(&schemas::standalone(name))?)));
            checks.bodies.extend(body);
        }
        checks
    }

    /// The parameters of a request.
    pub(crate) fn parameters(
        &self,
        route: &Route,
        path: Vec<(&'static str, String)>,
        query: &str,
        headers: &HeaderMap,
    ) -> Outcome<Parameters> {
        let mut mistakes = Vec::new();
        let mut given: Vec<(&Parameter, String)> = Vec::new();
        for (name, value) in path {
            given.extend(named(route, Place::Path, name).map(|parameter| (parameter, value)));
        }
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match named(route, Place::Query, &name) {
                Some(parameter) if given.iter().any(|(known, _)| known.name == parameter.name) => {
                    mistakes.push(Mistake::new(shown(parameter), "is given twice"));
                }
                Some(parameter) => given.push((parameter, value.into_owned())),
                None => mistakes.push(unknown(route, &name)),
            }
        }
        for parameter in route.parameters.iter().filter(|it| it.place == Place::Header) {
            match headers.get(parameter.name).map(http::HeaderValue::to_str) {
                Some(Ok(value)) => given.push((parameter, value.to_owned())),
                Some(Err(_)) => mistakes.push(Mistake::new(
                    shown(parameter),
                    "has characters that cannot be read",
                )),
                None => {}
            }
        }
        let mut parameters = Parameters::new();
        for (parameter, text) in given {
            let value = typed(&text, &parameter.schema["type"]);
            let check = self.parameters.get(&(route.id, parameter.name));
            match check.map(|check| check.iter_errors(&value).next()) {
                Some(Some(error)) => mistakes.push(Mistake::new(shown(parameter), wording(&error))),
                _ => drop(parameters.insert(parameter.name, value)),
            }
        }
        if !mistakes.is_empty() {
            return Err(Problem::invalid(mistakes));
        }
        for parameter in &route.parameters {
            if let Some(default) = parameter.schema.get("default") {
                parameters
                    .entry(parameter.name)
                    .or_insert_with(|| default.clone());
            }
        }
        Ok(parameters)
    }

    /// The body of a request, if it has the shape of its route's.
    pub(crate) fn body(&self, route: &Route, bytes: &[u8]) -> Outcome<Value> {
        let body: Value = serde_json::from_slice(bytes).map_err(|error| {
            let what = if bytes.is_empty() {
                "there is none".to_owned()
            } else {
                unread(&error)
            };
            Problem::new(Code::NotJson, what)
        })?;
        let check = route.body.and_then(|name| self.bodies.get(name));
        let Some(check) = check else { return Ok(body) };
        let mut mistakes = Vec::new();
        for error in check.iter_errors(&body).take(MAX_MISTAKES) {
            explain(&error, route, &mut mistakes);
        }
        if mistakes.is_empty() {
            Ok(body)
        } else {
            Err(Problem::invalid(mistakes))
        }
    }
}

/// Where a body stops being JSON. The words of the parser are about syntax and show no values.
fn unread(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    format!("line {}, column {}: {what}", error.line(), error.column())
}

fn named<'a>(route: &'a Route, place: Place, name: &str) -> Option<&'a Parameter> {
    let mut parameters = route.parameters.iter();
    parameters.find(|parameter| parameter.place == place && parameter.name == name)
}

/// A parameter as people are told of it.
fn shown(parameter: &Parameter) -> String {
    match parameter.place {
        Place::Path => format!("{{{}}}", parameter.name),
        Place::Query => format!("?{}", parameter.name),
        Place::Header => format!("{}:", parameter.name),
    }
}

fn unknown(route: &Route, name: &str) -> Mistake {
    let known = route.parameters.iter().filter(|it| it.place == Place::Query);
    let known: Vec<&str> = known.map(|parameter| parameter.name).collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.is_empty() => "there are no parameters here".to_owned(),
        None => format!("there are {}", listed(&known)),
    };
    Mistake {
        hint: Some(hint),
        ..Mistake::new(format!("?{}", clipped(name)), "is no parameter of this")
    }
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// Text that came from outside, as much of it as a message has room for.
pub(crate) fn clipped(text: &str) -> String {
    const ROOM: usize = 80;
    let mut shown: String = text
        .chars()
        .take(ROOM)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(ROOM).is_some() {
        shown.push('…');
    }
    shown
}

/// Text as the type of its parameter; as text where it is none, which the check then says.
fn typed(text: &str, kind: &Value) -> Value {
    match kind.as_str() {
        Some("integer") => match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => json!(number),
            _ => json!(text),
        },
        Some("boolean") => match text {
            "true" => json!(true),
            "false" => json!(false),
            _ => json!(text),
        },
        _ => json!(text),
    }
}

/// Says what is wrong in a place; fields that are not known and fields that are missing each on their own.
fn explain(error: &jsonschema::ValidationError<'_>, route: &Route, mistakes: &mut Vec<Mistake>) {
    let place = error.instance_path().to_string();
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let known = route.body.map(fields).unwrap_or_default();
            for name in unexpected {
                let nearest = nearest(name, known.iter().map(String::as_str));
                mistakes.push(Mistake {
                    hint: nearest.map(|nearest| format!("did you mean `{nearest}`?")),
                    ..Mistake::new(format!("{place}/{}", pointed(name)), "is not known")
                });
            }
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            mistakes.push(Mistake::new(format!("{place}/{}", pointed(name)), "is required"));
        }
        _ => mistakes.push(Mistake::new(place, wording(error))),
    }
}

/// A name as a part of a JSON pointer.
fn pointed(name: &str) -> String {
    clipped(name).replace('~', "~0").replace('/', "~1")
}

/// The fields of a body.
fn fields(schema: &str) -> Vec<String> {
    let components = schemas::components();
    let properties = components
        .get(schema)
        .and_then(|schema| schema["properties"].as_object());
    properties
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default()
}

/// The name that was probably meant; nobody mistypes a novel.
pub(crate) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let is_short = wrong.len() <= 100;
    is_short
        .then(|| manifests::spelling::nearest(wrong, known))
        .flatten()
}

/// What is wrong, without the value: it may be a secret, or large.
fn wording(error: &jsonschema::ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Type { .. } => {
            let schema = error.to_string();
            let wanted = schema.rsplit(" is not of type").next().unwrap_or_default().trim();
            format!("is not of type {}", wanted.replace('"', "`"))
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let shown: Vec<String> = options
                .iter()
                .map(|option| match option {
                    Value::String(text) => format!("`{text}`"),
                    other => format!("`{other}`"),
                })
                .collect();
            format!("is none of {}", shown.join(", "))
        }
        ValidationErrorKind::MinLength { limit: 1 } => "is empty".to_owned(),
        ValidationErrorKind::MinLength { limit } => format!("has less than {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("has more than {limit} characters"),
        ValidationErrorKind::MinItems { limit } => format!("has less than {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("has more than {limit} items"),
        ValidationErrorKind::Minimum { limit } => format!("is less than {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("is more than {limit}"),
        ValidationErrorKind::Pattern { pattern } => format!("does not match `{pattern}`"),
        _ => error.masked_with("the value").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::{self, Operation};

    fn route(operation: Operation) -> (Checks, Route) {
        let routes = routes::table();
        let checks = Checks::new(&routes);
        let route = routes
            .into_iter()
            .find(|route| route.operation == operation)
            .unwrap();
        (checks, route)
    }

    fn list(query: &str) -> Outcome<Parameters> {
        let (checks, route) = route(Operation::ListTasks);
        checks.parameters(&route, Vec::new(), query, &HeaderMap::new())
    }

    fn define(body: &str) -> Outcome<Value> {
        let (checks, route) = route(Operation::CreateDefinition);
        checks.body(&route, body.as_bytes())
    }

    fn told(problem: &Problem) -> Vec<String> {
        problem
            .errors
            .iter()
            .map(|mistake| {
                let hint = mistake.hint.as_deref().unwrap_or_default();
                format!("{} {} {hint}", mistake.pointer, mistake.detail)
                    .trim_end()
                    .to_owned()
            })
            .collect()
    }

    #[test]
    fn parameters_have_their_types_and_defaults() {
        let parameters = list("limit=7&phase=Running&namespace=*").unwrap();
        assert_eq!(parameters["limit"], 7);
        assert_eq!(parameters["phase"], "Running");
        assert_eq!(list("").unwrap()["limit"], 50);
    }

    #[test]
    fn everything_that_is_wrong_with_parameters_is_told_at_once() {
        let problem = list("limit=0&limt=3&phase=running&namespace=A_b&creator=").unwrap_err();
        assert_eq!(
            told(&problem),
            [
                "?limt is no parameter of this did you mean `limit`?",
                "?limit is less than 1",
                "?phase is none of `Pending`, `Running`, `Succeeded`, `Failed`, `Cancelled`",
                "?namespace does not match `^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?|\\*)$`",
                "?creator is empty",
            ]
        );
        for wrong in ["limit=+1", "limit=01", "limit=x", "limit=1&limit=1"] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_body_says_every_field_that_is_wrong_and_shows_no_value() {
        let problem = define(
            r#"{"nmae": "x", "task_template_name": 5, "append_uuid": "s3cret", "system_values": null}"#,
        )
        .unwrap_err();
        let mut told = told(&problem);
        told.sort();
        assert_eq!(
            told,
            [
                "/append_uuid is none of `0`, `1`, `true`, `false`",
                "/name is required",
                "/nmae is not known did you mean `name`?",
                "/system_values is not of type `string`",
                "/task_template_name is not of type `string`",
            ]
        );
        assert!(!format!("{problem:?}").contains("s3cret"));
    }

    #[test]
    fn what_is_not_json_says_where() {
        let problem = define("{\n  \"name\": x}").unwrap_err();
        assert_eq!(
            (problem.code, problem.detail.as_str()),
            (Code::NotJson, "line 2, column 11: expected value")
        );
        assert_eq!(define("").unwrap_err().detail, "there is none");
        assert_eq!(define("[]").unwrap_err().code, Code::Invalid);
    }

    #[test]
    fn the_definition_of_the_original_service_is_right() {
        let body = json!({
            "creator": "admin", "name": "mnist_softmax_cpu", "task_template_name": "non-distributed-task",
            "description": "d", "user_values_description": "a: (Required) b\r\n", "system_values": "image: {}",
            "user_values_example": "a: 1", "application": "Production", "append_uuid": 0,
        });
        assert!(define(&body.to_string()).is_ok());
    }
}
