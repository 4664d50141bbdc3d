//! `apps/v1` StatefulSet.

use std::borrow::Cow;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{
    default_template, options_after, prepare_for_create, prepare_for_status_update, prepare_for_update,
    template_warnings, template_warnings_on_update, validate_collision_count, validate_counts,
    validate_keeps_running, validate_labels_match, validate_meta_update, validate_parts, validate_selector,
};
use crate::{
    checks::{Errors, not_negative, optional_syntax, same},
    int_or_percent, internal_form, label_selector, names, object_meta,
    objects::persistent_volume_claim,
    pods::{
        Options,
        defaults::{claim_spec, default_text},
        template,
    },
    read::{default, get, has, int, list, list_mut, text},
    strategy::Strategy,
};

const NEGATIVE_HISTORY: &str = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
const MUTABLE: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

pub static STATEFUL_SET: Strategy = Strategy {
    default: set_defaults,
    prepare_for_create: |stateful_set| {
        prepare_for_create(stateful_set);
        drop_max_unavailable(stateful_set, &Value::Null);
    },
    prepare_for_update: |new, old| {
        prepare_for_update(new, old);
        drop_max_unavailable(new, old);
    },
    validate,
    validate_update,
    prepare_for_status_update,
    validate_status_update,
    warnings_on_create: |stateful_set| {
        let mut warnings = template_warnings(stateful_set);
        own_warnings(stateful_set, |claim| claim, &mut warnings);
        warnings
    },
    warnings_on_update: |new, old| {
        let mut warnings = template_warnings_on_update(new, old);
        // The odd capital is the real server's.
        own_warnings(new, |claim| claim.child("Spec"), &mut warnings);
        warnings
    },
    name_syntax: names::dns_label,
    ..Strategy::NONE
};

fn set_defaults(stateful_set: &mut Value) {
    default_template(stateful_set);
    let spec = &mut stateful_set["spec"];
    default_text(spec, "podManagementPolicy", "OrderedReady");
    default(spec, "updateStrategy", json!({}));
    let strategy = &mut spec["updateStrategy"];
    if text(strategy, "type").is_empty() {
        strategy["type"] = json!("RollingUpdate");
        default(strategy, "rollingUpdate", json!({}));
    }
    if text(strategy, "type") == "RollingUpdate"
        && let Some(rolling_update) = strategy.get_mut("rollingUpdate")
    {
        default(rolling_update, "partition", 0);
    }
    default(spec, "persistentVolumeClaimRetentionPolicy", json!({}));
    for key in ["whenDeleted", "whenScaled"] {
        default_text(&mut spec["persistentVolumeClaimRetentionPolicy"], key, "Retain");
    }
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    for claim in list_mut(spec, "volumeClaimTemplates") {
        default_text(claim, "apiVersion", "v1");
        default_text(claim, "kind", "PersistentVolumeClaim");
        default(claim, "spec", json!({}));
        default(claim, "status", json!({}));
        claim_spec(&mut claim["spec"]);
        default_text(&mut claim["status"], "phase", "Pending");
    }
}

/// `maxUnavailable` is not switched on in this version.
fn drop_max_unavailable(stateful_set: &mut Value, old: &Value) {
    let rolling_update = |object| get(get(get(object, "spec"), "updateStrategy"), "rollingUpdate");
    if has(rolling_update(old), "maxUnavailable") || !has(rolling_update(stateful_set), "maxUnavailable") {
        return;
    }
    if let Some(fields) = stateful_set["spec"]["updateStrategy"]["rollingUpdate"].as_object_mut() {
        fields.remove("maxUnavailable");
    }
}

/// What is not looked at again when an object changes.
#[derive(Clone, Copy, Default)]
struct Skipped {
    immutable_fields: bool,
    template: bool,
}

fn validate(stateful_set: &Value, errors: &mut Errors) {
    let path = Path::new("metadata");
    object_meta::validate(
        get(stateful_set, "metadata"),
        true,
        names::dns_label,
        &path,
        errors,
    );
    let spec = get(stateful_set, "spec");
    validate_spec(spec, Options::NEW, Skipped::default(), &Path::new("spec"), errors);
}

fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_meta_update(new, old, errors);
    let (spec, old_spec, path) = (get(new, "spec"), get(old, "spec"), Path::new("spec"));
    let options = options_after(old);
    let mut skipped = Skipped {
        immutable_fields: true,
        template: false,
    };
    let mut before = Errors::new();
    validate_spec(spec, options, skipped, &path, &mut before);
    if !before.is_empty() {
        // An object that was wrong before may stay wrong.
        before.clear();
        validate_spec(old_spec, options, skipped, &path, &mut before);
        skipped.template = !before.is_empty();
    }
    validate_spec(spec, options, skipped, &path, errors);
    if !same_but_for_mutable(spec, old_spec) {
        errors.push(FieldError::forbidden(&path, MUTABLE));
    }
}

fn same_but_for_mutable(new: &Value, old: &Value) -> bool {
    [
        "podManagementPolicy",
        "serviceName",
        "selector",
        "volumeClaimTemplates",
    ]
    .iter()
    .all(|key| same(get(new, key), get(old, key)))
}

fn validate_spec(spec: &Value, options: Options, skipped: Skipped, path: &Path, errors: &mut Errors) {
    validate_policies(spec, path, errors);
    if !skipped.immutable_fields {
        for (i, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
            let path = path.child("volumeClaimTemplates").index(i).child("spec");
            persistent_volume_claim::validate_template_spec(get(claim, "spec"), &path, errors);
        }
    }
    not_negative(spec, "replicas", path, errors);
    not_negative(spec, "minReadySeconds", path, errors);
    if let Some(start) = int(get(spec, "ordinals"), "start").filter(|start| *start < 0) {
        let path = path.child("ordinals.start");
        errors.push(FieldError::invalid(
            &path,
            &json!(start),
            crate::checks::NOT_NEGATIVE,
        ));
    }
    if !skipped.immutable_fields {
        optional_syntax(spec, "serviceName", names::dns_label, path, errors);
    }
    let pod_template = get(spec, "template");
    let template_path = path.child("template");
    if validate_selector(spec, "statefulset", path, errors) {
        let pod_template = with_claims(spec, pod_template);
        validate_labels_match(get(spec, "selector"), &pod_template, &template_path, errors);
        if !skipped.template {
            template::validate(&pod_template, options, &template_path, errors);
        }
        template::validate_meta(&pod_template, options, &template_path, errors);
    } else {
        errors.push(label_selector::invalid(
            &path.child("selector"),
            get(spec, "selector"),
            "",
        ));
    }
    validate_keeps_running(pod_template, "StatefulSet", &template_path, errors);
}

fn validate_policies(spec: &Value, path: &Path, errors: &mut Errors) {
    let policy = text(spec, "podManagementPolicy");
    if policy.is_empty() {
        errors.push(FieldError::required(&path.child("podManagementPolicy"), ""));
    } else if !["OrderedReady", "Parallel"].contains(&policy) {
        let path = path.child("podManagementPolicy");
        errors.push(FieldError::invalid(
            &path,
            &json!(policy),
            "must be 'OrderedReady' or 'Parallel'",
        ));
    }
    validate_strategy(get(spec, "updateStrategy"), &path.child("updateStrategy"), errors);
    let retention = get(spec, "persistentVolumeClaimRetentionPolicy");
    for key in ["whenDeleted", "whenScaled"] {
        let policy = text(retention, key);
        if !retention.is_null() && !["Retain", "Delete"].contains(&policy) {
            let path = path.child("persistentVolumeClaimRetentionPolicy").child(key);
            errors.push(FieldError::not_supported(
                &path,
                &json!(policy),
                &["Retain", "Delete"],
            ));
        }
    }
}

