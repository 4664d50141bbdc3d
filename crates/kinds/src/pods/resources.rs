//! Requests and limits: which resources there are, and how the two relate.

use std::collections::{BTreeMap, BTreeSet};

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Options, all_containers, is_sidecar, resource_claims};
use crate::{
    checks::{Errors, NOT_NEGATIVE, syntax_of},
    names,
    quantity::Quantity,
    read::{entries, get, has, list, text},
};

/// Resources that have a meaning of their own without a prefix.
const STANDARD: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

/// Resources that are counted, not measured.
const COUNTED: &[&str] = &[
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

const OF_CONTAINERS: &[&str] = &["cpu", "memory", "ephemeral-storage"];
const OF_PODS: &[&str] = &["cpu", "memory"];

pub(super) fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether a container may ask for less than it may use.
pub(super) fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// The amount in a JSON value, which decoding has checked.
pub(super) fn amount(value: &Value) -> Quantity {
    match value {
        Value::String(text) => Quantity::parse(text).unwrap_or(Quantity::ZERO),
        other => Quantity::parse(&other.to_string()).unwrap_or(Quantity::ZERO),
    }
}

/// Which names a list of resources may have.
type NameRule = fn(&str, &Path, &mut Errors);

/// Checks `resources` of a container; `path` is that of the resources.
pub(super) fn validate(
    resources: &Value,
    claims: &BTreeSet<&str>,
    options: Options,
    path: &Path,
    errors: &mut Errors,
) {
    validate_lists(resources, container_name, options, path, errors);
    resource_claims::validate_uses(list(resources, "claims"), claims, path, errors);
}

/// Checks what a runtime class adds to a pod.
pub(super) fn validate_overhead(overhead: &Value, options: Options, path: &Path, errors: &mut Errors) {
    validate_lists(
        &json!({"limits": overhead}),
        container_name,
        options,
        path,
        errors,
    );
}

/// Checks the resources of a pod as a whole, which its containers share.
pub(super) fn validate_pod(
    spec: &Value,
    claims: &BTreeSet<&str>,
    options: Options,
    path: &Path,
    errors: &mut Errors,
) {
    let resources = get(spec, "resources");
    if resources.is_null() {
        return;
    }
    let path = path.child("resources");
    if text(get(spec, "os"), "name") == "windows" {
        errors.push(FieldError::forbidden(&path, "may not be set for a windows pod"));
        return;
    }
    if has(resources, "claims") {
        let detail = "claims may not be set for Resources at pod-level";
        errors.push(FieldError::forbidden(&path.child("claims"), detail));
    }
    validate_lists(resources, pod_name, options, &path, errors);
    resource_claims::validate_uses(list(resources, "claims"), claims, &path, errors);
    validate_pod_against_containers(spec, resources, &path, errors);
}

fn standard_name(name: &str, path: &Path, errors: &mut Errors) {
    let before = errors.len();
    syntax_of(name, names::qualified_name, path, errors);
    let standard = STANDARD.contains(&name) || is_huge_page(name) || name.starts_with("requests.hugepages-");
    if errors.len() == before && !name.contains('/') && !standard {
        let detail = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid(path, &json!(name), detail));
    }
}

fn container_name(name: &str, path: &Path, errors: &mut Errors) {
    standard_name(name, path, errors);
    let detail = if !name.contains('/') {
        if OF_CONTAINERS.contains(&name) || is_huge_page(name) {
            return;
        }
        "must be a standard resource for containers"
    } else if !is_native(name) && !is_extended(name) {
        "doesn't follow extended resource name standard"
    } else {
        return;
    };
    errors.push(FieldError::invalid(path, &json!(name), detail));
}

fn pod_name(name: &str, path: &Path, errors: &mut Errors) {
    let before = errors.len();
    standard_name(name, path, errors);
    if errors.len() == before && !is_of_pods(name) {
        let supported = ["cpu", "hugepages-", "memory"];
        errors.push(FieldError::not_supported(path, &json!(name), &supported));
    }
}

/// Whether a pod as a whole can have a request or limit of a resource.
pub(super) fn is_of_pods(name: &str) -> bool {
    OF_PODS.contains(&name) || is_huge_page(name)
}

fn validate_lists(
    resources: &Value,
    name_rule: NameRule,
    options: Options,
    path: &Path,
    errors: &mut Errors,
) {
    let (mut has_compute, mut has_huge_pages) = (false, false);
    let mut each = |list: &str, name: &str, quantity: Quantity, errors: &mut Errors| {
        let path = path.child(list).key(name);
        name_rule(name, &path, errors);
        validate_amount(name, quantity, &path, errors);
        has_compute |= OF_PODS.contains(&name);
        path
    };
    let mut check_huge_page = |name: &str, quantity: Quantity, path: &Path, errors: &mut Errors| {
        if is_huge_page(name) {
            has_huge_pages = true;
            if !options.allow_indivisible_huge_pages && !is_divisible(name, quantity) {
                let quantity = quantity.to_string();
                let detail = format!("{quantity} is not positive integer multiple of {name}");
                errors.push(FieldError::invalid(path, &json!(quantity), detail));
            }
        }
    };
    for (name, value) in entries(resources, "limits") {
        let quantity = amount(value);
        let path = each("limits", name, quantity, errors);
        check_huge_page(name, quantity, &path, errors);
    }
    for (name, value) in entries(resources, "requests") {
        let quantity = amount(value);
        let item_path = each("requests", name, quantity, errors);
        validate_against_limit(name, quantity, resources, path, errors);
        check_huge_page(name, quantity, &item_path, errors);
    }
    if has_huge_pages && !has_compute {
        errors.push(FieldError::forbidden(path, "HugePages require cpu or memory"));
    }
}

