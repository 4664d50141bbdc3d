//! Every operation of the service, once: where it is, who may, what it takes and what it answers. Requests are
//! matched, checked and let through by this table, and the OpenAPI document is written from it.

mod parameters;

use http::{Method, StatusCode};

use crate::roles::{Resource, Right, Verb, right};

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
    use Access::{Known, Open};
    use Content::{Json, JsonOrEvents, Nothing, Text, TextOrEvents};
    use Operation as Op;
    use Resource::{Audit, Definitions, Deliveries, Logs, NodeGroups, Tasks, Templates, Tokens};
    use Verb::{Create, Delete, Get, List, Update};
    use parameters as p;

    let may = |verb, resource| Access::Right(right(verb, resource));
    let row = |operation, id, method, path, access, summary| Route {
        operation,
        id,
        method,
        path,
        access,
        summary,
        parameters: p::of_path(path),
        body: None,
        answers: Vec::new(),
        problems: Vec::new(),
    };
    let (get, post, put, delete) = (Method::GET, Method::POST, Method::PUT, Method::DELETE);
    vec![
        row(
            Op::OpenApi,
            "getOpenApi",
            get.clone(),
            "/openapi.json",
            Open,
            "This document",
        )
        .answers(200, Json("Any")),
        row(
            Op::Health,
            "getHealth",
            get.clone(),
            "/healthz",
            Open,
            "Whether the process lives",
        )
        .answers(200, Text),
        row(
            Op::Ready,
            "getReadiness",
            get.clone(),
            "/readyz",
            Open,
            "Whether requests can be answered",
        )
        .answers(200, Text)
        .fails(&[503]),
        row(
            Op::WhoAmI,
            "whoAmI",
            get.clone(),
            "/v1/whoami",
            Known,
            "Who the token is of, and what it may",
        )
        .answers(200, Json("Identity")),
        // Templates.
        row(
            Op::ListTemplates,
            "listTemplates",
            get.clone(),
            "/v1/templates",
            may(List, Templates),
            "List templates",
        )
        .pages("TemplatePage"),
        row(
            Op::CreateTemplate,
            "createTemplate",
            post.clone(),
            "/v1/templates",
            may(Create, Templates),
            "Publish a template",
        )
        .creates("TemplateInput", "Template"),
        row(
            Op::CheckTemplate,
            "checkTemplate",
            post.clone(),
            "/v1/templates:check",
            may(List, Templates),
            "Say what is wrong with a template, without publishing it",
        )
        .takes_body("TemplateInput")
        .answers(200, Json("TemplateCheck")),
        row(
            Op::GetTemplate,
            "getTemplate",
            get.clone(),
            "/v1/templates/{template}",
            may(Get, Templates),
            "Show a template",
        )
        .with(p::if_none_match())
        .answers(200, Json("Template"))
        .answers(304, Nothing)
        .fails(&[404]),
        row(
            Op::ReplaceTemplate,
            "replaceTemplate",
            put.clone(),
            "/v1/templates/{template}",
            may(Update, Templates),
            "Publish a new version of a template; tasks that were submitted keep theirs",
        )
        .replaces("TemplateInput", "Template"),
        row(
            Op::DeleteTemplate,
            "deleteTemplate",
            delete.clone(),
            "/v1/templates/{template}",
            may(Delete, Templates),
            "Delete a template that no definition uses and no template includes",
        )
        .with(p::if_match(false))
        .answers(204, Nothing)
        .fails(&[404, 409, 412]),
        row(
            Op::RenderTemplate,
            "renderTemplate",
            post.clone(),
            "/v1/templates/{template}/render",
            may(Get, Templates),
            "Show what a template makes of values, and where a mistake is",
        )
        .with(p::namespace())
        .takes_body("RenderInput")
        .answers(200, Json("Rendering"))
        .fails(&[404]),
        // Definitions.
        row(
            Op::ListDefinitions,
            "listDefinitions",
            get.clone(),
            "/v1/definitions",
            may(List, Definitions),
            "List definitions",
        )
        .with(p::namespace_or_all())
        .with(p::filter("template", "Those of this template"))
        .pages("DefinitionPage"),
        row(
            Op::CreateDefinition,
            "createDefinition",
            post.clone(),
            "/v1/definitions",
            may(Create, Definitions),
            "Register a definition",
        )
        .with(p::namespace())
        .creates("DefinitionInput", "Definition")
        .fails(&[404]),
        row(
            Op::GetDefinition,
            "getDefinition",
            get.clone(),
            "/v1/definitions/{definition}",
            may(Get, Definitions),
            "Show a definition",
        )
        .with(p::namespace())
        .with(p::if_none_match())
        .answers(200, Json("Definition"))
        .answers(304, Nothing)
        .fails(&[404]),
        row(
            Op::ReplaceDefinition,
            "replaceDefinition",
            put,
            "/v1/definitions/{definition}",
            may(Update, Definitions),
            "Change a definition; tasks that were submitted keep theirs",
        )
        .with(p::namespace())
        .replaces("DefinitionInput", "Definition"),
        row(
            Op::DeleteDefinition,
            "deleteDefinition",
            delete.clone(),
            "/v1/definitions/{definition}",
            may(Delete, Definitions),
            "Delete a definition",
        )
        .with(p::namespace())
        .with(p::if_match(false))
        .answers(204, Nothing)
        .fails(&[404, 409, 412]),
        row(
            Op::GetSchema,
            "getDefinitionSchema",
            get.clone(),
            "/v1/definitions/{definition}/schema",
            may(Get, Definitions),
            "The JSON Schema of a definition's values",
        )
        .with(p::namespace())
        .answers(200, Json("Any"))
        .fails(&[404, 422]),
        row(
            Op::GetForm,
            "getDefinitionForm",
            get.clone(),
            "/v1/definitions/{definition}/form",
            may(Get, Definitions),
            "A form for a definition's values, as user interfaces show it",
        )
        .with(p::namespace())
        .answers(200, Json("Form"))
        .fails(&[404, 422]),
        // Tasks.
        row(
            Op::ListTasks,
            "listTasks",
            get.clone(),
            "/v1/tasks",
            may(List, Tasks),
            "List tasks, the latest first",
        )
        .with(p::namespace_or_all())
        .with(p::phase())
        .with(p::filter("task_def", "Those of this definition"))
        .with(p::filter("creator", "Those of this person"))
        .pages("TaskPage"),
        row(
            Op::CreateTask,
            "createTask",
            post.clone(),
            "/v1/tasks",
            may(Create, Tasks),
            "Submit filled values; `taskDef` names the definition",
        )
        .with(p::namespace())
        .with(p::idempotency_key())
        .with(p::ttl())
        .with(p::claims())
        .takes_body("TaskInput")
        .with(p::dry_run())
        .answers(200, Json("TaskPreview"))
        .answers(201, Json("Task"))
        .fails(&[404, 409, 410]),
        row(
            Op::GetTask,
            "getTask",
            get.clone(),
            "/v1/tasks/{task}",
            may(Get, Tasks),
            "Show a task",
        )
        .with(p::namespace())
        .with(p::if_none_match())
        .answers(200, Json("Task"))
        .answers(304, Nothing)
        .fails(&[404]),
        row(
            Op::DeleteTask,
            "deleteTask",
            delete.clone(),
            "/v1/tasks/{task}",
            may(Delete, Tasks),
            "Delete a task and what it has made",
        )
        .with(p::namespace())
        .with(p::claims())
        .with(p::if_match(false))
        .answers(202, Json("Task"))
        .answers(204, Nothing)
        .fails(&[404, 412]),
        row(
            Op::CancelTask,
            "cancelTask",
            post.clone(),
            "/v1/tasks/{task}:cancel",
            may(Update, Tasks),
            "End a task; what it runs is stopped",
        )
        .with(p::namespace())
        .answers(202, Json("Task"))
        .fails(&[404, 409, 412]),
        row(
            Op::RetryTask,
            "retryTask",
            post.clone(),
            "/v1/tasks/{task}:retry",
            may(Update, Tasks),
            "Run a task that has ended once more, as it was submitted",
        )
        .with(p::namespace())
        .answers(202, Json("Task"))
        .fails(&[404, 409, 412]),
        row(
            Op::GetStatus,
            "getTaskStatus",
            get.clone(),
            "/v1/tasks/{task}/status",
            may(Get, Tasks),
            "The state of a task, or a stream of its states until it has ended",
        )
        .with(p::namespace())
        .with(p::last_event_id())
        .answers(200, JsonOrEvents("TaskState"))
        .fails(&[404]),
        row(
            Op::GetEvents,
            "getTaskEvents",
            get.clone(),
            "/v1/tasks/{task}/events",
            may(Get, Tasks),
            "What has happened to a task, or a stream of it until it has ended",
        )
        .with(p::namespace())
        .with(p::last_event_id())
        .answers(200, JsonOrEvents("TaskEvents"))
        .fails(&[404]),
        row(
            Op::GetLogs,
            "getTaskLogs",
            get.clone(),
            "/v1/tasks/{task}/logs",
            may(Get, Logs),
            "What a task has printed, or a stream of it until it has ended",
        )
        .with(p::namespace())
        .with(p::attempt())
        .with(p::tail())
        .with(p::last_event_id())
        .answers(200, TextOrEvents)
        .fails(&[404]),
        // Deliveries.
        row(
            Op::ListDeliveries,
            "listDeliveries",
            get.clone(),
            "/v1/deliveries",
            may(List, Deliveries),
            "List callbacks, the latest first",
        )
        .with(p::namespace_or_all())
        .with(p::filter("task", "Those of this task"))
        .with(p::delivery_phase())
        .pages("DeliveryPage"),
        row(
            Op::GetDelivery,
            "getDelivery",
            get.clone(),
            "/v1/deliveries/{delivery}",
            may(Get, Deliveries),
            "Show a callback and every attempt to deliver it",
        )
        .with(p::namespace())
        .answers(200, Json("Delivery"))
        .fails(&[404]),
        row(
            Op::ReplayDelivery,
            "replayDelivery",
            post.clone(),
            "/v1/deliveries/{delivery}:replay",
            may(Update, Deliveries),
            "Deliver a callback once more",
        )
        .with(p::namespace())
        .answers(202, Json("Delivery"))
        .fails(&[404, 409, 412]),
        row(
            Op::GetSigningKey,
            "getSigningKey",
            get.clone(),
            "/v1/signing-key",
            may(Create, Tasks),
            "What receivers check the signatures of a namespace's callbacks with",
        )
        .with(p::namespace())
        .answers(200, Json("SigningKey"))
        .fails(&[404]),
        row(
            Op::ListNodeGroups,
            "listNodeGroups",
            get.clone(),
            "/v1/node-groups",
            may(List, NodeGroups),
            "List groups of nodes that tasks wait for",
        )
        .pages("NodeGroupPage"),
        // Tokens and what was done with them.
        row(
            Op::ListTokens,
            "listTokens",
            get.clone(),
            "/v1/tokens",
            may(List, Tokens),
            "List tokens, without their text",
        )
        .with(p::namespace_or_all())
        .pages("TokenPage"),
        row(
            Op::CreateToken,
            "createToken",
            post,
            "/v1/tokens",
            may(Create, Tokens),
            "Make a token; its text is in this answer and nowhere else",
        )
        .takes_body("TokenInput")
        .with(p::dry_run())
        .answers(200, Json("Token"))
        .answers(201, Json("NewToken")),
        row(
            Op::GetToken,
            "getToken",
            get.clone(),
            "/v1/tokens/{token}",
            may(Get, Tokens),
            "Show a token, without its text",
        )
        .answers(200, Json("Token"))
        .fails(&[404]),
        row(
            Op::DeleteToken,
            "deleteToken",
            delete,
            "/v1/tokens/{token}",
            may(Delete, Tokens),
            "Revoke a token",
        )
        .answers(204, Nothing)
        .fails(&[404]),
        row(
            Op::ListAudit,
            "listAudit",
            get,
            "/v1/audit",
            may(List, Audit),
            "List every change, the latest first",
        )
        .with(p::namespace_or_all())
        .pages("AuditPage"),
    ]
}

impl Route {
    fn with(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    fn answers(mut self, status: u16, content: Content) -> Self {
        self.answers
            .push((StatusCode::from_u16(status).unwrap_or_default(), content));
        self
    }

    fn fails(mut self, statuses: &[u16]) -> Self {
        self.problems.extend(statuses);
        self
    }

    fn takes_body(mut self, schema: &'static str) -> Self {
        self.body = Some(schema);
        self.fails(&[400, 408, 413, 415, 422])
    }

    fn pages(self, schema: &'static str) -> Self {
        self.with(parameters::limit())
            .with(parameters::cursor())
            .answers(200, Content::Json(schema))
    }

    fn creates(self, input: &'static str, output: &'static str) -> Self {
        self.takes_body(input)
            .with(parameters::dry_run())
            .answers(200, Content::Json(output))
            .answers(201, Content::Json(output))
            .fails(&[409])
    }

    fn replaces(self, input: &'static str, output: &'static str) -> Self {
        self.takes_body(input)
            .with(parameters::if_match(true))
            .with(parameters::dry_run())
            .answers(200, Content::Json(output))
            .fails(&[404, 409, 412, 428])
    }
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
