//! Conversion between versions. Only `None` is carried out; a webhook is validated and kept.

use manifests::{
    field::{FieldError, Path},
    names,
};
use serde_json::{Value, json};

use super::props::{at, list, text};

const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// Whether review versions must name one the server speaks.
pub(super) fn speaks(conversion: &Value) -> bool {
    let versions = list(at(conversion, &["webhook"]), "conversionReviewVersions");
    versions.is_empty()
        || versions
            .iter()
            .filter_map(Value::as_str)
            .any(|version| REVIEW_VERSIONS.contains(&version))
}

pub(super) fn validate(conversion: &Value, must_speak: bool, path: &Path, errors: &mut Vec<FieldError>) {
    if conversion.is_null() {
        return;
    }
    let strategy = text(conversion, "strategy");
    match strategy {
        "" => errors.push(FieldError::required(&path.child("strategy"), "")),
        "None" | "Webhook" => {}
        other => {
            errors.push(FieldError::not_supported(
                &path.child("strategy"),
                &json!(other),
                &["None", "Webhook"],
            ));
        }
    }
    let webhook = at(conversion, &["webhook"]);
    let config = webhook.get("clientConfig").filter(|config| !config.is_null());
    let config_path = path.child("webhookClientConfig");
    let versions_path = path.child("conversionReviewVersions");
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if config.is_some() {
            errors.push(FieldError::forbidden(&config_path, detail));
        }
        if !list(webhook, "conversionReviewVersions").is_empty() {
            errors.push(FieldError::forbidden(&versions_path, detail));
        }
        return;
    }
    match config {
        None => errors.push(FieldError::required(
            &config_path,
            "required when strategy is set to Webhook",
        )),
        Some(config) => validate_client(config, &config_path, errors),
    }
    validate_review_versions(webhook, must_speak, &versions_path, errors);
}

fn validate_client(config: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let url = config.get("url").and_then(Value::as_str);
    let service = config.get("service").filter(|service| !service.is_null());
    match (url, service) {
        (Some(url), None) => validate_url(url, &path.child("url"), errors),
        (None, Some(service)) => validate_service(service, &path.child("service"), errors),
        _ => errors.push(FieldError::required(
            path,
            "exactly one of url or service is required",
        )),
    }
}

fn validate_url(url: &str, path: &Path, errors: &mut Vec<FieldError>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let mut invalid =
        |value: &str, detail: String| errors.push(FieldError::invalid(path, &json!(value), detail));
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    if scheme != "https" {
        invalid(scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = rest
        .strip_prefix("//")
        .and_then(|rest| rest.split('/').next())
        .unwrap_or_default();
    let (user, host) = authority
        .rsplit_once('@')
        .map_or((None, authority), |(user, host)| (Some(user), host));
    if host.is_empty() {
        invalid(host, format!("host must be specified{FORM}"));
    }
    if let Some(user) = user {
        invalid(user, "user information is not permitted in the URL".to_owned());
    }
    if !fragment.is_empty() {
        invalid(fragment, "fragments are not permitted in the URL".to_owned());
    }
    if !query.is_empty() {
        invalid(query, "query parameters are not permitted in the URL".to_owned());
    }
}

fn validate_service(service: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    for field in ["name", "namespace"] {
        if text(service, field).is_empty() {
            errors.push(FieldError::required(&path.child(field), ""));
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or_default();
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(&path.child("port"), &json!(port), detail));
    }
    let url_path = text(service, "path");
    if matches!(url_path, "" | "/") {
        return;
    }
    let path = path.child("path");
    let mut invalid = |detail: String| errors.push(FieldError::invalid(&path, &json!(url_path), detail));
    if url_path == "//" {
        return invalid("segment[0] may not be empty".to_owned());
    }
    if !url_path.starts_with('/') {
        invalid("must start with a '/'".to_owned());
    }
    let segments = url_path.get(1..).unwrap_or_default();
    for (i, segment) in segments
        .strip_suffix('/')
        .unwrap_or(segments)
        .split('/')
        .enumerate()
    {
        if segment.is_empty() {
            invalid(format!("segment[{i}] may not be empty"));
            continue;
        }
        for complaint in names::dns_subdomain(segment) {
            invalid(format!("segment[{i}]: {complaint}"));
        }
    }
}

fn validate_review_versions(webhook: &Value, must_speak: bool, path: &Path, errors: &mut Vec<FieldError>) {
    let versions = list(webhook, "conversionReviewVersions");
    if versions.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    for (i, version) in versions.iter().enumerate() {
        if versions[..i].contains(version) {
            errors.push(FieldError::invalid(&path.index(i), version, "duplicate version"));
            continue;
        }
        let complaints = names::dns1035_label(version.as_str().unwrap_or_default()).into_iter();
        errors.extend(complaints.map(|text| FieldError::invalid(&path.index(i), version, text)));
    }
    let spoken = versions
        .iter()
        .filter_map(Value::as_str)
        .any(|version| REVIEW_VERSIONS.contains(&version));
    if must_speak && !spoken {
        errors.push(FieldError::invalid(
            path,
            &json!(versions),
            "must include at least one of v1, v1beta1",
        ));
    }
}
