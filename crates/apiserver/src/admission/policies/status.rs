//! Tells when a policy has been looked at, and what is questionable about its expressions.

use std::sync::Arc;

use serde_json::{Value, json};
use store::Collection;

use super::type_check;
use crate::{
    api::Api,
    controllers::feed::{Change, Feed},
    internal, object,
    writes::update::Part,
};

const NAME: &str = "validatingadmissionpolicy-status";

/// Keeps `status.observedGeneration` of every policy at its generation, beside the warnings of its type
/// check.
pub(crate) async fn run(api: Arc<Api>) {
    let collection = Collection::new("admissionregistration.k8s.io", "validatingadmissionpolicies");
    let mut policies = Feed::new(&api.store, &collection);
    while let Some(change) = policies.next().await {
        if let Change::Present(stored) = change
            && let Some(policy) = object::readable(&stored)
            && observed(&policy) < object::generation(&policy)
        {
            observe(&api, &policy).await;
        }
    }
}

fn observed(policy: &Value) -> i64 {
    policy
        .pointer("/status/observedGeneration")
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

async fn observe(api: &Arc<Api>, policy: &Value) {
    let name = object::name(policy);
    let snapshot = api.registry.snapshot();
    let Some(kind) = snapshot.get(
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicies",
    ) else {
        return;
    };
    let checked = match type_check::warnings(&snapshot, policy) {
        warnings if warnings.is_empty() => json!({}),
        warnings => json!({ "expressionWarnings": warnings }),
    };
    let changed = internal::change(api, kind, NAME, Part::Status, "", name, |old| {
        let mut new = old.clone();
        // What was found is true of the generation it was found in.
        if object::generation(old) != object::generation(policy) {
            return new;
        }
        let status = kinds::read::object_mut(&mut new, "status");
        status.insert("observedGeneration".to_owned(), object::generation(old).into());
        status.insert("typeChecking".to_owned(), checked.clone());
        new
    });
    if let Err(error) = changed.await {
        tracing::debug!(policy = name, error = %error.message, "cannot tell that the policy was seen");
    }
}
