//! The four linked fields that say where a Service is reached: `clusterIP`, `clusterIPs`,
//! `ipFamilies` and `ipFamilyPolicy`. Users set some of them, the server infers the rest.

use std::{collections::BTreeSet, net::IpAddr};

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{is_external_name, is_headless, needs_health_check, type_change::node_ports};
use crate::{
    addresses,
    checks::same,
    objects::field::{Errors, Field},
    read,
};

/// An IP family as the API names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

impl Family {
    pub fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::V4 => Self::V6,
            Self::V6 => Self::V4,
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::V4, Self::V6]
            .into_iter()
            .find(|family| family.name() == name)
    }

    fn of(address: &str) -> Option<Self> {
        Some(match addresses::parse(address)? {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        })
    }
}

/// The plural and the singular agree, and every address fits its family.
pub(super) fn validate(spec: &Field<'_>, before: &Value, errors: &mut Errors) {
    if is_external_name(spec.value) {
        return;
    }
    let (ip, ips) = (spec.child("clusterIP"), spec.child("clusterIPs"));
    match (ip.is_empty(), ips.list().first()) {
        (false, None) => ips.required(errors),
        (false, Some(first)) if first != ip.value => {
            ips.invalid("first value must match `clusterIP`", errors);
        }
        (true, Some(_)) => ips.invalid("must be empty when `clusterIP` is not specified", errors),
        _ => {}
    }
    validate_families(&spec.child("ipFamilies"), errors);
    spec.child("ipFamilyPolicy")
        .optional_one_of(&["PreferDualStack", "RequireDualStack", "SingleStack"], errors);
    if validate_addresses(&ips, before, errors) {
        validate_dual_stack(spec, &ips, errors);
    }
}

fn validate_families(families: &Field<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for family in families.items() {
        family.one_of(&["IPv4", "IPv6"], errors);
        if !seen.insert(family.text()) {
            family.duplicate(errors);
        }
    }
}

fn validate_addresses(ips: &Field<'_>, before: &Value, errors: &mut Errors) -> bool {
    let accepted = read::list(before, "clusterIPs");
    let count = ips.list().len();
    let mut fine = true;
    for (index, ip) in ips.items().enumerate() {
        if index == 0 && ip.text() == "None" {
            if count > 1 {
                fine = false;
                ips.invalid("'None' must be the first and only value", errors);
            }
        } else if !accepted.contains(ip.value) {
            fine &= addresses::validate(ip.text(), &ip.path(), errors);
        }
    }
    if count > 2 {
        ips.invalid("may only hold up to 2 values", errors);
    }
    fine
}

fn validate_dual_stack(spec: &Field<'_>, ips: &Field<'_>, errors: &mut Errors) {
    let found: Vec<Option<Family>> = ips.items().map(|ip| Family::of(ip.text())).collect();
    if found.len() > 1 && !(found.contains(&Some(Family::V4)) && found.contains(&Some(Family::V6))) {
        ips.invalid("may specify no more than one IP for each IP family", errors);
    }
    if is_headless(spec.value) {
        return;
    }
    let families = read::list(spec.value, "ipFamilies");
    for (index, (ip, family)) in ips.items().zip(families).enumerate() {
        let family = family.as_str().unwrap_or_default();
        if Family::named(family).is_some() && Family::of(ip.text()) != Family::named(family) {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            ip.invalid(detail, errors);
        }
    }
}

/// Fills in what the server knows of the linked fields, before anything is allocated. `old` is null
/// on creation; `families` are those of the cluster, its own first. Complaints end the request.
pub fn settle(service: &mut Value, old: &Value, families: &[Family]) -> Errors {
    let before = read::get(old, "spec");
    let mut errors = Vec::new();
    let Some(spec) = service.get_mut("spec") else {
        return errors;
    };
    if !before.is_null() {
        keep_allocated(spec, before);
    }
    normalize(spec, before);
    if is_external_name(spec) || prefers_what_it_has(spec, before) {
        return errors;
    }
    settle_policy(spec, before);
    validate(&Field::at(spec, &Path::new("spec")), before, &mut errors);
    if errors.is_empty() {
        settle_families(spec, before, families, &mut errors);
    }
    errors
}

