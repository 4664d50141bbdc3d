//! `/v1/tokens`, and `/v1/audit`: what was done with them.

use http::Method;

use super::{
    Content::{Json, Nothing},
    Operation as Op, Route, parameters as p,
    row::{may, row},
};
use crate::roles::{
    Resource::{Audit, Tokens},
    Verb::{Create, Delete, Get, List},
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        row(
            Op::ListTokens,
            "listTokens",
            Method::GET,
            "/v1/tokens",
            may(List, Tokens),
            "List tokens, without their text",
        )
        .with(p::namespace_or_all())
        .pages("TokenPage"),
        row(
            Op::CreateToken,
            "createToken",
            Method::POST,
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
            Method::GET,
            "/v1/tokens/{token}",
            may(Get, Tokens),
            "Show a token, without its text",
        )
        .answers(200, Json("Token"))
        .fails(&[404]),
        row(
            Op::DeleteToken,
            "deleteToken",
            Method::DELETE,
            "/v1/tokens/{token}",
            may(Delete, Tokens),
            "Revoke a token",
        )
        .answers(204, Nothing)
        .fails(&[404]),
        row(
            Op::ListAudit,
            "listAudit",
            Method::GET,
            "/v1/audit",
            may(List, Audit),
            "List every change, the latest first",
        )
        .with(p::namespace_or_all())
        .pages("AuditPage"),
    ]
}
