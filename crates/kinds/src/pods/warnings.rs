//! Things that are accepted but probably not meant: the texts of `Warning` headers.

use std::collections::HashSet;

use manifests::field::{Path, quoted};
use serde_json::Value;

use super::{affinity, annotations, overlapping_paths, port_warnings, visit_containers};
use crate::{
    addresses, deprecated_labels, names,
    objects::persistent_volume_claim,
    read::{at, entries, get, has, int, list, text},
    resource_list::amount_of,
};

const ANNOTATIONS: &[(&str, &str)] = &[
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

/// Kinds of volumes on their way out: key, name in the message, message.
const VOLUMES: &[(&str, &str, &str)] = &[
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "gitRepo",
        "gitRepo",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    (
        "scaleIO",
        "scaleIO",
        "deprecated in v1.16, non-functional in v1.22+",
    ),
    (
        "flocker",
        "flocker",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "storageos",
        "storageOS",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "quobyte",
        "quobyte",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "glusterfs",
        "glusterfs",
        "deprecated in v1.25, non-functional in v1.26+",
    ),
    ("ephemeral", "ephemeral", ""),
    (
        "cephfs",
        "cephfs",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

const SECCOMP: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
const APP_ARMOR: &str = "deprecated since v1.30; use the \"appArmorProfile\" field instead";

/// What to tell about a new pod.
pub(super) fn of_pod(pod: &Value) -> Vec<String> {
    let (meta, spec) = (get(pod, "metadata"), get(pod, "spec"));
    let mut warnings = Vec::new();
    app_armor_of_pod(meta, spec, &mut warnings);
    warnings.extend(hostname_warning(text(meta, "name"), "the Pod's hostname"));
    collect(meta, spec, &Path::root(), false, &mut warnings);
    warnings
}

/// What to tell about a template.
pub(super) fn of_template(template: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    collect(
        get(template, "metadata"),
        get(template, "spec"),
        path,
        true,
        &mut warnings,
    );
    warnings
}

/// Names become parts of host names, which have fewer letters.
pub(crate) fn hostname_warning(name: &str, use_of_name: &str) -> Option<String> {
    let messages = names::dns_label(name);
    (!messages.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {use_of_name}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            messages.join(" ")
        )
    })
}

fn collect(meta: &Value, spec: &Value, path: &Path, is_template: bool, warnings: &mut Vec<String>) {
    let spec_path = path.child("spec");
    let annotations_path = path.child("metadata").child("annotations");
    nodes(spec, &spec_path, warnings);
    spread(spec, &spec_path, warnings);
    for (key, message) in ANNOTATIONS
        .iter()
        .filter(|(key, _)| has(get(meta, "annotations"), key))
    {
        warnings.push(format!("{}: {message}", annotations_path.key(key)));
    }
    volumes(spec, &spec_path, warnings);
    duplicates(spec, &spec_path, warnings);
    fractions(get(spec, "overhead"), || spec_path.child("overhead"), warnings);
    security(meta, spec, &spec_path, &annotations_path, is_template, warnings);
    port_warnings::collect(spec, &spec_path, warnings);
    if int(spec, "terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0) {
        warnings.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            spec_path.child("terminationGracePeriodSeconds")
        ));
    }
    missing_selectors(spec, &spec_path, warnings);
    for (i, server) in list(get(spec, "dnsConfig"), "nameservers").iter().enumerate() {
        let path = spec_path.child("dnsConfig").child("nameservers").index(i);
        warnings.extend(addresses::warnings(server.as_str().unwrap_or_default(), &path));
    }
    for (i, alias) in list(spec, "hostAliases").iter().enumerate() {
        let path = spec_path.child("hostAliases").index(i).child("ip");
        warnings.extend(addresses::warnings(text(alias, "ip"), &path));
    }
}

