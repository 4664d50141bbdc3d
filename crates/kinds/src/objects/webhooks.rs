//! ValidatingWebhookConfiguration and MutatingWebhookConfiguration: who is asked about a request.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    admission_rules,
    field::{Errors, Field},
    syntax,
};
use crate::{label_selector, names, read, strategy::Strategy};

const SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const URL_FORM: &str = "; desired format: https://host[/path]";

pub(crate) static VALIDATING: Strategy = Strategy {
    default: |configuration| default(configuration, false),
    validate,
    validate_update: |configuration, _, errors| validate(configuration, errors),
    ..Strategy::NONE
};

pub(crate) static MUTATING: Strategy = Strategy {
    default: |configuration| default(configuration, true),
    ..VALIDATING
};

fn default(configuration: &mut Value, mutating: bool) {
    for hook in read::list_mut(configuration, "webhooks") {
        read::default(hook, "failurePolicy", "Fail");
        admission_rules::default_match(hook);
        read::default(hook, "timeoutSeconds", 10);
        if mutating {
            read::default(hook, "reinvocationPolicy", "Never");
        }
        if let Some(service) = hook.pointer_mut("/clientConfig/service") {
            read::default(service, "port", 443);
        }
        for rule in read::list_mut(hook, "rules") {
            admission_rules::default_rule(rule);
        }
    }
}

fn validate(configuration: &Value, errors: &mut Errors) {
    let root = Field::root(configuration);
    let hooks = root.child("webhooks");
    let mut seen = BTreeSet::new();
    for hook in hooks.items() {
        validate_hook(&hook, errors);
        validate_review_versions(&hook.child("admissionReviewVersions"), errors);
        let name = read::text(hook.value, "name");
        if !name.is_empty() && !seen.insert(name) {
            hook.child("name").duplicate(errors);
        }
    }
}

fn validate_hook(hook: &Field<'_>, errors: &mut Errors) {
    syntax::validate_fully_qualified(&hook.child("name"), errors);
    for rule in hook.child("rules").items() {
        admission_rules::validate_rule(&rule, errors);
    }
    hook.child("failurePolicy")
        .optional_one_of(&["Fail", "Ignore"], errors);
    hook.child("matchPolicy")
        .optional_one_of(&["Equivalent", "Exact"], errors);
    let effects = hook.child("sideEffects");
    if effects.is_set() {
        effects.one_of(&SIDE_EFFECTS, errors);
    } else {
        effects.required_because("must specify one of None, NoneOnDryRun", errors);
    }
    let timeout = hook.child("timeoutSeconds");
    if timeout.int().is_some_and(|seconds| !(1..=30).contains(&seconds)) {
        timeout.invalid("the timeout value must be between 1 and 30 seconds", errors);
    }
    for selector in ["namespaceSelector", "objectSelector"] {
        let selector = hook.child(selector);
        label_selector::validate(selector.value, &selector.path(), errors);
    }
    hook.child("reinvocationPolicy")
        .optional_one_of(&["IfNeeded", "Never"], errors);
    validate_client(&hook.child("clientConfig"), errors);
    admission_rules::validate_conditions(&hook.child("matchConditions"), errors);
}

fn validate_review_versions(versions: &Field<'_>, errors: &mut Errors) {
    if versions.is_empty() {
        versions.required_because("must specify one of v1, v1beta1", errors);
        return;
    }
    let mut seen = BTreeSet::new();
    for version in versions.items() {
        if seen.insert(version.value.as_str().unwrap_or_default()) {
            version.syntax(names::dns1035_label, errors);
        } else {
            version.invalid("duplicate version", errors);
        }
    }
    if !REVIEW_VERSIONS.iter().any(|version| seen.contains(version)) {
        versions.invalid("must include at least one of v1, v1beta1", errors);
    }
}

fn validate_client(client: &Field<'_>, errors: &mut Errors) {
    let (url, service) = (client.child("url"), client.child("service"));
    match (url.is_set(), service.is_set()) {
        (true, false) => validate_url(&url, errors),
        (false, true) => validate_service(&service, errors),
        _ => client.required_because("exactly one of url or service is required", errors),
    }
}

fn validate_url(url: &Field<'_>, errors: &mut Errors) {
    let (rest, fragment) = url.text().split_once('#').unwrap_or((url.text(), ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once("://").unwrap_or(("", rest));
    let authority = if scheme.is_empty() {
        ""
    } else {
        rest.split('/').next().unwrap_or_default()
    };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let mut complain = |shown: &str, detail: String| url.invalid_as(shown, detail, errors);
    if scheme != "https" {
        complain(
            scheme,
            format!("'https' is the only allowed URL scheme{URL_FORM}"),
        );
    }
    if host.is_empty() {
        complain(host, format!("host must be specified{URL_FORM}"));
    }
    if !user.is_empty() {
        complain(user, "user information is not permitted in the URL".to_owned());
    }
    if !fragment.is_empty() {
        complain(fragment, "fragments are not permitted in the URL".to_owned());
    }
    if !query.is_empty() {
        complain(query, "query parameters are not permitted in the URL".to_owned());
    }
}

fn validate_service(service: &Field<'_>, errors: &mut Errors) {
    // The real server mixes the two names up when it complains.
    if service.child("namespace").is_empty() {
        service.renamed("name").required(errors);
    }
    if service.child("name").is_empty() {
        service.renamed("namespace").required(errors);
    }
    let port = service.child("port");
    if !(1..=65535).contains(&port.int().unwrap_or_default()) {
        port.invalid(
            "port is not valid: must be between 1 and 65535, inclusive",
            errors,
        );
    }
    validate_path(&service.child("path"), errors);
}

fn validate_path(path: &Field<'_>, errors: &mut Errors) {
    let text = path.text();
    match text {
        "" | "/" => return,
        "//" => {
            path.invalid("segment[0] may not be empty", errors);
            return;
        }
        _ if !text.starts_with('/') => path.invalid("must start with a '/'", errors),
        _ => {}
    }
    let steps = text.get(1..).unwrap_or_default();
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    for (index, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            path.invalid(format!("segment[{index}] may not be empty"), errors);
            continue;
        }
        for complaint in names::dns_subdomain(step) {
            path.invalid(format!("segment[{index}]: {complaint}"), errors);
        }
    }
}
