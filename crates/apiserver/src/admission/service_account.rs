//! Every pod runs as a service account and finds its token where clients look for it.

use serde_json::{Value, json};
use store::Collection;

use crate::{
    call::Call,
    derived,
    error::{ApiError, Result},
    writes::create::random_suffix,
};

const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

pub(crate) fn admit(call: &Call, pod: &mut Value) -> Result<()> {
    if !call.kind.is("", "Pod") || is_mirror(pod) {
        return Ok(());
    }
    let spec = &mut pod["spec"];
    if kinds::read::text(spec, "serviceAccountName").is_empty() {
        spec["serviceAccountName"] = "default".into();
    }
    let name = kinds::read::text(spec, "serviceAccountName").to_owned();
    // The field's old name is kept in step for old readers.
    spec["serviceAccount"] = name.as_str().into();
    let namespace = call.key_namespace();
    let Some(stored) = call
        .api
        .store
        .get(&Collection::new("", "serviceaccounts"), namespace, &name)
    else {
        return Err(ApiError::forbidden(
            call.kind.qualified(),
            crate::object::name(pod),
            &format!(
                "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"
            ),
        ));
    };
    let account = derived::parsed(&stored)?;
    let automount = spec
        .get("automountServiceAccountToken")
        .or_else(|| account.get("automountServiceAccountToken"))
        .and_then(Value::as_bool)
        .unwrap_or(true);
    if automount {
        mount_token(spec);
    }
    if kinds::read::list(spec, "imagePullSecrets").is_empty()
        && let Some(secrets) = account
            .get("imagePullSecrets")
            .and_then(Value::as_array)
            .filter(|list| !list.is_empty())
    {
        spec["imagePullSecrets"] = Value::Array(secrets.clone());
    }
    Ok(())
}

/// Pods a node made from files, mirrored to the API.
fn is_mirror(pod: &Value) -> bool {
    pod.pointer("/metadata/annotations/kubernetes.io~1config.mirror")
        .is_some()
}

fn mount_token(spec: &mut Value) {
    let existing = kinds::read::list(spec, "volumes")
        .iter()
        .map(|volume| kinds::read::text(volume, "name"))
        .find(|name| name.starts_with("kube-api-access-"))
        .map(str::to_owned);
    let volume = existing
        .clone()
        .unwrap_or_else(|| format!("kube-api-access-{}", random_suffix()));
    let mut needed = false;
    for list in ["initContainers", "containers"] {
        for container in kinds::read::list_mut(spec, list) {
            let mounted = kinds::read::list(container, "volumeMounts")
                .iter()
                .any(|mount| kinds::read::text(mount, "mountPath") == TOKEN_PATH);
            if !mounted {
                needed = true;
                push(
                    container,
                    "volumeMounts",
                    json!({ "name": volume, "mountPath": TOKEN_PATH, "readOnly": true }),
                );
            }
        }
    }
    if needed && existing.is_none() {
        push(spec, "volumes", token_volume(&volume));
    }
}

fn token_volume(name: &str) -> Value {
    json!({
        "name": name,
        "projected": {
            "defaultMode": 420,
            "sources": [
                { "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } },
                { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
                { "downwardAPI": { "items": [{
                    "path": "namespace",
                    "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" },
                }] } },
            ],
        },
    })
}

fn push(value: &mut Value, field: &str, item: Value) {
    match value.get_mut(field).and_then(Value::as_array_mut) {
        Some(list) => list.push(item),
        None => value[field] = Value::Array(vec![item]),
    }
}
