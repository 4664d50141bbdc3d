//! What the server fills in where users leave something out.

use serde_json::{Map, Value, json};

use super::{images::pull_policy, resources, volumes};
use crate::{
    read::{default, entries, flag, get, int, list_mut, text},
    resource_list::amount_of,
    resource_names::{is_huge_pages, is_overcommit_allowed},
};

/// Annotations of clients that are long gone; they must not show up as differences.
const INIT_CONTAINER_ANNOTATIONS: &[&str] = &[
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

/// Fills in a pod.
pub(super) fn pod(object: &mut Value) {
    drop_old_annotations(object);
    if let Some(spec) = object.get_mut("spec") {
        // Unlike templates, pods without a request ask for their limit.
        for key in ["containers", "initContainers"] {
            list_mut(spec, key).iter_mut().for_each(request_the_limits);
        }
        whole_pod_resources(spec);
        default(spec, "enableServiceLinks", true);
        if flag(spec, "hostNetwork") {
            host_ports(spec);
        }
        if int(spec, "terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0) {
            spec["terminationGracePeriodSeconds"] = json!(1);
        }
        self::spec(spec);
    }
    default(object, "status", json!({}));
    if let Some(status) = object.get_mut("status") {
        addresses(status);
    }
}

/// Fills in a template of pods.
pub(super) fn template(template: &mut Value) {
    drop_old_annotations(template);
    default(template, "metadata", json!({}));
    default(template, "spec", json!({}));
    if let Some(spec) = template.get_mut("spec") {
        self::spec(spec);
    }
}

fn spec(spec: &mut Value) {
    default_text(spec, "dnsPolicy", "ClusterFirst");
    default_text(spec, "restartPolicy", "Always");
    default(spec, "securityContext", json!({}));
    default(spec, "terminationGracePeriodSeconds", 30);
    default_text(spec, "schedulerName", "default-scheduler");
    service_account(spec);
    list_mut(spec, "volumes").iter_mut().for_each(volume);
    for key in ["initContainers", "containers", "ephemeralContainers"] {
        list_mut(spec, key).iter_mut().for_each(container);
    }
    round_up(spec, "overhead");
    if let Some(resources) = spec.get_mut("resources") {
        round_up(resources, "limits");
        round_up(resources, "requests");
    }
}

/// Sets a text that is missing or empty.
pub(crate) fn default_text(object: &mut Value, key: &str, value: &str) {
    if let Value::Object(fields) = object
        && fields.get(key).and_then(Value::as_str).is_none_or(str::is_empty)
    {
        fields.insert(key.to_owned(), json!(value));
    }
}

/// Sets a number that is missing or zero.
fn default_number(object: &mut Value, key: &str, value: i64) {
    if let Value::Object(fields) = object
        && fields.get(key).and_then(Value::as_i64).unwrap_or_default() == 0
    {
        fields.insert(key.to_owned(), json!(value));
    }
}

fn drop_old_annotations(object: &mut Value) {
    if let Some(Value::Object(annotations)) = object
        .get_mut("metadata")
        .and_then(|meta| meta.get_mut("annotations"))
    {
        for key in INIT_CONTAINER_ANNOTATIONS {
            annotations.remove(*key);
        }
    }
}

/// `serviceAccount` is the old name of `serviceAccountName`; both are kept and say the same.
fn service_account(spec: &mut Value) {
    let name = match text(spec, "serviceAccountName") {
        "" => text(spec, "serviceAccount").to_owned(),
        name => name.to_owned(),
    };
    if let Value::Object(fields) = spec {
        for key in ["serviceAccountName", "serviceAccount"] {
            if name.is_empty() {
                fields.remove(key);
            } else {
                fields.insert(key.to_owned(), json!(name));
            }
        }
    }
}

/// `podIP` is the first of `podIPs`, and decides if the two differ.
fn addresses(status: &mut Value) {
    let first = text(get(status, "podIPs").get(0).unwrap_or(&Value::Null), "ip").to_owned();
    let single = text(status, "podIP").to_owned();
    if single.is_empty() && !first.is_empty() {
        status["podIP"] = json!(first);
    } else if single != first {
        status["podIPs"] = json!([{"ip": single}]);
    }
}

fn request_the_limits(container: &mut Value) {
    let Some(resources) = container.get_mut("resources") else {
        return;
    };
    let limits = get(resources, "limits").clone();
    let Value::Object(limits) = limits else { return };
    default(resources, "requests", json!({}));
    if let Some(Value::Object(requests)) = resources.get_mut("requests") {
        for (name, limit) in limits {
            requests.entry(name).or_insert(limit);
        }
    }
}

/// A pod with resources of its own: huge pages and requests follow from its containers.
fn whole_pod_resources(spec: &mut Value) {
    let resources = get(spec, "resources");
    let is_empty = |list: &str| entries(resources, list).next().is_none();
    if resources.is_null() || (is_empty("limits") && is_empty("requests")) {
        return;
    }
    let mut limits = get(resources, "limits").as_object().cloned().unwrap_or_default();
    let mut requests = get(resources, "requests")
        .as_object()
        .cloned()
        .unwrap_or_default();
    for (name, total) in resources::total(spec, "limits") {
        if is_huge_pages(name) && !requests.contains_key(name) {
            limits.entry(name).or_insert_with(|| json!(total.to_string()));
        }
    }
    if !limits.is_empty() {
        for (name, total) in resources::total(spec, "requests") {
            if resources::is_of_pods(name) && is_overcommit_allowed(name) {
                requests.entry(name).or_insert_with(|| json!(total.to_string()));
            }
        }
        for (name, limit) in limits.iter().filter(|(name, _)| resources::is_of_pods(name)) {
            requests.entry(name.clone()).or_insert_with(|| limit.clone());
        }
    }
    let mut set = |key: &str, list: Map<String, Value>| {
        if !list.is_empty() {
            spec["resources"][key] = Value::Object(list);
        }
    };
    set("limits", limits);
    set("requests", requests);
}

fn host_ports(spec: &mut Value) {
    for key in ["containers", "initContainers"] {
        for container in list_mut(spec, key) {
            for port in list_mut(container, "ports") {
                let number = int(port, "containerPort").unwrap_or_default();
                if number != 0 {
                    default_number(port, "hostPort", number);
                }
            }
        }
    }
}

fn container(container: &mut Value) {
    default_text(
        container,
        "imagePullPolicy",
        pull_policy(text(container, "image")),
    );
    default_text(container, "terminationMessagePath", "/dev/termination-log");
    default_text(container, "terminationMessagePolicy", "File");
    default(container, "resources", json!({}));
    for port in list_mut(container, "ports") {
        default_text(port, "protocol", "TCP");
    }
    for variable in list_mut(container, "env") {
        if let Some(source) = variable.get_mut("valueFrom") {
            field_reference(source);
        }
    }
    if let Some(resources) = container.get_mut("resources") {
        round_up(resources, "limits");
        round_up(resources, "requests");
    }
    for key in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(key) {
            self::probe(probe);
        }
    }
    for key in ["postStart", "preStop"] {
        if let Some(hook) = container
            .get_mut("lifecycle")
            .and_then(|lifecycle| lifecycle.get_mut(key))
        {
            http_get(hook);
        }
    }
}

