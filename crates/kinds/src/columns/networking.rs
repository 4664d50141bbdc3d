//! Ways into and rules inside the cluster's network.

use serde_json::Value;

use super::{
    AGE, NAME, Table,
    row::{NONE, cells, joined, joined_texts, text_or, with_more},
    selector::selector,
    service::load_balancer,
    string,
};
use crate::read::{get, list, text};

/// How many hosts are written out.
const SHOWN: usize = 3;

pub(super) static INGRESS: Table = Table {
    columns: &[
        NAME,
        string("Class", "Class whose controller serves the ingress."),
        string("Hosts", "Host names requests are matched by."),
        string("Address", "Addresses the ingress is reached at."),
        string("Ports", "Ports the ingress listens on."),
        AGE,
    ],
    cells: |row| {
        let spec = row.spec();
        cells![
            row.name(),
            text_or(spec, "ingressClassName", NONE),
            hosts(list(spec, "rules")),
            load_balancer(row.status()),
            if list(spec, "tls").is_empty() {
                "80"
            } else {
                "80, 443"
            },
            row.age(),
        ]
    },
};

/// The first hosts named. Rules without a host are skipped but counted among those left out.
fn hosts(rules: &[Value]) -> String {
    let named = rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| !text(rule, "host").is_empty());
    let shown: Vec<(usize, &Value)> = named.take(SHOWN).collect();
    let line = joined(shown.iter().map(|(_, rule)| text(rule, "host")), ",");
    match shown.as_slice() {
        [] => "*".to_owned(),
        [.., (last, _)] if shown.len() == SHOWN && last + 1 < rules.len() => {
            with_more(line, rules.len() - SHOWN)
        }
        _ => line,
    }
}

pub(super) static INGRESS_CLASS: Table = Table {
    columns: &[
        NAME,
        string("Controller", "Controller that serves ingresses of this class."),
        string("Parameters", "Object with further settings for the controller."),
        AGE,
    ],
    cells: |row| {
        let spec = row.spec();
        cells![
            row.name(),
            text(spec, "controller"),
            parameters(get(spec, "parameters")),
            row.age()
        ]
    },
};

fn parameters(reference: &Value) -> String {
    if reference.is_null() {
        return NONE.to_owned();
    }
    let (kind, name) = (text(reference, "kind"), text(reference, "name"));
    match get(reference, "apiGroup").as_str() {
        Some(group) => format!("{kind}.{group}/{name}"),
        None => format!("{kind}/{name}"),
    }
}

pub(super) static NETWORK_POLICY: Table = Table {
    columns: &[
        NAME,
        string("Pod-Selector", "Labels of the pods the policy is about."),
        AGE,
    ],
    cells: |row| cells![row.name(), selector(get(row.spec(), "podSelector")), row.age()],
};

pub(super) static SERVICE_CIDR: Table = Table {
    columns: &[
        NAME,
        string("CIDRs", "Address ranges services get their addresses from."),
        AGE,
    ],
    cells: |row| cells![row.name(), joined_texts(list(row.spec(), "cidrs")), row.age()],
};

/// The age has no column: clients of the real server see it only in the raw table.
pub(super) static IP_ADDRESS: Table = Table {
    columns: &[NAME, string("ParentRef", "Object the address is given to.")],
    cells: |row| cells![row.name(), parent(get(row.spec(), "parentRef")), row.age()],
};

/// `services/default/web`, with the group after the resource and without what is empty.
fn parent(reference: &Value) -> String {
    if reference.is_null() {
        return NONE.to_owned();
    }
    let resource = match (text(reference, "resource"), text(reference, "group")) {
        (resource, "") => resource.to_lowercase(),
        (resource, group) => format!("{resource}.{group}").to_lowercase(),
    };
    match (text(reference, "namespace"), text(reference, "name")) {
        ("", name) => format!("{resource}/{name}"),
        (namespace, name) => format!("{resource}/{namespace}/{name}"),
    }
}
