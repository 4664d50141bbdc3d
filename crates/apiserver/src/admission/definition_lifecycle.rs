//! Nothing new of a kind whose definition is being deleted.

use serde_json::Value;

use super::Operation;
use crate::{
    call::Call,
    error::{ApiError, Result},
    object,
};

pub(crate) fn check(call: &Call, operation: Operation, object: &Value) -> Result<()> {
    let is_terminating = call.kind.custom().is_some_and(|custom| custom.is_terminating());
    if operation != Operation::Create || !is_terminating {
        return Ok(());
    }
    Err(ApiError::forbidden(
        call.kind.qualified(),
        object::name(object),
        "create not allowed while custom resource definition is terminating",
    ))
}
