//! Probes and lifecycle hooks: what is called, and how often.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{ports, syntax};
use crate::{
    checks::{Errors, not_negative, syntax_of},
    read::{get, has, int, list, text},
};

const PROBE_HANDLERS: &[&str] = &["exec", "httpGet", "tcpSocket", "grpc"];
const HOOK_HANDLERS: &[&str] = &["exec", "httpGet", "tcpSocket", "sleep"];

/// Checks the three probes of a container; `path` is the container's.
pub(super) fn validate(container: &Value, grace_period: Option<i64>, path: &Path, errors: &mut Errors) {
    for key in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = get(container, key);
        if probe.is_null() {
            continue;
        }
        let path = path.child(key);
        validate_probe(probe, grace_period, &path, errors);
        if key == "readinessProbe" {
            if let Some(seconds) = int(probe, "terminationGracePeriodSeconds") {
                let path = path.child("terminationGracePeriodSeconds");
                let detail = "must not be set for readinessProbes";
                errors.push(FieldError::invalid(&path, &json!(seconds), detail));
            }
        } else {
            let threshold = int(probe, "successThreshold").unwrap_or_default();
            if threshold != 1 {
                let path = path.child("successThreshold");
                errors.push(FieldError::invalid(&path, &json!(threshold), "must be 1"));
            }
        }
    }
}

fn validate_probe(probe: &Value, grace_period: Option<i64>, path: &Path, errors: &mut Errors) {
    validate_handler(probe, PROBE_HANDLERS, grace_period, path, errors);
    for key in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        not_negative(probe, key, path, errors);
    }
    if let Some(seconds) = int(probe, "terminationGracePeriodSeconds").filter(|seconds| *seconds <= 0) {
        let path = path.child("terminationGracePeriodSeconds");
        errors.push(FieldError::invalid(
            &path,
            &json!(seconds),
            "must be greater than 0",
        ));
    }
}

/// Checks the hooks of a container; `path` is the container's.
pub(super) fn validate_lifecycle(
    container: &Value,
    grace_period: Option<i64>,
    path: &Path,
    errors: &mut Errors,
) {
    let lifecycle = get(container, "lifecycle");
    for key in ["postStart", "preStop"] {
        if has(lifecycle, key) {
            let path = path.child("lifecycle").child(key);
            validate_handler(get(lifecycle, key), HOOK_HANDLERS, grace_period, &path, errors);
        }
    }
}

fn validate_handler(
    handler: &Value,
    known: &[&str],
    grace_period: Option<i64>,
    path: &Path,
    errors: &mut Errors,
) {
    let mut found = false;
    for key in known.iter().filter(|key| has(handler, key)) {
        let path = path.child(key);
        if found {
            errors.push(FieldError::forbidden(
                &path,
                "may not specify more than 1 handler type",
            ));
            continue;
        }
        found = true;
        let action = get(handler, key);
        match *key {
            "exec" if list(action, "command").is_empty() => {
                errors.push(FieldError::required(&path.child("command"), ""));
            }
            "httpGet" => validate_http_get(action, &path, errors),
            "tcpSocket" => ports::validate_number_or_name(get(action, "port"), &path.child("port"), errors),
            "grpc" => {
                let port = int(action, "port").unwrap_or_default();
                ports::validate_number(port, || path.child("port"), errors);
            }
            "sleep" => validate_sleep(action, grace_period, &path, errors),
            _ => {}
        }
    }
    if !found {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
}

fn validate_http_get(action: &Value, path: &Path, errors: &mut Errors) {
    crate::checks::require(action, "path", path, errors);
    ports::validate_number_or_name(get(action, "port"), &path.child("port"), errors);
    let scheme = text(action, "scheme");
    if !["HTTP", "HTTPS"].contains(&scheme) {
        errors.push(FieldError::not_supported(
            &path.child("scheme"),
            &json!(scheme),
            &["HTTP", "HTTPS"],
        ));
    }
    for header in list(action, "httpHeaders") {
        syntax_of(
            text(header, "name"),
            syntax::header_name,
            &path.child("httpHeaders"),
            errors,
        );
    }
}

fn validate_sleep(action: &Value, grace_period: Option<i64>, path: &Path, errors: &mut Errors) {
    let seconds = int(action, "seconds").unwrap_or_default();
    if let Some(grace_period) = grace_period.filter(|grace_period| !(0..=*grace_period).contains(&seconds)) {
        let detail =
            format!("must be non-negative and less than terminationGracePeriodSeconds ({grace_period})");
        errors.push(FieldError::invalid(path, &json!(seconds), detail));
    }
}
