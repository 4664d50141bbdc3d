//! The namespace a request is in.

use serde_json::Value;
use store::Collection;

use crate::{
    call::Call,
    error::{ApiError, Qualified, Result},
    object,
};

/// The named namespace, or 404.
pub(crate) fn namespace_of(call: &Call, name: &str) -> Result<Value> {
    let stored = call.api.store.get(&Collection::new("", "namespaces"), "", name);
    let stored = stored.ok_or_else(|| {
        ApiError::not_found(
            Qualified {
                group: "",
                name: "namespaces",
            },
            name,
        )
    })?;
    object::parse(&stored)
}
