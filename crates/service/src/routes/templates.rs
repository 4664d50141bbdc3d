//! `/v1/templates`.

use http::Method;

use super::{
    Content::{Json, Nothing},
    Operation as Op, Route, parameters as p,
    row::{may, row},
};
use crate::roles::{
    Resource::Templates,
    Verb::{Create, Delete, Get, List, Update},
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        row(
            Op::ListTemplates,
            "listTemplates",
            Method::GET,
            "/v1/templates",
            may(List, Templates),
            "List templates",
        )
        .pages("TemplatePage"),
        row(
            Op::CreateTemplate,
            "createTemplate",
            Method::POST,
            "/v1/templates",
            may(Create, Templates),
            "Publish a template",
        )
        .creates("TemplateInput", "Template"),
        row(
            Op::CheckTemplate,
            "checkTemplate",
            Method::POST,
            "/v1/templates:check",
            may(List, Templates),
            "Say what is wrong with a template, without publishing it",
        )
        .takes_body("TemplateInput")
        .answers(200, Json("TemplateCheck")),
        row(
            Op::GetTemplate,
            "getTemplate",
            Method::GET,
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
            Method::PUT,
            "/v1/templates/{template}",
            may(Update, Templates),
            "Publish a new version of a template; tasks that were submitted keep theirs",
        )
        .replaces("TemplateInput", "Template"),
        row(
            Op::DeleteTemplate,
            "deleteTemplate",
            Method::DELETE,
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
            Method::POST,
            "/v1/templates/{template}/render",
            may(Get, Templates),
            "Show what a template makes of values, and where a mistake is",
        )
        .with(p::namespace())
        .takes_body("RenderInput")
        .answers(200, Json("Rendering"))
        .fails(&[404]),
    ]
}
