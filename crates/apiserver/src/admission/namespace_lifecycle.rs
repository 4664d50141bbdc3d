//! Objects live in namespaces that exist and are not being emptied, and three namespaces are for ever.

use serde_json::{Value, json};
use store::Collection;

use super::Operation;
use crate::{
    call::Call,
    derived,
    error::{ApiError, Qualified, Result},
    object,
};

const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Refuses to make an object, or a part of one, in a namespace that is missing or going.
pub(crate) fn check(call: &Call, operation: Operation, object: Option<&Value>) -> Result<()> {
    if operation != Operation::Create || !call.kind.namespaced || call.key_namespace().is_empty() {
        return Ok(());
    }
    // What may be done in a namespace can be asked whether it is there or not.
    if call.kind.is("authorization.k8s.io", "LocalSubjectAccessReview") {
        return Ok(());
    }
    let namespace = call.key_namespace();
    let Some(stored) = call
        .api
        .store
        .get(&Collection::new("", "namespaces"), "", namespace)
    else {
        return Err(ApiError::not_found(
            Qualified {
                group: "",
                name: "namespaces",
            },
            namespace,
        ));
    };
    if !object::is_deleting(&*derived::parsed(&stored)?) {
        return Ok(());
    }
    let mut error = ApiError::forbidden(
        call.kind.qualified(),
        call.name_of(object),
        &format!("unable to create new content in namespace {namespace} because it is being terminated"),
    );
    if let Some(details) = &mut error.details {
        details["causes"] = json!([{
            "reason": "NamespaceTerminating",
            "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        }]);
    }
    Err(error)
}

pub(crate) fn check_protected(call: &Call, old: &Value) -> Result<()> {
    if call.kind.is("", "Namespace") && IMMORTAL.contains(&object::name(old)) {
        return Err(ApiError::forbidden(
            call.kind.qualified(),
            object::name(old),
            "this namespace may not be deleted",
        ));
    }
    Ok(())
}
