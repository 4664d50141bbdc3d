//! What may change of a Service: not its primary address, and not its load balancer's class.

use manifests::field::FieldError;
use serde_json::Value;

use super::{is_external_name, is_headless, is_load_balancer, needs_health_check, validation};
use crate::{
    checks::same,
    objects::{
        field::{Errors, Field},
        ingress::validate_load_balancer_point,
    },
    read,
};

const SET_ONCE: &str = "may not change once set";

pub(super) fn validate(service: &Value, old: &Value, errors: &mut Errors) {
    let root = Field::root(service);
    let spec = root.child("spec");
    let before = read::get(old, "spec");
    if !is_external_name(spec.value) && !is_external_name(before) {
        validate_cluster_ips(&spec, before, errors);
        validate_families(&spec, before, errors);
    }
    let class = spec.child("loadBalancerClass");
    if is_load_balancer(spec.value)
        && is_load_balancer(before)
        && class.value != read::get(before, "loadBalancerClass")
    {
        class.invalid(SET_ONCE, errors);
    }
    validation::validate_load_balancer_class(&spec, errors);
    let port = spec.child("healthCheckNodePort");
    if needs_health_check(before)
        && needs_health_check(spec.value)
        && !same(port.value, read::get(before, "healthCheckNodePort"))
    {
        port.forbidden("field is immutable", errors);
    }
    validation::validate(service, old, errors);
}

fn validate_cluster_ips(spec: &Field<'_>, before: &Value, errors: &mut Errors) {
    if is_headless(spec.value) && is_headless(before) {
        return;
    }
    let ips = spec.child("clusterIPs");
    let (new, old) = (ips.list(), read::list(before, "clusterIPs"));
    let complain = |index: usize, detail: &str, errors: &mut Errors| {
        let error = FieldError::invalid(&ips.path().index(index), ips.value, detail);
        errors.push(error);
    };
    if new.len() == old.len() {
        for (index, _) in old
            .iter()
            .zip(new)
            .enumerate()
            .filter(|(_, (old, new))| old != new)
        {
            complain(index, SET_ONCE, errors);
        }
        return;
    }
    if new.is_empty() {
        complain(0, "primary clusterIP can not be unset", errors);
    }
    if let (Some(new), Some(old)) = (new.first(), old.first())
        && new != old
    {
        complain(0, SET_ONCE, errors);
    }
    if old.len() > new.len() && new.len() == 1 {
        require_single_stack(
            spec,
            "must be set to 'SingleStack' when releasing the secondary clusterIP",
            errors,
        );
    }
}

fn validate_families(spec: &Field<'_>, before: &Value, errors: &mut Errors) {
    // Only services that stay with an address of their own are bound to its family.
    if is_headless(spec.value) || is_headless(before) {
        return;
    }
    let families = spec.child("ipFamilies");
    let (new, old) = (families.list(), read::list(before, "ipFamilies"));
    let complain = |shown: &Value, detail: &str, errors: &mut Errors| {
        let error = FieldError::invalid(&families.path().index(0), shown, detail);
        errors.push(error);
    };
    if new.len() == old.len() {
        for _ in old.iter().zip(new).filter(|(old, new)| old != new) {
            complain(families.value, SET_ONCE, errors);
        }
        return;
    }
    let ips = spec.child("clusterIPs");
    if old.len() > new.len() && ips.is_empty() {
        complain(families.value, "primary ipFamily can not be unset", errors);
    }
    if let (Some(new), Some(old)) = (new.first(), old.first())
        && new != old
    {
        complain(ips.value, SET_ONCE, errors);
    }
    if old.len() > new.len() && new.len() == 1 {
        require_single_stack(
            spec,
            "must be set to 'SingleStack' when releasing the secondary ipFamily",
            errors,
        );
    }
}

fn require_single_stack(spec: &Field<'_>, detail: &str, errors: &mut Errors) {
    let policy = spec.child("ipFamilyPolicy");
    if policy.text() != "SingleStack" {
        policy.invalid(detail, errors);
    }
}

pub(super) fn validate_status(service: &Value, old: &Value, errors: &mut Errors) {
    let root = Field::root(service);
    let points = root.child("status.loadBalancer.ingress");
    if !is_load_balancer(read::get(service, "spec")) {
        if !points.is_empty() {
            points.forbidden("may only be used when `spec.type` is 'LoadBalancer'", errors);
        }
        return;
    }
    let before = read::list(read::at(old, &["status", "loadBalancer"]), "ingress");
    for point in points.items() {
        let (ip, mode) = (point.child("ip"), point.child("ipMode"));
        let mut mode_errors = Vec::new();
        match (!ip.is_empty(), mode.is_set()) {
            (true, false) => mode.required_because("must be specified when `ip` is set", &mut mode_errors),
            (false, true) => mode.forbidden("may not be specified when `ip` is not set", &mut mode_errors),
            (true, true) => {
                mode.one_of(&["Proxy", "VIP"], &mut mode_errors);
            }
            (false, false) => {}
        }
        validate_load_balancer_point(&point, before, errors);
        errors.append(&mut mode_errors);
    }
}
