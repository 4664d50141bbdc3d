//! What the service says of itself, and to whoever asks who they are.

use http::Method;

use super::{
    Access::{Known, Open},
    Content::{Json, Text},
    Operation as Op, Route,
    row::row,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        row(
            Op::OpenApi,
            "getOpenApi",
            Method::GET,
            "/openapi.json",
            Open,
            "This document",
        )
        .answers(200, Json("Any")),
        row(
            Op::Health,
            "getHealth",
            Method::GET,
            "/healthz",
            Open,
            "Whether the process lives",
        )
        .answers(200, Text),
        row(
            Op::Ready,
            "getReadiness",
            Method::GET,
            "/readyz",
            Open,
            "Whether requests can be answered",
        )
        .answers(200, Text)
        .fails(&[503]),
        row(
            Op::WhoAmI,
            "whoAmI",
            Method::GET,
            "/v1/whoami",
            Known,
            "Who the token is of, and what it may",
        )
        .answers(200, Json("Identity")),
    ]
}
