//! Requests and limits: which resources there are, and how the two relate.

use std::collections::BTreeSet;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Options, all_containers, resource_claims};
use crate::{
    checks::{Errors, syntax_of},
    field::Field,
    pod_resources,
    quantity::Quantity,
    read::{entries, get, has, list, text},
    resource_list::{Amounts, amount_of, amounts},
    resource_names::{self, is_huge_pages, is_overcommit_allowed},
};

const OF_PODS: &[&str] = &["cpu", "memory"];

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

fn container_name(name: &str, path: &Path, errors: &mut Errors) {
    syntax_of(name, resource_names::of_containers, path, errors);
}

fn pod_name(name: &str, path: &Path, errors: &mut Errors) {
    let before = errors.len();
    syntax_of(name, resource_names::standard, path, errors);
    if errors.len() == before && !is_of_pods(name) {
        let supported = ["cpu", "hugepages-", "memory"];
        errors.push(FieldError::not_supported(path, &json!(name), &supported));
    }
}

/// Whether a pod as a whole can have a request or limit of a resource.
pub(super) fn is_of_pods(name: &str) -> bool {
    OF_PODS.contains(&name) || is_huge_pages(name)
}

fn validate_lists(
    resources: &Value,
    name_rule: NameRule,
    options: Options,
    path: &Path,
    errors: &mut Errors,
) {
    let (mut has_compute, mut has_huge_pages) = (false, false);
    let mut each = |list: &str, name: &str, value: &Value, errors: &mut Errors| {
        let path = path.child(list).key(name);
        name_rule(name, &path, errors);
        resource_names::validate_amount(name, &Field::at(value, &path), errors);
        has_compute |= OF_PODS.contains(&name);
        path
    };
    let mut check_huge_page = |name: &str, quantity: Quantity, path: &Path, errors: &mut Errors| {
        if is_huge_pages(name) {
            has_huge_pages = true;
            if !options.allow_indivisible_huge_pages && !is_divisible(name, quantity) {
                let quantity = quantity.to_string();
                let detail = format!("{quantity} is not positive integer multiple of {name}");
                errors.push(FieldError::invalid(path, &json!(quantity), detail));
            }
        }
    };
    for (name, value) in entries(resources, "limits") {
        let quantity = amount_of(value);
        let path = each("limits", name, value, errors);
        check_huge_page(name, quantity, &path, errors);
    }
    for (name, value) in entries(resources, "requests") {
        let quantity = amount_of(value);
        let item_path = each("requests", name, value, errors);
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
        if !is_overcommit_allowed(name) {
            let detail = "Limit must be set for non overcommitable resources";
            errors.push(FieldError::required(&path.child("limits"), detail));
        }
        return;
    }
    let limit = amount_of(limit);
    let relation = if request != limit && !is_overcommit_allowed(name) {
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
        |(name, value): (&String, &Value)| is_huge_pages(name) && !is_divisible(name, amount_of(value));
    all_containers(spec).any(|container| {
        let resources = get(container, "resources");
        entries(resources, "limits").any(indivisible) || entries(resources, "requests").any(indivisible)
    }) || entries(spec, "overhead").any(indivisible)
}

fn validate_pod_against_containers(spec: &Value, resources: &Value, path: &Path, errors: &mut Errors) {
    validate_aggregate(spec, resources, "requests", |_| true, path, errors);
    validate_aggregate(spec, resources, "limits", is_huge_pages, path, errors);
    for (i, container) in list(spec, "containers").iter().enumerate() {
        for (name, limit) in entries(get(container, "resources"), "limits") {
            let of_pod = get(get(resources, "limits"), name);
            if !of_pod.is_null() && amount_of(limit) > amount_of(of_pod) {
                let path = path.child("containers").index(i).key(name).child("limits");
                let detail = format!(
                    "must be less than or equal to pod limits of {}",
                    amount_of(of_pod)
                );
                errors.push(FieldError::invalid(
                    &path,
                    &json!(amount_of(limit).to_string()),
                    detail,
                ));
            }
        }
    }
}

/// What a pod has must be enough for its containers together.
fn validate_aggregate(
    spec: &Value,
    resources: &Value,
    list_name: &str,
    counts: impl Fn(&str) -> bool,
    path: &Path,
    errors: &mut Errors,
) {
    for (name, used) in total(spec, list_name) {
        let of_pod = get(get(resources, list_name), name);
        if counts(name) && !of_pod.is_null() && used > amount_of(of_pod) {
            let detail =
                format!("must be greater than or equal to aggregate container {list_name} of {used}");
            let of_pod = json!(amount_of(of_pod).to_string());
            errors.push(FieldError::invalid(
                &path.child(list_name).key(name),
                &of_pod,
                detail,
            ));
        }
    }
}

/// What the containers of a pod need at most at one time.
pub(super) fn total<'a>(spec: &'a Value, list_name: &str) -> Amounts<'a> {
    pod_resources::total(spec, |container, _| {
        amounts(get(container, "resources"), list_name)
    })
}
