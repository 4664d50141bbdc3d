//! ResourceClaim, ResourceClaimTemplate and DeviceClass: devices that pods ask for. What is asked
//! never changes. Fields of features that are not enabled are dropped.

mod status;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    csi::validate_driver_name,
    field::{Errors, Field, IMMUTABLE},
    syntax,
};
use crate::{checks::same, label_selector, names, read, strategy::Strategy};

const MAX_REQUESTS: usize = 32;
const MAX_CONSTRAINTS: usize = 32;
const MAX_CONFIGS: usize = 32;
const MAX_SELECTORS: usize = 32;
const MAX_ALTERNATIVES: usize = 8;
const MAX_EXPRESSION_LENGTH: usize = 10 * 1024;
const MAX_PARAMETERS_LENGTH: usize = 10 * 1024;
const MAX_IDENTIFIER_LENGTH: usize = 32;
const NOT_A_REQUEST: &str =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

pub(crate) static CLAIM: Strategy = Strategy {
    default: |claim| default_requests(claim.pointer_mut("/spec/devices")),
    prepare_for_create: |claim| {
        claim["status"] = json!({});
        drop_disabled(claim.pointer_mut("/spec/devices"));
    },
    prepare_for_update: |claim, old| {
        super::keep_status(claim, old);
        drop_disabled(claim.pointer_mut("/spec/devices"));
    },
    validate: |claim, errors| validate_devices(&Field::root(claim).child("spec.devices"), errors),
    validate_update: |claim, old, errors| {
        validate_devices(&Field::root(claim).child("spec.devices"), errors);
        validate_same_spec(claim, old, "ResourceClaimSpec", errors);
    },
    prepare_for_status_update: super::keep_spec,
    validate_status_update: status::validate,
    ..Strategy::NONE
};

pub(crate) static TEMPLATE: Strategy = Strategy {
    default: |template| default_requests(template.pointer_mut("/spec/spec/devices")),
    prepare_for_create: |template| drop_disabled(template.pointer_mut("/spec/spec/devices")),
    prepare_for_update: |template, _| drop_disabled(template.pointer_mut("/spec/spec/devices")),
    validate: validate_template,
    validate_update: |template, old, errors| {
        validate_template(template, errors);
        validate_same_spec(template, old, "ResourceClaimTemplateSpec", errors);
    },
    ..Strategy::NONE
};

pub(crate) static DEVICE_CLASS: Strategy = Strategy {
    prepare_for_create: drop_extended_name,
    prepare_for_update: |class, _| drop_extended_name(class),
    validate: validate_class,
    validate_update: |class, _, errors| validate_class(class, errors),
    ..Strategy::NONE
};

/// Every way to ask for a device in a claim: requests and their alternatives.
fn each_request(devices: &mut Value, mut change: impl FnMut(&mut Value)) {
    for request in read::list_mut(devices, "requests") {
        if let Some(exactly) = request.get_mut("exactly") {
            change(exactly);
        }
        for alternative in read::list_mut(request, "firstAvailable") {
            change(alternative);
        }
    }
}

fn default_requests(devices: Option<&mut Value>) {
    let Some(devices) = devices else { return };
    each_request(devices, |request| {
        if read::text(request, "allocationMode").is_empty() {
            request["allocationMode"] = "ExactCount".into();
        }
        if read::text(request, "allocationMode") == "ExactCount"
            && read::int(request, "count").unwrap_or_default() == 0
        {
            request["count"] = 1.into();
        }
    });
}

fn drop_disabled(devices: Option<&mut Value>) {
    let Some(devices) = devices else { return };
    each_request(devices, |request| {
        let Value::Object(request) = request else { return };
        request.remove("tolerations");
        request.remove("capacity");
    });
    for constraint in read::list_mut(devices, "constraints") {
        constraint
            .as_object_mut()
            .map(|constraint| constraint.remove("distinctAttribute"));
    }
}

