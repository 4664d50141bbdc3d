//! `/v1/definitions`.

use http::Method;

use super::{
    Content::{Json, Nothing},
    Operation as Op, Route, parameters as p,
    row::{may, row},
};
use crate::roles::{
    Resource::Definitions,
    Verb::{Create, Delete, Get, List, Update},
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        row(
            Op::ListDefinitions,
            "listDefinitions",
            Method::GET,
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
            Method::POST,
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
            Method::GET,
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
            Method::PUT,
            "/v1/definitions/{definition}",
            may(Update, Definitions),
            "Change a definition; tasks that were submitted keep theirs",
        )
        .with(p::namespace())
        .replaces("DefinitionInput", "Definition"),
        row(
            Op::DeleteDefinition,
            "deleteDefinition",
            Method::DELETE,
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
            Method::GET,
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
            Method::GET,
            "/v1/definitions/{definition}/form",
            may(Get, Definitions),
            "A form for a definition's values, as user interfaces show it",
        )
        .with(p::namespace())
        .answers(200, Json("Form"))
        .fails(&[404, 422]),
    ]
}
