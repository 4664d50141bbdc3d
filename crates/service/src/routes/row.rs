//! How a row of the table is written.

use http::{Method, StatusCode};

use super::{Access, Content, Operation, Parameter, Route, parameters};
use crate::roles::{Resource, Verb, right};

pub(super) fn row(
    operation: Operation,
    id: &'static str,
    method: Method,
    path: &'static str,
    access: Access,
    summary: &'static str,
) -> Route {
    Route {
        operation,
        id,
        method,
        path,
        access,
        summary,
        parameters: parameters::of_path(path),
        body: None,
        answers: Vec::new(),
        problems: Vec::new(),
    }
}

pub(super) fn may(verb: Verb, resource: Resource) -> Access {
    Access::Right(right(verb, resource))
}

impl Route {
    pub(super) fn with(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    pub(super) fn answers(mut self, status: u16, content: Content) -> Self {
        self.answers
            .push((StatusCode::from_u16(status).unwrap_or_default(), content));
        self
    }

    pub(super) fn fails(mut self, statuses: &[u16]) -> Self {
        self.problems.extend(statuses);
        self
    }

    pub(super) fn takes_body(mut self, schema: &'static str) -> Self {
        self.body = Some(schema);
        self.fails(&[400, 408, 413, 415, 422])
    }

    pub(super) fn pages(self, schema: &'static str) -> Self {
        self.with(parameters::limit())
            .with(parameters::cursor())
            .answers(200, Content::Json(schema))
    }

    pub(super) fn creates(self, input: &'static str, output: &'static str) -> Self {
        self.takes_body(input)
            .with(parameters::dry_run())
            .answers(200, Content::Json(output))
            .answers(201, Content::Json(output))
            .fails(&[409])
    }

    pub(super) fn replaces(self, input: &'static str, output: &'static str) -> Self {
        self.takes_body(input)
            .with(parameters::if_match(true))
            .with(parameters::dry_run())
            .answers(200, Content::Json(output))
            .fails(&[404, 409, 412, 428])
    }
}