fn probe(probe: &mut Value) {
    for (key, value) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        default_number(probe, key, value);
    }
    http_get(probe);
    if let Some(call) = probe.get_mut("grpc") {
        default(call, "service", "");
    }
}

fn http_get(handler: &mut Value) {
    if let Some(action) = handler.get_mut("httpGet") {
        default_text(action, "path", "/");
        default_text(action, "scheme", "HTTP");
    }
}

fn field_reference(holder: &mut Value) {
    if let Some(reference) = holder.get_mut("fieldRef") {
        default_text(reference, "apiVersion", "v1");
    }
    if let Some(reference) = holder.get_mut("resourceFieldRef") {
        default(reference, "divisor", "0");
    }
}

/// Amounts are kept to a thousandth.
fn round_up(holder: &mut Value, key: &str) {
    let Some(Value::Object(list)) = holder.get_mut(key) else {
        return;
    };
    for value in list.values_mut() {
        let quantity = amount_of(value);
        let rounded = quantity.rounded_up_to_milli();
        if rounded != quantity {
            *value = json!(rounded.to_string());
        }
    }
}

fn volume(volume: &mut Value) {
    if !volumes::has_source(volume) {
        volume["emptyDir"] = json!({});
    }
    let Value::Object(sources) = volume else { return };
    for (key, source) in sources.iter_mut() {
        match key.as_str() {
            "hostPath" => default(source, "type", ""),
            "secret" | "configMap" => default(source, "defaultMode", 0o644),
            "downwardAPI" => {
                default(source, "defaultMode", 0o644);
                list_mut(source, "items").iter_mut().for_each(field_reference);
            }
            "projected" => projected(source),
            "iscsi" => default_text(source, "iscsiInterface", "default"),
            "rbd" => {
                default_text(source, "pool", "rbd");
                default_text(source, "user", "admin");
                default_text(source, "keyring", "/etc/ceph/keyring");
            }
            "azureDisk" => {
                default(source, "cachingMode", "ReadWrite");
                default(source, "fsType", "ext4");
                default(source, "readOnly", false);
                default(source, "kind", "Shared");
            }
            "scaleIO" => {
                default_text(source, "storageMode", "ThinProvisioned");
                default_text(source, "fsType", "xfs");
            }
            "ephemeral" => {
                if let Some(claim) = source.get_mut("volumeClaimTemplate") {
                    default(claim, "spec", json!({}));
                    claim_spec(&mut claim["spec"]);
                }
            }
            _ => {}
        }
    }
}

/// Fills in what a claim asks for.
pub(crate) fn claim_spec(spec: &mut Value) {
    default(spec, "volumeMode", "Filesystem");
    if let Some(resources) = spec.get_mut("resources") {
        round_up(resources, "limits");
        round_up(resources, "requests");
    }
}

fn projected(source: &mut Value) {
    default(source, "defaultMode", 0o644);
    for source in list_mut(source, "sources") {
        if let Some(files) = source.get_mut("downwardAPI") {
            list_mut(files, "items").iter_mut().for_each(field_reference);
        }
        if let Some(token) = source.get_mut("serviceAccountToken") {
            default(token, "expirationSeconds", 3600);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_quantities_round_up_to_a_thousandth() {
        let mut resources = json!({"limits": {"cpu": "0.0001", "memory": "1Gi"}});
        round_up(&mut resources, "limits");
        assert_eq!(resources, json!({"limits": {"cpu": "1m", "memory": "1Gi"}}));
    }
}
