//! ServiceAccount: an identity for pods; its secrets are known by name only.

use serde_json::{Value, json};

use crate::{read, strategy::Strategy};

const MOUNTABLE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";

pub(crate) static STRATEGY: Strategy = Strategy {
    prepare_for_create: keep_secret_names,
    prepare_for_update: |account, _| keep_secret_names(account),
    warnings_on_create: |account| warnings(account, &Value::Null),
    warnings_on_update: warnings,
    ..Strategy::NONE
};

fn keep_secret_names(account: &mut Value) {
    for secret in read::list_mut(account, "secrets") {
        let name = read::text(secret, "name");
        *secret = if name.is_empty() {
            json!({})
        } else {
            json!({"name": name})
        };
    }
}

fn warnings(account: &Value, old: &Value) -> Vec<String> {
    let enforces = |account| !read::at(account, &["metadata", "annotations", MOUNTABLE_SECRETS]).is_null();
    if !enforces(account) || enforces(old) {
        return Vec::new();
    }
    vec![format!(
        "metadata.annotations[{MOUNTABLE_SECRETS}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    )]
}
