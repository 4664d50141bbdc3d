//! Ingress: hosts and paths in front of services.

use serde_json::{Value, json};

use super::{
    field::{Errors, Field},
    syntax,
};
use crate::{addresses, names, read, strategy::Strategy};

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
const NOT_AN_IP: &str = "must be a DNS name, not an IP address";
const BAD_SEQUENCES: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const BAD_ENDINGS: [&str; 2] = ["/..", "/."];

pub(crate) static STRATEGY: Strategy = Strategy {
    prepare_for_create: |ingress| ingress["status"] = json!({"loadBalancer": {}}),
    prepare_for_update: super::keep_status,
    validate,
    validate_update: |ingress, _, errors| validate_spec(ingress, errors),
    prepare_for_status_update: super::keep_spec,
    validate_status_update,
    warnings_on_create: warnings,
    ..Strategy::NONE
};

fn validate(ingress: &Value, errors: &mut Errors) {
    validate_spec(ingress, errors);
    let annotation = read::at(ingress, &["metadata", "annotations", CLASS_ANNOTATION]);
    let class = read::at(ingress, &["spec", "ingressClassName"]);
    if !annotation.is_null() && !class.is_null() && annotation != class {
        let root = Field::root(ingress);
        root.renamed("annotations").renamed(CLASS_ANNOTATION).invalid_as(
            annotation.clone(),
            "must match `ingressClassName` when both are specified",
            errors,
        );
    }
}

fn validate_spec(ingress: &Value, errors: &mut Errors) {
    let root = Field::root(ingress);
    let spec = root.child("spec");
    let (rules, backend) = (spec.child("rules"), spec.child("defaultBackend"));
    if rules.is_empty() && !backend.is_set() {
        spec.invalid_as(
            rules.value.clone(),
            "either `defaultBackend` or `rules` must be specified",
            errors,
        );
    }
    if backend.is_set() {
        validate_backend(&backend, errors);
    }
    for rule in rules.items() {
        validate_rule(&rule, errors);
    }
    for tls in spec.child("tls").items() {
        for host in tls.child("hosts").items() {
            host.syntax(syntax::host, errors);
        }
        tls.child("secretName")
            .optional_syntax(names::dns_subdomain, errors);
    }
    let class = spec.child("ingressClassName");
    if class.is_set() {
        class.syntax(names::dns_subdomain, errors);
    }
}

fn validate_rule(rule: &Field<'_>, errors: &mut Errors) {
    let host = rule.child("host");
    if !host.is_empty() {
        if addresses::parse(host.text()).is_some() {
            host.invalid(NOT_AN_IP, errors);
        }
        host.syntax(syntax::host, errors);
    }
    if rule.child("http").is_set() {
        let paths = rule.child("http.paths");
        paths.require(errors);
        for path in paths.items() {
            validate_path(&path, errors);
        }
    }
}

fn validate_path(rule: &Field<'_>, errors: &mut Errors) {
    let (path, kind) = (rule.child("path"), rule.child("pathType"));
    match kind.text() {
        _ if !kind.is_set() => {
            kind.required_because("pathType must be specified", errors);
            return;
        }
        "Exact" | "Prefix" => validate_plain_path(&path, errors),
        "ImplementationSpecific" => {
            if !path.is_empty() && !path.text().starts_with('/') {
                path.invalid("must be an absolute path", errors);
            }
        }
        _ => kind.not_supported(&["Exact", "ImplementationSpecific", "Prefix"], errors),
    }
    validate_backend(&rule.child("backend"), errors);
}

fn validate_plain_path(path: &Field<'_>, errors: &mut Errors) {
    if !path.text().starts_with('/') {
        path.invalid_as(path.text(), "must be an absolute path", errors);
    }
    for sequence in BAD_SEQUENCES {
        if path.text().contains(sequence) {
            path.invalid(format!("must not contain '{sequence}'"), errors);
        }
    }
    for ending in BAD_ENDINGS {
        if path.text().ends_with(ending) {
            path.invalid(format!("cannot end with '{ending}'"), errors);
        }
    }
}

fn validate_backend(backend: &Field<'_>, errors: &mut Errors) {
    let (resource, service) = (backend.child("resource"), backend.child("service"));
    match (resource.is_set(), service.is_set()) {
        (true, true) => backend.invalid_as("", "cannot set both resource and service backends", errors),
        (true, false) => validate_reference(&resource, errors),
        (false, true) => {
            service.child("name").require_syntax(names::dns1035_label, errors);
            validate_service_port(backend, &service, errors);
        }
        (false, false) => backend.invalid_as("", "resource or service backend is required", errors),
    }
}

fn validate_service_port(backend: &Field<'_>, service: &Field<'_>, errors: &mut Errors) {
    let (name, number) = (service.child("port.name"), service.child("port.number"));
    match (!name.is_empty(), number.int().unwrap_or_default() != 0) {
        (true, true) => backend.invalid_as("", "cannot set both port name & port number", errors),
        (true, false) => {
            name.syntax(syntax::port_name, errors);
        }
        (false, true) => {
            number.port_number(errors);
        }
        (false, false) => backend.required_because("port name or number is required", errors),
    }
}

/// A reference to an object of some group in the same namespace.
pub(crate) fn validate_reference(reference: &Field<'_>, errors: &mut Errors) {
    let group = reference.child("apiGroup");
    if group.is_set() {
        group.syntax(names::dns_subdomain, errors);
    }
    reference
        .child("kind")
        .require_syntax(names::path_segment, errors);
    reference
        .child("name")
        .require_syntax(names::path_segment, errors);
}

fn validate_status_update(ingress: &Value, old: &Value, errors: &mut Errors) {
    let before = read::list(read::at(old, &["status", "loadBalancer"]), "ingress");
    for point in Field::root(ingress).child("status.loadBalancer.ingress").items() {
        validate_load_balancer_point(&point, before, errors);
    }
}

/// Where a load balancer answers: an address, a DNS name, or both. What was accepted before stays.
pub(crate) fn validate_load_balancer_point(point: &Field<'_>, before: &[Value], errors: &mut Errors) {
    let (ip, hostname) = (point.child("ip"), point.child("hostname"));
    if !ip.is_empty() && !before.iter().any(|old| read::text(old, "ip") == ip.text()) {
        addresses::validate(ip.text(), &ip.path(), errors);
    }
    if !hostname.is_empty() {
        hostname.syntax(names::dns_subdomain, errors);
        if addresses::parse(hostname.text()).is_some() {
            hostname.invalid(NOT_AN_IP, errors);
        }
    }
}

fn warnings(ingress: &Value) -> Vec<String> {
    let annotated = !read::at(ingress, &["metadata", "annotations", CLASS_ANNOTATION]).is_null();
    if !annotated || !read::at(ingress, &["spec", "ingressClassName"]).is_null() {
        return Vec::new();
    }
    vec![format!(
        "annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"
    )]
}
