//! The objects a binding gives its policy as parameters.

use std::sync::Arc;

use manifests::labels::Selector;
use serde_json::Value;
use store::Object;

use super::configuration::{Binding, Policy};
use crate::{call::Call, conversion, kind::Kind, object};

/// The kind of the parameters, if the policy takes some; an error where nobody serves it.
pub(super) fn kind(call: &Call, policy: &Policy) -> Result<Option<Arc<Kind>>, String> {
    let Some(wanted) = &policy.param_kind else {
        return Ok(None);
    };
    let snapshot = call.api.registry.snapshot();
    match snapshot.by_kind(&wanted.group, &wanted.version, &wanted.kind) {
        Some(kind) => Ok(Some(kind.clone())),
        None => Err(format!(
            "failed to find resource referenced by paramKind: '{}/{}, Kind={}'",
            wanted.group, wanted.version, wanted.kind
        )),
    }
}

/// The parameters to evaluate the policy with, one after the other. One null stands for a policy or
/// binding that uses none; no parameters at all mean that there is nothing to evaluate.
pub(super) async fn collect(
    call: &Call,
    policy: &Policy,
    binding: &Binding,
    namespace: &str,
) -> Result<Vec<Value>, String> {
    let (Some(kind), Some(wanted)) = (kind(call, policy)?, &binding.param_ref) else {
        return Ok(vec![Value::Null]);
    };
    let place = namespace_of_params(&kind, wanted, namespace)?;
    let params = find(call, &kind, wanted, place).await?;
    if params.is_empty() && kinds::read::text(wanted, "parameterNotFoundAction") == "Deny" {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
    }
    Ok(params)
}

fn namespace_of_params<'n>(kind: &Kind, wanted: &'n Value, namespace: &'n str) -> Result<&'n str, String> {
    let named = kinds::read::text(wanted, "namespace");
    match (kind.namespaced, named) {
        (false, "") => Ok(""),
        (false, _) => {
            Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned())
        }
        (true, "") if namespace.is_empty() => Err(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                .to_owned(),
        ),
        (true, "") => Ok(namespace),
        (true, named) => Ok(named),
    }
}

async fn find(call: &Call, kind: &Kind, wanted: &Value, namespace: &str) -> Result<Vec<Value>, String> {
    let name = kinds::read::text(wanted, "name");
    if !name.is_empty() {
        let stored = call.api.store.get(&kind.collection, namespace, name);
        return read(call, kind, stored.into_iter().collect()).await;
    }
    let Some(selector) = wanted.get("selector") else {
        return Err("one of name or selector must be provided".to_owned());
    };
    let selector = Selector::from_object(selector).map_err(|error| error.to_string())?;
    let scope = kind.namespaced.then_some(namespace);
    let stored = call.api.store.list(&kind.collection, scope, None, None).items;
    let mut all = read(call, kind, stored).await?;
    all.retain(|object| selector.matches(object.pointer("/metadata/labels").and_then(Value::as_object)));
    Ok(all)
}

/// Stored parameters in the version the policy asks for.
async fn read(call: &Call, kind: &Kind, stored: Vec<Arc<Object>>) -> Result<Vec<Value>, String> {
    let shown = conversion::shown(&call.api, kind, stored).await;
    let objects = shown.and_then(|shown| shown.iter().map(|shown| object::parse(shown)).collect());
    objects.map_err(|error| error.message)
}
