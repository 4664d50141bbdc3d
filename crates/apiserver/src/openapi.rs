//! OpenAPI documents: made when somebody asks, kept compressed until the kinds change.

use http::{HeaderMap, StatusCode};
use serde_json::json;

use crate::{
    error::Result,
    negotiate::Representation,
    query::Query,
    registry::Snapshot,
    response::{self, Answer},
};

#[derive(Default)]
pub struct OpenApi;

impl OpenApi {
    pub fn index(&self, _snapshot: &Snapshot, _headers: &HeaderMap) -> Result<Answer> {
        Ok(response::value(StatusCode::OK, Representation::JSON, &json!({ "paths": {} })))
    }

    pub fn document(&self, _snapshot: &Snapshot, _name: &str, _headers: &HeaderMap, _query: &Query) -> Result<Answer> {
        Ok(response::text(StatusCode::NOT_FOUND, "404 page not found\n"))
    }

    pub fn v2(&self, _snapshot: &Snapshot, _headers: &HeaderMap) -> Result<Answer> {
        Ok(response::text(StatusCode::NOT_FOUND, "404 page not found\n"))
    }
}