fn validate_against_limit(
    name: &str,
    request: Quantity,
    resources: &Value,
    path: &Path,
    errors: &mut Errors,
) {
    let limit = get(get(resources, "limits"), name);
    if limit.is_null() {
        if !may_overcommit(name) {
            let detail = "Limit must be set for non overcommitable resources";
            errors.push(FieldError::required(&path.child("limits"), detail));
        }
        return;
    }
    let limit = amount(limit);
    let relation = if request != limit && !may_overcommit(name) {
        "equal to"
    } else if request > limit {
        "less than or equal to"
    } else {
        return;
    };
    let detail = format!("must be {relation} {name} limit of {limit}");
    errors.push(FieldError::invalid(
        &path.child("requests"),
        &json!(request.to_string()),
        detail,
    ));
}

/// Checks one amount: not negative, and whole where resources are counted.
pub(super) fn validate_amount(name: &str, quantity: Quantity, path: &Path, errors: &mut Errors) {
    if quantity.is_negative() {
        errors.push(FieldError::invalid(
            path,
            &json!(quantity.to_string()),
            NOT_NEGATIVE,
        ));
    }
    let counted = COUNTED.contains(&name) || is_extended(name);
    if counted && quantity.milli_value() % 1000 != 0 {
        errors.push(FieldError::invalid(
            path,
            &json!(quantity.to_string()),
            "must be an integer",
        ));
    }
}

fn is_divisible(name: &str, quantity: Quantity) -> bool {
    let size = name
        .strip_prefix("hugepages-")
        .and_then(|size| Quantity::parse(size).ok());
    size.is_some_and(|size| {
        !size.is_zero()
            && !size.is_negative()
            && size.milli_value() % 1000 == 0
            && quantity.value() % size.value() == 0
    })
}

/// Whether some container already has an amount of huge pages that is not a whole number of pages.
pub(super) fn has_indivisible_huge_pages(spec: &Value) -> bool {
    let indivisible =
        |(name, value): (&String, &Value)| is_huge_page(name) && !is_divisible(name, amount(value));
    all_containers(spec).any(|container| {
        let resources = get(container, "resources");
        entries(resources, "limits").any(indivisible) || entries(resources, "requests").any(indivisible)
    }) || entries(spec, "overhead").any(indivisible)
}

fn validate_pod_against_containers(spec: &Value, resources: &Value, path: &Path, errors: &mut Errors) {
    for (name, used) in total(spec, "requests") {
        let of_pod = get(get(resources, "requests"), &name);
        if !of_pod.is_null() && used > amount(of_pod) {
            let detail = format!("must be greater than or equal to aggregate container requests of {used}");
            let of_pod = json!(amount(of_pod).to_string());
            errors.push(FieldError::invalid(
                &path.child("requests").key(&name),
                &of_pod,
                detail,
            ));
        }
    }
    for (name, used) in total(spec, "limits")
        .into_iter()
        .filter(|(name, _)| is_huge_page(name))
    {
        let of_pod = get(get(resources, "limits"), &name);
        if !of_pod.is_null() && used > amount(of_pod) {
            let detail = format!("must be greater than or equal to aggregate container limits of {used}");
            let of_pod = json!(amount(of_pod).to_string());
            errors.push(FieldError::invalid(
                &path.child("limits").key(&name),
                &of_pod,
                detail,
            ));
        }
    }
    for (i, container) in list(spec, "containers").iter().enumerate() {
        for (name, limit) in entries(get(container, "resources"), "limits") {
            let of_pod = get(get(resources, "limits"), name);
            if !of_pod.is_null() && amount(limit) > amount(of_pod) {
                let path = path.child("containers").index(i).key(name).child("limits");
                let detail = format!("must be less than or equal to pod limits of {}", amount(of_pod));
                errors.push(FieldError::invalid(
                    &path,
                    &json!(amount(limit).to_string()),
                    detail,
                ));
            }
        }
    }
}

/// What the containers of a pod need at most at one time: all together, or one starting up beside
/// the sidecars that already run.
pub(super) fn total(spec: &Value, list_name: &str) -> BTreeMap<String, Quantity> {
    let mut running = BTreeMap::new();
    for container in list(spec, "containers") {
        add(&mut running, get(get(container, "resources"), list_name));
    }
    let mut sidecars = BTreeMap::new();
    let mut starting: BTreeMap<String, Quantity> = BTreeMap::new();
    for container in list(spec, "initContainers") {
        let needs = get(get(container, "resources"), list_name);
        let mut now = sidecars.clone();
        add(&mut now, needs);
        if is_sidecar(container) {
            add(&mut running, needs);
            sidecars.clone_from(&now);
        }
        keep_greatest(&mut starting, now);
    }
    keep_greatest(&mut running, starting);
    running
}

fn add(sum: &mut BTreeMap<String, Quantity>, list: &Value) {
    for (name, value) in list.as_object().into_iter().flatten() {
        let quantity = amount(value);
        sum.entry(name.clone())
            .and_modify(|sum| *sum = sum.plus(quantity))
            .or_insert(quantity);
    }
}

fn keep_greatest(greatest: &mut BTreeMap<String, Quantity>, other: BTreeMap<String, Quantity>) {
    for (name, quantity) in other {
        greatest
            .entry(name)
            .and_modify(|most| *most = quantity.max(*most))
            .or_insert(quantity);
    }
}
