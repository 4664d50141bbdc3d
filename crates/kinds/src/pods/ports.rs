//! Container ports.

use std::collections::HashSet;

use manifests::field::{FieldError, Path};
use serde_json::{Value, json};

use crate::{
    checks::{Errors, one_of, range_error},
    read::{int, list, text},
    syntax,
};

const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

/// Checks the ports of one container; `path` is the container's.
pub(super) fn validate(container: &Value, path: &Path, errors: &mut Errors) {
    let mut names = HashSet::new();
    for (i, port) in list(container, "ports").iter().enumerate() {
        let path = path.child("ports").index(i);
        validate_name(port, &mut names, &path, errors);
        match int(port, "containerPort").unwrap_or_default() {
            0 => errors.push(FieldError::required(&path.child("containerPort"), "")),
            number => validate_number(number, || path.child("containerPort"), errors),
        }
        match int(port, "hostPort").unwrap_or_default() {
            0 => {}
            number => validate_number(number, || path.child("hostPort"), errors),
        }
        one_of(port, "protocol", PROTOCOLS, &path, errors);
    }
}

fn validate_name<'a>(port: &'a Value, names: &mut HashSet<&'a str>, path: &Path, errors: &mut Errors) {
    let name = text(port, "name");
    if name.is_empty() {
        return;
    }
    let messages = syntax::port_name(name);
    if messages.is_empty() && !names.insert(name) {
        errors.push(FieldError::duplicate(&path.child("name"), &json!(name)));
    }
    for message in messages {
        errors.push(FieldError::invalid(&path.child("name"), &json!(name), message));
    }
}

/// A port number must be one that packets can carry.
pub(super) fn validate_number(number: i64, path: impl FnOnce() -> Path, errors: &mut Errors) {
    if !(1..=65535).contains(&number) {
        errors.push(FieldError::invalid(
            &path(),
            &json!(number),
            range_error(1, 65535),
        ));
    }
}

/// A port given by number or by name.
pub(super) fn validate_number_or_name(port: &Value, path: &Path, errors: &mut Errors) {
    match port {
        Value::String(name) => crate::checks::syntax_of(name, syntax::port_name, path, errors),
        number => validate_number(number.as_i64().unwrap_or_default(), || path.clone(), errors),
    }
}

/// Two containers cannot have the same port of the host.
pub(super) fn validate_host_ports(containers: &[Value], path: &Path, errors: &mut Errors) {
    let mut taken = HashSet::new();
    for (i, container) in containers.iter().enumerate() {
        for (j, port) in list(container, "ports").iter().enumerate() {
            let Some(number) = int(port, "hostPort").filter(|number| *number != 0) else {
                continue;
            };
            let address = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
            if taken.contains(&address) {
                let path = path.index(i).child("ports").index(j).child("hostPort");
                errors.push(FieldError::duplicate(&path, &json!(address)));
            }
            taken.insert(address);
        }
    }
}