fn drop_extended_name(class: &mut Value) {
    if let Some(Value::Object(spec)) = class.get_mut("spec") {
        spec.remove("extendedResourceName");
    }
}

fn validate_same_spec(object: &Value, old: &Value, kind: &str, errors: &mut Errors) {
    let root = Field::root(object);
    let spec = root.child("spec");
    if !same(spec.value, read::get(old, "spec")) {
        spec.invalid_shown(kind, IMMUTABLE, errors);
    }
}

fn validate_template(template: &Value, errors: &mut Errors) {
    let root = Field::root(template);
    let metadata = root.child("spec.metadata");
    let labels = metadata.child("labels");
    label_selector::validate_labels(labels.value, &labels.path(), errors);
    for (field, value) in metadata.value.as_object().into_iter().flatten() {
        if !["labels", "annotations"].contains(&field.as_str()) && !same(value, &Value::Null) {
            metadata.child(field).forbidden("cannot be set", errors);
        }
    }
    validate_devices(&root.child("spec.spec.devices"), errors);
}

fn validate_devices(devices: &Field<'_>, errors: &mut Errors) {
    let known = Requests::of(devices.value);
    let requests = devices.child("requests");
    for request in requests.items() {
        validate_request(&request, errors);
    }
    requests.at_most(MAX_REQUESTS, errors);
    requests.unique_by("name", errors);
    let constraints = devices.child("constraints");
    for constraint in constraints.items() {
        known.validate_references(&constraint.child("requests"), errors);
        let attribute = constraint.child("matchAttribute");
        if attribute.is_set() {
            validate_full_name(&attribute, errors);
        } else {
            attribute.required(errors);
        }
    }
    constraints.at_most(MAX_CONSTRAINTS, errors);
    let configs = devices.child("config");
    for config in configs.items() {
        known.validate_references(&config.child("requests"), errors);
        validate_config(&config, errors);
    }
    configs.at_most(MAX_CONFIGS, errors);
}

/// The names requests and their alternatives go by.
struct Requests<'a>(BTreeMap<&'a str, BTreeSet<&'a str>>);

impl<'a> Requests<'a> {
    fn of(devices: &'a Value) -> Self {
        let requests = read::list(devices, "requests").iter();
        Self(
            requests
                .map(|request| {
                    let alternatives = read::list(request, "firstAvailable").iter();
                    (
                        read::text(request, "name"),
                        alternatives.map(|sub| read::text(sub, "name")).collect(),
                    )
                })
                .collect(),
        )
    }

    fn has(&self, name: &str) -> bool {
        let (request, alternative) = name.split_once('/').map_or((name, None), |(r, a)| (r, Some(a)));
        self.0
            .get(request)
            .is_some_and(|alternatives| alternative.is_none_or(|name| alternatives.contains(name)))
    }

    fn validate_references(&self, references: &Field<'_>, errors: &mut Errors) {
        for reference in references.items() {
            self.validate_reference(&reference, errors);
        }
        references.at_most(MAX_REQUESTS, errors);
        references.unique_items(errors);
    }

    fn validate_reference(&self, reference: &Field<'_>, errors: &mut Errors) {
        let name = reference.text();
        if name.matches('/').count() > 1 {
            reference.invalid(NOT_A_REQUEST, errors);
            return;
        }
        for part in name.split('/') {
            for complaint in names::dns_label(part) {
                reference.invalid_as(part, complaint, errors);
            }
        }
        if !self.has(name) {
            reference.invalid_as(name, NOT_A_REQUEST, errors);
        }
    }
}

