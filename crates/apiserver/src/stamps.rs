//! What a few kinds get from the moment, the user or chance: the facts that pure rules cannot have.

use kinds::objects::{api_service, certificate_signing_request, ip_address, namespace, persistent_volume};
use serde_json::{Value, json};

use crate::{object, writes::Writer};

/// Completes a new object after its kind prepared it.
pub(crate) fn on_create(writer: &mut Writer<'_>, object: &mut Value) {
    let kind = writer.call.kind.clone();
    match (kind.group.as_ref(), kind.kind.as_ref()) {
        ("", "Namespace") => namespace::label_with_name(object),
        ("", "PersistentVolume") => persistent_volume::stamp_phase(object, &Value::Null, &writer.timestamp()),
        ("", "LimitRange") if object::name(object).is_empty() => {
            object::set_meta(object, "name", Some(uuid::Uuid::new_v4().to_string().into()));
        }
        ("", "Node") => taint_until_ready(object),
        ("certificates.k8s.io", "CertificateSigningRequest") => sign_with_user(writer, object),
        ("apiregistration.k8s.io", "APIService") => api_service::stamp_local(object, &writer.timestamp()),
        ("networking.k8s.io", "ServiceCIDR") => {
            ip_address::stamp_default_network(object, &writer.timestamp());
        }
        _ => {}
    }
}

/// Completes a changed object after its kind prepared it.
pub(crate) fn on_update(writer: &mut Writer<'_>, new: &mut Value, old: &Value) {
    let kind = writer.call.kind.clone();
    match (kind.group.as_ref(), kind.kind.as_ref()) {
        ("", "PersistentVolume") => persistent_volume::stamp_phase(new, old, &writer.timestamp()),
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            certificate_signing_request::stamp_conditions(new, old, &writer.timestamp());
        }
        _ => {}
    }
}

/// A new node takes no pods until somebody has seen it ready.
fn taint_until_ready(node: &mut Value) {
    const KEY: &str = "node.kubernetes.io/not-ready";
    let spec = kinds::read::object_mut(node, "spec");
    let taints = spec.entry("taints").or_insert_with(|| json!([]));
    if taints.is_null() {
        *taints = json!([]);
    }
    if let Some(list) = taints.as_array_mut()
        && !list
            .iter()
            .any(|taint| taint["key"] == KEY && taint["effect"] == "NoSchedule")
    {
        list.push(json!({ "key": KEY, "effect": "NoSchedule" }));
    }
}

/// Who asks for a certificate is whoever sent the request.
fn sign_with_user(writer: &Writer<'_>, request: &mut Value) {
    let user = &writer.call.user;
    let spec = kinds::read::object_mut(request, "spec");
    spec.insert("username".to_owned(), user.name.as_str().into());
    spec.insert("groups".to_owned(), json!(user.groups));
    for (field, value) in [("uid", json!(user.uid)), ("extra", json!(user.extra))] {
        let is_empty = value.as_str().is_some_and(str::is_empty)
            || value.as_object().is_some_and(serde_json::Map::is_empty);
        if is_empty {
            spec.remove(field);
        } else {
            spec.insert(field.to_owned(), value);
        }
    }
}
