//! VolumeAttachment: a volume on its way to a node. What it says never changes.

use serde_json::{Value, json};

use super::{
    csi,
    field::{Errors, Field, IMMUTABLE},
};
use crate::{checks::same, names, read, strategy::Strategy};

const EXACTLY_ONE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
const MAX_METADATA_SIZE: usize = 256 * 1024;
const MAX_MESSAGE_SIZE: usize = 1024;

pub(crate) static STRATEGY: Strategy = Strategy {
    prepare_for_create: |attachment| attachment["status"] = json!({"attached": false}),
    prepare_for_update: super::keep_status,
    validate: |attachment, errors| {
        validate(attachment, errors);
        let root = Field::root(attachment);
        csi::validate_driver_name(&root.child("spec.attacher"), errors);
        let volume = root.child("spec.source.persistentVolumeName");
        if volume.is_set() {
            volume.syntax(names::dns_subdomain, errors);
        }
    },
    validate_update: |attachment, old, errors| {
        validate(attachment, errors);
        let root = Field::root(attachment);
        let spec = root.child("spec");
        if !same(spec.value, read::get(old, "spec")) {
            spec.invalid_shown("VolumeAttachmentSpec", IMMUTABLE, errors);
        }
    },
    prepare_for_status_update: super::keep_spec,
    validate_status_update: |attachment, _, errors| validate(attachment, errors),
    ..Strategy::NONE
};

fn validate(attachment: &Value, errors: &mut Errors) {
    let root = Field::root(attachment);
    root.child("spec.attacher").require(errors);
    let source = root.child("spec.source");
    let (inline, volume) = (
        source.child("inlineVolumeSpec"),
        source.child("persistentVolumeName"),
    );
    match (inline.is_set(), volume.is_set()) {
        (false, false) => source.required_because(EXACTLY_ONE, errors),
        (true, true) => source.forbidden(EXACTLY_ONE, errors),
        (false, true) if volume.is_empty() => {
            volume.required_because("must specify non empty persistentVolumeName", errors);
        }
        _ => {}
    }
    root.child("spec.nodeName").syntax(names::dns_subdomain, errors);
    validate_status(&root.child("status"), errors);
}

fn validate_status(status: &Field<'_>, errors: &mut Errors) {
    let metadata = status.child("attachmentMetadata");
    let size: usize = metadata
        .entries()
        .map(|(key, value)| key.len() + value.text().len())
        .sum();
    if size > MAX_METADATA_SIZE {
        metadata.too_long(MAX_METADATA_SIZE, errors);
    }
    for failure in ["attachError", "detachError"] {
        let failure = status.child(failure);
        let message = failure.child("message");
        if message.text().len() > MAX_MESSAGE_SIZE {
            message.too_long(MAX_METADATA_SIZE, errors);
        }
        let code = failure.child("errorCode");
        if code.int().is_some_and(|code| code < 0) {
            code.invalid("must be between 0 and 2147483647, inclusive", errors);
        }
    }
}
