//! There is one class for the pods that name none.

use kinds::read::flag;
use serde_json::Value;

use super::pod_defaults::default_class;
use crate::{
    call::Call,
    error::{ApiError, Result},
    object,
};

pub(crate) fn check(call: &Call, class: &Value) -> Result<()> {
    if !call.kind.is("scheduling.k8s.io", "PriorityClass") || !flag(class, "globalDefault") {
        return Ok(());
    }
    let name = object::name(class);
    match default_class(call)? {
        Some(other) if object::name(&other) != name => {
            let why = format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                object::name(&other)
            );
            Err(ApiError::forbidden(call.kind.qualified(), name, &why))
        }
        _ => Ok(()),
    }
}