fn validate_request(request: &Field<'_>, errors: &mut Errors) {
    request.child("name").syntax(names::dns_label, errors);
    let (exactly, alternatives) = (request.child("exactly"), request.child("firstAvailable"));
    for alternative in alternatives.items() {
        alternative.child("name").syntax(names::dns_label, errors);
        validate_wish(&alternative, errors);
    }
    alternatives.at_most(MAX_ALTERNATIVES, errors);
    alternatives.unique_by("name", errors);
    if exactly.is_set() {
        validate_wish(&exactly, errors);
    }
    match (exactly.is_set(), !alternatives.is_empty()) {
        (false, false) => {
            request.required_because("exactly one of `exactly` or `firstAvailable` is required", errors);
        }
        (true, true) => request.invalid_as(
            Value::Null,
            "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set",
            errors,
        ),
        _ => {}
    }
}

/// What one request or alternative asks for.
fn validate_wish(wish: &Field<'_>, errors: &mut Errors) {
    wish.child("deviceClassName")
        .require_syntax(names::dns_subdomain, errors);
    validate_selectors(&wish.child("selectors"), errors);
    let (mode, count) = (wish.child("allocationMode"), wish.child("count"));
    let number = count.int().unwrap_or_default();
    match mode.text() {
        "All" if number != 0 => {
            count.invalid("must not be specified when allocationMode is 'All'", errors);
        }
        "All" => {}
        "ExactCount" => {
            count.positive(errors);
        }
        _ => mode.not_supported(&["All", "ExactCount"], errors),
    }
}

fn validate_selectors(selectors: &Field<'_>, errors: &mut Errors) {
    for selector in selectors.items() {
        let expression = selector.child("cel.expression");
        if !selector.child("cel").is_set() {
            selector.child("cel").required(errors);
        } else if expression.text().len() > MAX_EXPRESSION_LENGTH {
            expression.too_long(MAX_EXPRESSION_LENGTH, errors);
        }
    }
    selectors.at_most(MAX_SELECTORS, errors);
}

fn validate_config(config: &Field<'_>, errors: &mut Errors) {
    let opaque = config.child("opaque");
    if !opaque.is_set() {
        opaque.required(errors);
        return;
    }
    validate_driver_name(&opaque.child("driver"), errors);
    let parameters = opaque.child("parameters");
    match parameters.value {
        Value::Null => parameters.required(errors),
        Value::Object(_) if parameters.value.to_string().len() > MAX_PARAMETERS_LENGTH => {
            parameters.too_long(MAX_PARAMETERS_LENGTH, errors);
        }
        Value::Object(_) => {}
        _ => parameters.invalid_as("<value omitted>", "must be a valid JSON object", errors),
    }
}

/// `domain/identifier`, or only an identifier.
pub(crate) fn validate_qualified_name(name: &str, place: &Field<'_>, errors: &mut Errors) {
    let identifier = match name.split_once('/') {
        _ if name.is_empty() => {
            place.required_because("name required", errors);
            return;
        }
        None => name,
        Some((domain, identifier)) => {
            if domain.is_empty() {
                place.required_because("the domain must not be empty", errors);
            } else {
                let domain = Value::from(domain);
                validate_driver_name(&Field::at(&domain, &place.path()), errors);
            }
            if identifier.is_empty() {
                place.required_because("the name must not be empty", errors);
                return;
            }
            identifier
        }
    };
    if identifier.len() > MAX_IDENTIFIER_LENGTH {
        place.too_long(MAX_IDENTIFIER_LENGTH, errors);
    }
    for complaint in syntax::c_identifier(identifier) {
        place.invalid_as(identifier, complaint, errors);
    }
}

fn validate_full_name(name: &Field<'_>, errors: &mut Errors) {
    validate_qualified_name(name.text(), name, errors);
    if !name.is_empty() && !name.text().contains('/') {
        name.invalid("must include a domain", errors);
    }
}

fn validate_class(class: &Value, errors: &mut Errors) {
    let root = Field::root(class);
    validate_selectors(&root.child("spec.selectors"), errors);
    let configs = root.child("spec.config");
    for config in configs.items() {
        validate_config(&config, errors);
    }
    configs.at_most(MAX_CONFIGS, errors);
}
