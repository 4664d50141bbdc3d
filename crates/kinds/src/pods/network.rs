//! How a pod is named and finds others: DNS, host names, host aliases.

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use super::{Options, syntax};
use crate::{
    addresses,
    checks::{Errors, syntax_of},
    names,
    read::{flag, get, int, list, text},
};

const NAMESERVERS: usize = 3;
const SEARCH_PATHS: usize = 32;
const SEARCH_CHARACTERS: usize = 2048;

/// Checks `dnsConfig` of a pod; `path` is that of the spec.
pub(super) fn validate_dns_config(spec: &Value, path: &Path, errors: &mut Errors) {
    let config = get(spec, "dnsConfig");
    let none = text(spec, "dnsPolicy") == "None";
    if config.is_null() {
        if none {
            let detail = "must provide `dnsConfig` when `dnsPolicy` is None";
            errors.push(FieldError::required(&path.child("dnsConfig"), detail));
        }
        return;
    }
    let path = path.child("dnsConfig");
    if none && list(config, "nameservers").is_empty() {
        let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.push(FieldError::required(&path.child("nameservers"), detail));
        return;
    }
    validate_nameservers(config, &path.child("nameservers"), errors);
    validate_searches(config, &path.child("searches"), errors);
    for (i, option) in list(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            errors.push(FieldError::required(
                &path.child("options").index(i),
                "must not be empty",
            ));
        }
    }
}

fn validate_nameservers(config: &Value, path: &Path, errors: &mut Errors) {
    let servers = list(config, "nameservers");
    if servers.len() > NAMESERVERS {
        let detail = format!("must not have more than {NAMESERVERS} nameservers");
        errors.push(FieldError::invalid(path, get(config, "nameservers"), detail));
    }
    for (i, server) in servers.iter().enumerate() {
        addresses::validate(server.as_str().unwrap_or_default(), &path.index(i), errors);
    }
}

fn validate_searches(config: &Value, path: &Path, errors: &mut Errors) {
    let searches = list(config, "searches");
    let mut refuse = |detail: String| {
        errors.push(FieldError::invalid(path, get(config, "searches"), detail));
    };
    if searches.len() > SEARCH_PATHS {
        refuse(format!("must not have more than {SEARCH_PATHS} search paths"));
    }
    let characters: usize = searches
        .iter()
        .map(|search| search.as_str().map_or(0, str::len) + 1)
        .sum();
    if characters.saturating_sub(1) > SEARCH_CHARACTERS {
        refuse(format!(
            "must not have more than {SEARCH_CHARACTERS} characters (including spaces) in the search list"
        ));
    }
    for (i, search) in searches.iter().enumerate() {
        let search = search.as_str().unwrap_or_default();
        if search != "." {
            let search = search.strip_suffix('.').unwrap_or(search);
            syntax_of(search, syntax::search_path, &path.index(i), errors);
        }
    }
}

/// Checks `hostAliases` of a pod; `path` is that of the spec.
pub(super) fn validate_host_aliases(spec: &Value, path: &Path, errors: &mut Errors) {
    for (i, alias) in list(spec, "hostAliases").iter().enumerate() {
        let path = path.child("hostAliases").index(i);
        addresses::validate(text(alias, "ip"), &path.child("ip"), errors);
        for (j, name) in list(alias, "hostnames").iter().enumerate() {
            let path = path.child("hostnames").index(j);
            syntax_of(
                name.as_str().unwrap_or_default(),
                names::dns_subdomain,
                &path,
                errors,
            );
        }
    }
}

/// Containers in the host's network have the host's ports.
pub(super) fn validate_host_ports(spec: &Value, options: Options, path: &Path, errors: &mut Errors) {
    if !flag(spec, "hostNetwork") {
        return;
    }
    for (i, container) in list(spec, "containers").iter().enumerate() {
        for (j, port) in list(container, "ports").iter().enumerate() {
            let host = int(port, "hostPort").unwrap_or_default();
            let inside = int(port, "containerPort").unwrap_or_default();
            if (options.is_pod || host != 0) && host != inside {
                let path = path
                    .child("containers")
                    .index(i)
                    .child("ports")
                    .index(j)
                    .child("hostPort");
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(&path, &json!(host), detail));
            }
        }
    }
}
