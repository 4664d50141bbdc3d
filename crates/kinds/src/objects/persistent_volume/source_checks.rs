//! What persistent volumes must say of their storage beyond what every volume must.

use crate::{
    field::{Errors, Field},
    names,
    objects::csi,
    volume_sources::{LONG_PORTAL, is_iscsi_name, require, validate_no_backsteps},
};

pub(super) fn validate_iscsi(source: &Field<'_>, errors: &mut Errors) {
    source.child("targetPortal").require(errors);
    let name = source.child("iqn");
    if name.require(errors) && !is_iscsi_name(name.text()) {
        name.invalid("must be valid format", errors);
    }
    source.child("lun").in_range(0, 255, errors);
    let secret = source.child("secretRef");
    let authenticates = source.child("chapAuthDiscovery").flag() || source.child("chapAuthSession").flag();
    if authenticates && !secret.is_set() {
        secret.required(errors);
    }
    if secret.is_set() {
        source.child("secretRef.name").require(errors);
    }
    let initiator = source.child("initiatorName");
    if initiator.is_set() && !is_iscsi_name(initiator.text()) {
        source
            .renamed("initiatorname")
            .invalid_as(initiator.text(), "must be valid format", errors);
    }
}

pub(super) fn validate_initiator_length(source: &Field<'_>, volume_name: &str, errors: &mut Errors) {
    let portal = source.child("targetPortal").text();
    if source.child("initiatorName").is_set() && volume_name.len() + 1 + portal.len() > 64 {
        source
            .renamed("targetportal")
            .invalid_as(portal, LONG_PORTAL, errors);
    }
}

pub(super) fn validate_glusterfs(source: &Field<'_>, errors: &mut Errors) {
    require(source, &["endpoints", "path"], errors);
    let namespace = source.child("endpointsNamespace");
    if namespace.is_set() && namespace.is_empty() {
        namespace.invalid(
            "if the endpointnamespace is set, it must be a valid namespace name",
            errors,
        );
    } else if namespace.is_set() {
        namespace.syntax(names::dns_label, errors);
    }
}

pub(super) fn validate_cinder(source: &Field<'_>, errors: &mut Errors) {
    source.child("volumeID").require(errors);
    validate_secret_reference(source, errors);
}

pub(super) fn validate_secret_reference(source: &Field<'_>, errors: &mut Errors) {
    if source.child("secretRef").is_set() {
        require(source, &["secretRef.name", "secretRef.namespace"], errors);
    }
}

pub(super) fn validate_azure_file(source: &Field<'_>, errors: &mut Errors) {
    require(source, &["secretName", "shareName"], errors);
    let namespace = source.child("secretNamespace");
    if namespace.is_set() {
        namespace.require(errors);
    }
}

pub(super) fn validate_local(source: &Field<'_>, errors: &mut Errors) {
    let path = source.child("path");
    if path.require(errors) {
        validate_no_backsteps(&path, errors);
    }
}

pub(super) fn validate_storage_os(source: &Field<'_>, errors: &mut Errors) {
    source
        .child("volumeName")
        .require_syntax(names::dns_label, errors);
    source
        .child("volumeNamespace")
        .optional_syntax(names::dns_label, errors);
    validate_secret_reference(source, errors);
}

pub(super) fn validate_csi(source: &Field<'_>, errors: &mut Errors) {
    const SECRETS: [&str; 4] = [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ];
    csi::validate_driver_name(&source.child("driver"), errors);
    source.child("volumeHandle").require(errors);
    for secret in SECRETS {
        let secret = source.child(secret);
        if secret.is_set() {
            secret.child("name").require_syntax(names::dns_subdomain, errors);
            secret.child("namespace").require_syntax(names::dns_label, errors);
        }
    }
}
