//! The whole of a pod's spec, in the order in which the real server complains.

use std::collections::{BTreeSet, HashSet};

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{
    Options, affinity, containers, containers::Surroundings, network, resource_claims, resources, security,
    tolerations, topology_spread, volumes, windows,
};
use crate::{
    checks::{Errors, one_of, optional_syntax, range_error, syntax_of},
    label_selector::validate_labels,
    names,
    read::{get, has, int, list, text},
};

const RESTART_POLICIES: &[&str] = &["Always", "OnFailure", "Never"];
const DNS_POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const PREEMPTION_POLICIES: &[&str] = &["PreemptLowerPriority", "Never"];

/// Checks a spec. Pods give their metadata, templates have none that matters here.
pub(super) fn validate(
    spec: &Value,
    meta: Option<&Value>,
    options: Options,
    path: &Path,
    errors: &mut Errors,
) {
    if !has(spec, "terminationGracePeriodSeconds") {
        errors.push(FieldError::required(
            &path.child("terminationGracePeriodSeconds"),
            "",
        ));
    }
    let volumes = volumes::validate(spec, meta, options, path, errors);
    let claims: BTreeSet<&str> = list(spec, "resourceClaims")
        .iter()
        .map(|claim| text(claim, "name"))
        .filter(|name| !name.is_empty())
        .collect();
    resource_claims::validate(spec, meta, path, errors);
    let pod = Surroundings {
        spec,
        volumes,
        claims,
        options,
    };
    containers::validate(&pod, path, errors);
    containers::validate_init(&pod, path, errors);
    containers::validate_ephemeral(&pod, path, errors);
    resources::validate_pod(spec, &pod.claims, options, path, errors);
    network::validate_host_ports(spec, options, path, errors);
    one_of(spec, "restartPolicy", RESTART_POLICIES, path, errors);
    one_of(spec, "dnsPolicy", DNS_POLICIES, path, errors);
    validate_labels(get(spec, "nodeSelector"), &path.child("nodeSelector"), errors);
    security::validate_pod(spec, options, &path.child("securityContext"), errors);
    affinity::validate(spec, options, path, errors);
    network::validate_dns_config(spec, path, errors);
    validate_gates(spec, path, errors);
    topology_spread::validate(spec, options, path, errors);
    windows::validate_host_process(spec, path, errors);
    security::validate_host_users(spec, options, path, errors);
    validate_names(spec, path, errors);
    if has(spec, "overhead") {
        resources::validate_overhead(get(spec, "overhead"), options, &path.child("overhead"), errors);
    }
    windows::validate_os(spec, path, errors);
}

fn validate_names(spec: &Value, path: &Path, errors: &mut Errors) {
    optional_syntax(spec, "serviceAccountName", names::dns_subdomain, path, errors);
    optional_syntax(spec, "nodeName", names::dns_subdomain, path, errors);
    let longest = i64::from(i32::MAX);
    let deadline = int(spec, "activeDeadlineSeconds");
    if let Some(deadline) = deadline.filter(|deadline| !(1..=longest).contains(deadline)) {
        let path = path.child("activeDeadlineSeconds");
        errors.push(FieldError::invalid(
            &path,
            &json!(deadline),
            range_error(1, longest),
        ));
    }
    optional_syntax(spec, "hostname", names::dns_label, path, errors);
    optional_syntax(spec, "subdomain", names::dns_label, path, errors);
    tolerations::validate(list(spec, "tolerations"), &path.child("tolerations"), errors);
    network::validate_host_aliases(spec, path, errors);
    optional_syntax(spec, "priorityClassName", names::dns_subdomain, path, errors);
    if has(spec, "runtimeClassName") {
        crate::checks::syntax(spec, "runtimeClassName", names::dns_subdomain, path, errors);
    }
    if has(spec, "preemptionPolicy") {
        one_of(spec, "preemptionPolicy", PREEMPTION_POLICIES, path, errors);
    }
}

fn validate_gates(spec: &Value, path: &Path, errors: &mut Errors) {
    for (i, gate) in list(spec, "readinessGates").iter().enumerate() {
        let path = path.child("readinessGates").index(i).child("conditionType");
        syntax_of(text(gate, "conditionType"), names::qualified_name, &path, errors);
    }
    let mut seen = HashSet::new();
    for (i, gate) in list(spec, "schedulingGates").iter().enumerate() {
        let path = path.child("schedulingGates").index(i);
        let name = text(gate, "name");
        syntax_of(name, names::qualified_name, &path, errors);
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&path, &json!(name)));
        }
    }
}
