//! Every operation of the service, once: where it is, who may, what it takes and what it answers. Requests are
//! matched, checked and let through by this table, and the OpenAPI document is written from it.

mod definitions;
mod deliveries;
mod parameters;
mod row;
mod service;
mod tasks;
mod templates;
mod tokens;

use http::{Method, StatusCode};

use crate::roles::Right;

pub(crate) use parameters::{Parameter, Place};

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    OpenApi,
    Health,
    Ready,
    WhoAmI,
    ListTemplates,
    CreateTemplate,
    GetTemplate,
    ReplaceTemplate,
    DeleteTemplate,
    RenderTemplate,
    CheckTemplate,
    ListDefinitions,
    CreateDefinition,
    GetDefinition,
    ReplaceDefinition,
    DeleteDefinition,
    GetSchema,
    GetForm,
    ListTasks,
    CreateTask,
    GetTask,
    DeleteTask,
    CancelTask,
    RetryTask,
    GetStatus,
    GetEvents,
    GetLogs,
    ListDeliveries,
    GetDelivery,
    ReplayDelivery,
    GetSigningKey,
    ListNodeGroups,
    ListTokens,
    CreateToken,
    GetToken,
    DeleteToken,
    ListAudit,
}

/// What comes back when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Nothing,
    /// JSON of this schema.
    Json(&'static str),
    /// The same, or as a stream of events for whoever asks for one.
    JsonOrEvents(&'static str),
    /// Text, or a stream of events.
    TextOrEvents,
    Text,
}

/// Who may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody, also without a token.
    Open,
    /// Everybody with a token.
    Known,
    Right(Right),
}

impl Access {
    pub(crate) fn right(self) -> Option<Right> {
        match self {
            Self::Open | Self::Known => None,
            Self::Right(right) => Some(right),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) operation: Operation,
    pub(crate) id: &'static str,
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) summary: &'static str,
    pub(crate) parameters: Vec<Parameter>,
    /// The schema of the body.
    pub(crate) body: Option<&'static str>,
    pub(crate) answers: Vec<(StatusCode, Content)>,
    /// What can go wrong, beside what can with every request.
    pub(crate) problems: Vec<u16>,
}

impl Route {
    pub(crate) fn changes(&self) -> bool {
        self.method != Method::GET
    }

    pub(crate) fn streams(&self) -> bool {
        let is_stream =
            |content: &Content| matches!(content, Content::JsonOrEvents(_) | Content::TextOrEvents);
        self.answers.iter().any(|(_, content)| is_stream(content))
    }

    /// The values of the path's parameters, if the path is this one's.
    fn matches(&self, path: &str) -> Option<Vec<(&'static str, String)>> {
        let (mut ours, mut theirs) = (self.path.split('/'), path.split('/'));
        let mut values = Vec::new();
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) => return Some(values),
                (Some(ours), Some(theirs)) => match ours.strip_prefix('{') {
                    None if ours == theirs => {}
                    None => return None,
                    Some(parameter) => {
                        let (name, action) = parameter.split_once('}')?;
                        let value = theirs.strip_suffix(action)?;
                        // Without an action of its own, a name with a colon in it would take the place of one.
                        if value.is_empty() || (action.is_empty() && value.contains(':')) {
                            return None;
                        }
                        let decoded = percent_encoding::percent_decode_str(value).decode_utf8().ok()?;
                        values.push((name, decoded.into_owned()));
                    }
                },
                _ => return None,
            }
        }
    }
}

/// What a request is about.
pub(crate) enum Match<'a> {
    Route(&'a Route, Vec<(&'static str, String)>),
    /// There is something, but not for this method.
    Methods(Vec<&'a Method>),
    Nothing,
}

/// Finds the operation a request asks for.
pub(crate) fn find<'a>(routes: &'a [Route], method: &Method, path: &str) -> Match<'a> {
    let mut methods = Vec::new();
    for route in routes {
        let Some(values) = route.matches(path) else {
            continue;
        };
        if route.method == *method || (method == Method::HEAD && route.method == Method::GET) {
            return Match::Route(route, values);
        }
        methods.push(&route.method);
    }
    if methods.is_empty() {
        Match::Nothing
    } else {
        Match::Methods(methods)
    }
}

/// The table.
pub(crate) fn table() -> Vec<Route> {
    let all = [
        service::routes(),
        templates::routes(),
        definitions::routes(),
        tasks::routes(),
        deliveries::routes(),
        tokens::routes(),
    ];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[track_caller]
    fn check(method: &Method, path: &str, expected: Option<(&str, &[&str])>) {
        let table = table();
        let found = match find(&table, method, path) {
            Match::Route(route, values) => Some((route.id, values)),
            _ => None,
        };
        let found =
            found.map(|(id, values)| (id, values.into_iter().map(|(_, value)| value).collect::<Vec<_>>()));
        let expected =
            expected.map(|(id, values)| (id, values.iter().map(|value| (*value).to_owned()).collect()));
        assert_eq!(found, expected, "{method} {path}");
    }

    #[test]
    fn paths_lead_to_operations() {
        check(&Method::POST, "/v1/tasks", Some(("createTask", &[])));
        check(&Method::GET, "/v1/tasks/a-1", Some(("getTask", &["a-1"])));
        check(&Method::HEAD, "/v1/tasks/a-1", Some(("getTask", &["a-1"])));
        check(
            &Method::POST,
            "/v1/tasks/a-1:cancel",
            Some(("cancelTask", &["a-1"])),
        );
        check(
            &Method::GET,
            "/v1/tasks/a-1/logs",
            Some(("getTaskLogs", &["a-1"])),
        );
        check(
            &Method::GET,
            "/v1/definitions/a%20b%2Fc/form",
            Some(("getDefinitionForm", &["a b/c"])),
        );
        check(&Method::POST, "/v1/templates:check", Some(("checkTemplate", &[])));
        for path in [
            "/",
            "/v1",
            "/v1/tasks/",
            "/v1/tasks//logs",
            "/v1/tasks/a/b/c",
            "/v1/tasks/%ff",
            "/v1/tasks/a:b",
        ] {
            check(&Method::GET, path, None);
        }
    }

    #[test]
    fn a_method_that_is_not_there_says_which_are() {
        let table = table();
        let Match::Methods(methods) = find(&table, &Method::PATCH, "/v1/templates/a") else {
            panic!("found")
        };
        assert_eq!(methods, [&Method::GET, &Method::PUT, &Method::DELETE]);
    }

    #[test]
    fn every_operation_is_in_the_table_once() {
        let table = table();
        let operations: BTreeSet<String> = table
            .iter()
            .map(|route| format!("{:?}", route.operation))
            .collect();
        let ids: BTreeSet<&str> = table.iter().map(|route| route.id).collect();
        assert_eq!((operations.len(), ids.len()), (table.len(), table.len()));
    }
}