fn nodes(spec: &Value, path: &Path, warnings: &mut Vec<String>) {
    for (label, _) in entries(spec, "nodeSelector") {
        if let Some(message) = deprecated_labels::message(label) {
            warnings.push(format!("{}: {message}", path.child("nodeSelector").key(label)));
        }
    }
    let nodes = at(spec, &["affinity", "nodeAffinity"]);
    let path = path.child("affinity").child("nodeAffinity");
    let key = "requiredDuringSchedulingIgnoredDuringExecution";
    for (i, term) in list(get(nodes, key), "nodeSelectorTerms").iter().enumerate() {
        node_term(
            term,
            false,
            &path.child(key).child("nodeSelectorTerms").index(i),
            warnings,
        );
    }
    let key = "preferredDuringSchedulingIgnoredDuringExecution";
    for (i, term) in list(nodes, key).iter().enumerate() {
        let path = path.child(key).index(i).child("preference");
        node_term(get(term, "preference"), true, &path, warnings);
    }
}

fn node_term(term: &Value, check_values: bool, path: &Path, warnings: &mut Vec<String>) {
    for (i, expression) in list(term, "matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions").index(i);
        let key = text(expression, "key");
        if let Some(message) = deprecated_labels::message(key) {
            warnings.push(format!("{}: {key} is {message}", path.child("key")));
        }
        for (j, value) in list(expression, "values")
            .iter()
            .enumerate()
            .filter(|_| check_values)
        {
            let value = value.as_str().unwrap_or_default();
            for message in names::label_value(value) {
                let path = path.child("values").index(j);
                warnings.push(format!("{path}: {value} is invalid, {message}"));
            }
        }
    }
}

fn spread(spec: &Value, path: &Path, warnings: &mut Vec<String>) {
    for (i, constraint) in list(spec, "topologySpreadConstraints").iter().enumerate() {
        let path = path.child("topologySpreadConstraints").index(i);
        let key = text(constraint, "topologyKey");
        if let Some(message) = deprecated_labels::message(key) {
            warnings.push(format!("{}: {key} is {message}", path.child("topologyKey")));
        }
        missing_selector(constraint, || path.clone(), warnings);
    }
}

fn missing_selector(term: &Value, path: impl FnOnce() -> Path, warnings: &mut Vec<String>) {
    if !has(term, "labelSelector") {
        let path = path().child("labelSelector");
        warnings.push(format!("{path}: a null labelSelector results in matching no pod"));
    }
}

fn missing_selectors(spec: &Value, path: &Path, warnings: &mut Vec<String>) {
    if affinity::pod_terms(spec).all(|term| has(term, "labelSelector")) {
        return;
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let terms = at(spec, &["affinity", kind]);
        let path = path.child("affinity").child(kind);
        let key = "requiredDuringSchedulingIgnoredDuringExecution";
        for (i, term) in list(terms, key).iter().enumerate() {
            missing_selector(term, || path.child(key).index(i), warnings);
        }
        let key = "preferredDuringSchedulingIgnoredDuringExecution";
        for (i, term) in list(terms, key).iter().enumerate() {
            let path = || path.child(key).index(i).child("podAffinityTerm");
            missing_selector(get(term, "podAffinityTerm"), path, warnings);
        }
    }
}

fn volumes(spec: &Value, path: &Path, warnings: &mut Vec<String>) {
    for (i, volume) in list(spec, "volumes").iter().enumerate() {
        for (key, shown, message) in VOLUMES.iter().filter(|(key, ..)| has(volume, key)) {
            let path = path.child("volumes").index(i).child(shown);
            if *key == "ephemeral" {
                let claim = get(get(volume, key), "volumeClaimTemplate");
                let path = path.child("volumeClaimTemplate").child("spec");
                warnings.extend(persistent_volume_claim::storage_warnings(
                    get(claim, "spec"),
                    &path,
                ));
            } else {
                warnings.push(format!("{path}: {message}"));
            }
        }
    }
    overlapping_paths::warn(list(spec, "volumes"), warnings);
}

fn duplicates(spec: &Value, path: &Path, warnings: &mut Vec<String>) {
    for (key, field) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        let mut seen = HashSet::new();
        for (i, item) in list(spec, key).iter().enumerate() {
            let value = text(item, field);
            if !seen.insert(value) {
                let path = path.child(key).index(i).child(field);
                warnings.push(format!("{path}: duplicate {field} {}", quoted(value)));
            }
        }
    }
    for (i, secret) in list(spec, "imagePullSecrets").iter().enumerate() {
        if text(secret, "name").is_empty() {
            let path = path.child("imagePullSecrets").index(i).child("name");
            warnings.push(format!("{path}: invalid empty name \"\""));
        }
    }
}