/// A client that sends what it sent before gets what it got before.
fn keep_allocated(spec: &mut Value, before: &Value) {
    if !is_external_name(spec) && !is_external_name(before) {
        for field in ["clusterIP", "clusterIPs"] {
            if same(read::get(spec, field), &Value::Null) && !read::get(before, field).is_null() {
                spec[field] = read::get(before, field).clone();
            }
        }
    }
    if wants_node_ports(spec) && wants_node_ports(before) {
        keep_node_ports(spec, before);
    }
    if needs_health_check(spec)
        && needs_health_check(before)
        && read::int(spec, "healthCheckNodePort").unwrap_or_default() == 0
    {
        spec["healthCheckNodePort"] = read::get(before, "healthCheckNodePort").clone();
    }
}

pub(super) fn wants_node_ports(spec: &Value) -> bool {
    match read::text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => read::get(spec, "allocateLoadBalancerNodePorts") != false,
        _ => false,
    }
}

/// Ports are recognised by name.
fn keep_node_ports(spec: &mut Value, before: &Value) {
    let used: BTreeSet<i64> = node_ports(before)
        .intersection(&node_ports(spec))
        .copied()
        .collect();
    for port in read::list_mut(spec, "ports") {
        if read::int(port, "nodePort").unwrap_or_default() != 0 {
            continue;
        }
        let name = read::text(port, "name");
        let known = read::list(before, "ports")
            .iter()
            .rfind(|old| read::text(old, "name") == name);
        let number = known
            .and_then(|old| read::int(old, "nodePort"))
            .unwrap_or_default();
        if number != 0 && !used.contains(&number) {
            port["nodePort"] = number.into();
        }
    }
}

/// Older clients know only the singular.
fn normalize(spec: &mut Value, before: &Value) {
    let ip = read::text(spec, "clusterIP").to_owned();
    let has_ips = !read::list(spec, "clusterIPs").is_empty();
    if before.is_null() {
        if !ip.is_empty() && !has_ips {
            spec["clusterIPs"] = json!([ip]);
        }
        return;
    }
    let old_ip = read::text(before, "clusterIP");
    if !has_ips && !read::list(before, "clusterIPs").is_empty() && ip == old_ip {
        spec["clusterIPs"] = read::get(before, "clusterIPs").clone();
    }
    if ip != old_ip && same(read::get(spec, "clusterIPs"), read::get(before, "clusterIPs")) {
        if ip.is_empty() {
            spec.as_object_mut().map(|spec| spec.remove("clusterIPs"));
        } else {
            spec["clusterIPs"] = json!([ip]);
        }
    }
}

/// A Service that prefers two stacks is not changed because the cluster's stacks changed.
fn prefers_what_it_has(spec: &Value, before: &Value) -> bool {
    let prefers = |spec| read::text(spec, "ipFamilyPolicy") == "PreferDualStack";
    let unchanged = |field| same(read::get(spec, field), read::get(before, field));
    !before.is_null()
        && prefers(spec)
        && (prefers(before) || read::get(before, "ipFamilyPolicy").is_null())
        && ["type", "clusterIPs", "ipFamilies"].into_iter().all(unchanged)
}

fn settle_policy(spec: &mut Value, before: &Value) {
    if read::has(spec, "ipFamilyPolicy") {
        return;
    }
    spec["ipFamilyPolicy"] = if read::has(before, "ipFamilyPolicy") {
        read::get(before, "ipFamilyPolicy").clone()
    } else if is_headless_without_selector(spec) {
        "RequireDualStack".into()
    } else {
        "SingleStack".into()
    };
}

fn is_headless_without_selector(spec: &Value) -> bool {
    read::text(spec, "clusterIP") == "None" && read::entries(spec, "selector").next().is_none()
}