fn validate_strategy(strategy: &Value, path: &Path, errors: &mut Errors) {
    let rolling_update = get(strategy, "rollingUpdate");
    let rolling_path = path.child("rollingUpdate");
    match text(strategy, "type") {
        "" => errors.push(FieldError::required(path, "")),
        "OnDelete" if rolling_update.is_null() => {}
        "OnDelete" => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            let kind = "RollingUpdateStatefulSetStrategy";
            errors.push(internal_form::invalid(
                &rolling_path,
                rolling_update,
                kind,
                detail,
            ));
        }
        "RollingUpdate" => validate_rolling_update(rolling_update, &rolling_path, errors),
        _ => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            errors.push(internal_form::invalid(
                path,
                strategy,
                "StatefulSetUpdateStrategy",
                detail,
            ));
        }
    }
}

fn validate_rolling_update(rolling_update: &Value, path: &Path, errors: &mut Errors) {
    not_negative(rolling_update, "partition", path, errors);
    let unavailable = get(rolling_update, "maxUnavailable");
    if unavailable.is_null() {
        return;
    }
    let path = path.child("maxUnavailable");
    int_or_percent::validate(unavailable, &path, errors);
    if int_or_percent::number(unavailable) == 0 {
        errors.push(FieldError::invalid(&path, unavailable, "cannot be 0"));
    }
    int_or_percent::validate_share(unavailable, &path, errors);
}

/// The template as members get it: with volumes for their claims, and names of their own.
fn with_claims<'a>(spec: &Value, pod_template: &'a Value) -> Cow<'a, Value> {
    let claims = list(spec, "volumeClaimTemplates");
    let pod_spec = get(pod_template, "spec");
    let names_itself = !text(pod_spec, "subdomain").is_empty() || !text(pod_spec, "hostname").is_empty();
    if claims.is_empty() && !names_itself {
        return Cow::Borrowed(pod_template);
    }
    let mut pod_template = pod_template.clone();
    let Some(Value::Object(pod_spec)) = pod_template.get_mut("spec") else {
        return Cow::Owned(pod_template);
    };
    pod_spec.remove("subdomain");
    pod_spec.remove("hostname");
    let name_of = |claim: &Value| text(get(claim, "metadata"), "name").to_owned();
    let mut volumes: Vec<Value> = claims
        .iter()
        .map(|claim| json!({"name": name_of(claim), "persistentVolumeClaim": {"claimName": name_of(claim)}}))
        .collect();
    if let Some(Value::Array(own)) = pod_spec.remove("volumes") {
        let replaced = |volume: &Value| claims.iter().any(|claim| name_of(claim) == text(volume, "name"));
        volumes.extend(own.into_iter().filter(|volume| !replaced(volume)));
    }
    pod_spec.insert("volumes".to_owned(), Value::Array(volumes));
    Cow::Owned(pod_template)
}

fn validate_status_update(new: &Value, old: &Value, errors: &mut Errors) {
    const OF_REPLICAS: &str = "cannot be greater than status.replicas";
    let (status, path) = (get(new, "status"), Path::new("status"));
    let counts = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    validate_counts(status, &counts, &path, errors);
    let parts = [
        ("readyReplicas", "replicas", OF_REPLICAS),
        ("currentReplicas", "replicas", OF_REPLICAS),
        ("updatedReplicas", "replicas", OF_REPLICAS),
        ("availableReplicas", "replicas", OF_REPLICAS),
        (
            "availableReplicas",
            "readyReplicas",
            "cannot be greater than status.readyReplicas",
        ),
    ];
    validate_parts(status, &parts, &path, errors);
    validate_meta_update(new, old, errors);
    validate_collision_count(status, get(old, "status"), &path, errors);
}

fn own_warnings(stateful_set: &Value, claim_path: fn(Path) -> Path, warnings: &mut Vec<String>) {
    let spec = get(stateful_set, "spec");
    for (i, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
        let path = claim_path(Path::new("spec").child("volumeClaimTemplates").index(i));
        warnings.extend(persistent_volume_claim::storage_warnings(
            get(claim, "spec"),
            &path,
        ));
    }
    if int(spec, "revisionHistoryLimit").is_some_and(|limit| limit < 0) {
        warnings.push(NEGATIVE_HISTORY.to_owned());
    }
}