/// There are no parts of a byte.
fn fractions(list: &Value, path: impl Fn() -> Path, warnings: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        fraction(list, name, &path, warnings);
    }
}

fn fraction(list: &Value, name: &str, path: impl Fn() -> Path, warnings: &mut Vec<String>) {
    let quantity = amount_of(get(list, name));
    if quantity.milli_value() % 1000 != 0 {
        let (path, shown) = (path().key(name), quoted(&quantity.to_string()));
        warnings.push(format!(
            "{path}: fractional byte value {shown} is invalid, must be an integer"
        ));
    }
}

fn security(
    meta: &Value,
    spec: &Value,
    path: &Path,
    annotations_path: &Path,
    is_template: bool,
    warnings: &mut Vec<String>,
) {
    let annotations = get(meta, "annotations");
    let context = get(spec, "securityContext");
    if !has(context, "seccompProfile") && has(annotations, annotations::SECCOMP_POD) {
        warnings.push(format!(
            "{}: {SECCOMP}",
            annotations_path.key(annotations::SECCOMP_POD)
        ));
    }
    visit_containers(spec, path, |container, path| {
        if !annotations.is_null() {
            let own = get(container, "securityContext");
            let key = format!(
                "{}{}",
                annotations::SECCOMP_CONTAINER_PREFIX,
                text(container, "name")
            );
            if !has(own, "seccompProfile") && has(annotations, &key) {
                warnings.push(format!("{}: {SECCOMP}", annotations_path.key(&key)));
            }
            let key = format!("{}{}", annotations::APP_ARMOR_PREFIX, text(container, "name"));
            if let Some(annotation) = get(annotations, &key).as_str()
                && is_template
                && !has(own, "appArmorProfile")
                && annotations::app_armor_field(annotation).as_ref() != Some(get(context, "appArmorProfile"))
            {
                warnings.push(format!("{}: {APP_ARMOR}", annotations_path.key(&key)));
            }
        }
        let resources = get(container, "resources");
        for name in ["memory", "ephemeral-storage"] {
            for list in ["limits", "requests"] {
                let path = || path().child("resources").child(list);
                fraction(get(resources, list), name, path, warnings);
            }
        }
        hidden_variables(container, &path, warnings);
    });
}

/// By the time warnings are collected, the annotation has become a field of its container.
fn app_armor_of_pod(meta: &Value, spec: &Value, warnings: &mut Vec<String>) {
    let annotations = get(meta, "annotations");
    if annotations.is_null() {
        return;
    }
    let of_pod = get(get(spec, "securityContext"), "appArmorProfile");
    visit_containers(spec, &Path::new("spec"), |container, _| {
        let key = format!("{}{}", annotations::APP_ARMOR_PREFIX, text(container, "name"));
        let Some(annotation) = get(annotations, &key).as_str() else {
            return;
        };
        let own = get(get(container, "securityContext"), "appArmorProfile");
        let meant = annotations::app_armor_field(annotation);
        let warn = match &meant {
            None => own.is_null(),
            Some(meant) => own == meant && own != of_pod,
        };
        if warn {
            let path = Path::new("metadata").child("annotations").key(&key);
            warnings.push(format!("{path}: {APP_ARMOR}"));
        }
    });
}

/// A second variable of a name is fine only if it builds on the first.
fn hidden_variables(container: &Value, path: &dyn Fn() -> Path, warnings: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for (i, variable) in list(container, "env").iter().enumerate() {
        let (name, value) = (text(variable, "name"), text(variable, "value"));
        if seen.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        if has(variable, "valueFrom") || value == reference || !value.contains(&reference) {
            let path = path().child("env").index(i);
            let name = quoted(name);
            warnings.push(format!(
                "{path}: hides previous definition of {name}, which may be dropped when using apply"
            ));
        }
    }
}