fn settle_families(spec: &mut Value, before: &Value, cluster: &[Family], errors: &mut Errors) {
    if !before.is_null() {
        settle_downgrade(spec, before, errors);
    }
    check_single_stack(spec, errors);
    infer_families(spec, cluster, errors);
    if !errors.is_empty() {
        return;
    }
    let own = cluster.first().copied().unwrap_or(Family::V4);
    if is_headless_without_selector(spec) {
        add_families(spec, own, true);
        return;
    }
    check_configured(spec, cluster, errors);
    if errors.is_empty() {
        add_families(spec, own, cluster.len() == 2);
    }
}

fn is_single_stack(spec: &Value) -> bool {
    read::text(spec, "ipFamilyPolicy") == "SingleStack"
}

/// Asking for a single stack gives the second address back; giving it back needs asking.
fn settle_downgrade(spec: &mut Value, before: &Value, errors: &mut Errors) {
    const FIELDS: [(&str, &str); 2] = [
        (
            "clusterIPs",
            "must be 'SingleStack' to release the secondary cluster IP",
        ),
        (
            "ipFamilies",
            "must be 'SingleStack' to release the secondary IP family",
        ),
    ];
    let single = is_single_stack(spec);
    for (field, complaint) in FIELDS {
        let (new, old) = (read::list(spec, field), read::list(before, field));
        if single && new == old && new.len() > 1 {
            spec[field] = json!([new[0]]);
        } else if !single && !new.is_empty() && new.len() < old.len() {
            complain_about_policy(spec, complaint, errors);
        }
    }
}

fn check_single_stack(spec: &Value, errors: &mut Errors) {
    if !is_single_stack(spec) {
        return;
    }
    for (field, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
        if read::list(spec, field).len() == 2 {
            let detail =
                format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            complain_about_policy(spec, &detail, errors);
        }
    }
}

fn complain_about_policy(spec: &Value, detail: &str, errors: &mut Errors) {
    let path = Path::new("spec").child("ipFamilyPolicy");
    errors.push(FieldError::invalid(
        &path,
        read::get(spec, "ipFamilyPolicy"),
        detail,
    ));
}

/// Addresses tell their family.
fn infer_families(spec: &mut Value, cluster: &[Family], errors: &mut Errors) {
    let ips = read::get(spec, "clusterIPs").clone();
    for (index, ip) in ips.as_array().into_iter().flatten().enumerate() {
        if ip == "None" || index < read::list(spec, "ipFamilies").len() {
            continue;
        }
        let Some(family) = Family::of(ip.as_str().unwrap_or_default()) else {
            continue;
        };
        if cluster.contains(&family) {
            push_family(spec, family);
        } else {
            let path = Path::new("spec").child("clusterIPs").index(index);
            let detail = format!("{} is not configured on this cluster", family.name());
            errors.push(FieldError::invalid(&path, &ips, detail));
        }
    }
}

fn check_configured(spec: &Value, cluster: &[Family], errors: &mut Errors) {
    if read::text(spec, "ipFamilyPolicy") == "RequireDualStack" && cluster.len() < 2 {
        complain_about_policy(
            spec,
            "this cluster is not configured for dual-stack services",
            errors,
        );
    }
    for (index, family) in read::list(spec, "ipFamilies").iter().enumerate() {
        if !Family::named(family.as_str().unwrap_or_default()).is_some_and(|found| cluster.contains(&found)) {
            let path = Path::new("spec").child("ipFamilies").index(index);
            let error = FieldError::invalid(&path, family, "not configured on this cluster");
            errors.push(error);
        }
    }
}

/// The cluster's own family when none was asked for, and the other one where two are wanted.
fn add_families(spec: &mut Value, own: Family, two_stacks: bool) {
    if read::list(spec, "ipFamilies").is_empty() {
        push_family(spec, own);
    }
    if let [only] = read::list(spec, "ipFamilies")
        && two_stacks
        && !is_single_stack(spec)
        && let Some(family) = Family::named(only.as_str().unwrap_or_default())
    {
        push_family(spec, family.other());
    }
}

fn push_family(spec: &mut Value, family: Family) {
    match &mut spec["ipFamilies"] {
        Value::Array(families) => families.push(family.name().into()),
        missing => *missing = json!([family.name()]),
    }
}
