//! ResourceSlice: the devices a driver has, on one node or for many.

use serde_json::Value;

use super::{
    csi::validate_driver_name,
    field::{Errors, Field},
    node_selector,
    resource_claim::validate_qualified_name,
};
use crate::{names, read, strategy::Strategy};

const MAX_DEVICES: usize = 128;
const MAX_ATTRIBUTES: usize = 32;
const MAX_VALUE_LENGTH: usize = 64;
const MAX_POOL_NAME_LENGTH: usize = 253;
const PLACES: &str =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

pub(crate) static STRATEGY: Strategy = Strategy {
    prepare_for_create: drop_disabled,
    prepare_for_update: |slice, _| drop_disabled(slice),
    validate,
    validate_update: |slice, old, errors| {
        validate(slice, errors);
        let root = Field::root(slice);
        for field in ["pool.name", "driver", "nodeName"] {
            let path: Vec<&str> = std::iter::once("spec").chain(field.split('.')).collect();
            root.child("spec")
                .child(field)
                .immutable(read::at(old, &path), errors);
        }
    },
    ..Strategy::NONE
};

/// Drops the fields of features that are not enabled.
fn drop_disabled(slice: &mut Value) {
    let Some(spec) = slice.get_mut("spec") else { return };
    if let Value::Object(spec) = spec {
        spec.remove("sharedCounters");
        spec.remove("perDeviceNodeSelection");
    }
    for device in read::list_mut(spec, "devices") {
        let Value::Object(device) = device else { continue };
        for field in [
            "consumesCounters",
            "nodeName",
            "nodeSelector",
            "allNodes",
            "taints",
            "bindsToNode",
            "bindingConditions",
            "bindingFailureConditions",
            "allowMultipleAllocations",
        ] {
            device.remove(field);
        }
    }
}

fn validate(slice: &Value, errors: &mut Errors) {
    let root = Field::root(slice);
    let spec = root.child("spec");
    validate_driver_name(&spec.child("driver"), errors);
    validate_pool(&spec.child("pool"), errors);
    validate_place(&spec, errors);
    let devices = spec.child("devices");
    for device in devices.items() {
        validate_device(&device, errors);
    }
    devices.at_most(MAX_DEVICES, errors);
    devices.unique_by("name", errors);
}

/// One or more subdomains with slashes between them.
pub(crate) fn validate_pool_name(name: &Field<'_>, errors: &mut Errors) {
    if !name.require(errors) {
        return;
    }
    if name.text().len() > MAX_POOL_NAME_LENGTH {
        name.too_long(MAX_POOL_NAME_LENGTH, errors);
    }
    for part in name.text().split('/') {
        for complaint in names::dns_subdomain(part) {
            name.invalid_as(part, complaint, errors);
        }
    }
}

fn validate_pool(pool: &Field<'_>, errors: &mut Errors) {
    validate_pool_name(&pool.child("name"), errors);
    pool.child("resourceSliceCount").positive(errors);
    let generation = pool.child("generation");
    if generation.int().is_some_and(|generation| generation < 0) {
        generation.invalid("must be greater than or equal to zero", errors);
    }
}

/// Where the devices are: exactly one way to say it.
fn validate_place(spec: &Field<'_>, errors: &mut Errors) {
    let (node, selector, all) = (
        spec.child("nodeName"),
        spec.child("nodeSelector"),
        spec.child("allNodes"),
    );
    let mut found = Vec::new();
    if node.is_set() && node.is_empty() {
        node.invalid("must be either unset or set to a non-empty string", errors);
    } else if node.is_set() {
        found.push("`nodeName`");
        node.syntax(names::dns_subdomain, errors);
    }
    if selector.is_set() {
        found.push("`nodeSelector`");
        node_selector::validate(&selector, errors);
        let terms = selector.child("nodeSelectorTerms");
        if terms.list().len() != 1 {
            let detail = "must have exactly one node selector term";
            terms.invalid_shown("[]NodeSelectorTerm", detail, errors);
        }
    }
    if all.flag() {
        found.push("`allNodes`");
    } else if all.is_set() {
        all.invalid("must be either unset or set to true", errors);
    }
    match found.len() {
        0 => spec.required_because(PLACES, errors),
        1 => {}
        _ => {
            let shown = format!("{{{}}}", found.join(", "));
            spec.invalid_as(shown, format!("{PLACES}, but multiple fields are set"), errors);
        }
    }
}

fn validate_device(device: &Field<'_>, errors: &mut Errors) {
    device.child("name").syntax(names::dns_label, errors);
    let (attributes, capacity) = (device.child("attributes"), device.child("capacity"));
    let count = attributes.entries().count() + capacity.entries().count();
    if count > MAX_ATTRIBUTES {
        let detail =
            format!("the total number of attributes and capacities must not exceed {MAX_ATTRIBUTES}");
        device.invalid_as(count, detail, errors);
    }
    for (name, attribute) in attributes.entries() {
        validate_qualified_name(name, &attribute, errors);
        validate_attribute(&attribute, errors);
    }
    for (name, amount) in capacity.entries() {
        validate_qualified_name(name, &amount, errors);
    }
}

fn validate_attribute(attribute: &Field<'_>, errors: &mut Errors) {
    let (text, version) = (attribute.child("string"), attribute.child("version"));
    if text.text().len() > MAX_VALUE_LENGTH {
        text.too_long(MAX_VALUE_LENGTH, errors);
    }
    if version.is_set() {
        if !is_semantic_version(version.text()) {
            version.invalid("must be a string compatible with semver.org spec 2.0.0", errors);
        }
        if version.text().len() > MAX_VALUE_LENGTH {
            version.too_long(MAX_VALUE_LENGTH, errors);
        }
    }
    let values = ["bool", "int", "string", "version"];
    match values
        .iter()
        .filter(|field| read::has(attribute.value, field))
        .count()
    {
        0 => attribute.required_because("exactly one value must be specified", errors),
        1 => {}
        _ => {
            attribute.invalid_shown("DeviceAttribute", "exactly one value must be specified", errors);
        }
    }
}

/// `1.2.3`, with a pre-release and a build where wanted.
fn is_semantic_version(version: &str) -> bool {
    let word = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let number = |part: &str| digits(part) && (part == "0" || !part.starts_with('0'));
    let (rest, build) = version
        .split_once('+')
        .map_or((version, None), |(rest, build)| (rest, Some(build)));
    let (core, release) = rest
        .split_once('-')
        .map_or((rest, None), |(core, release)| (core, Some(release)));
    core.split('.').count() == 3
        && core.split('.').all(number)
        && release.is_none_or(|release| {
            release
                .split('.')
                .all(|part| word(part) && (!digits(part) || number(part)))
        })
        && build.is_none_or(|build| build.split('.').all(word))
}
