//! What checks and changes objects on their way in.

use std::fmt::Write;

use serde_json::Value;

use super::{
    AGE, NAME, Table, integer,
    row::{UNSET, cells, count, joined},
    string,
};
use crate::read::{entries, get, list, text};

pub(super) static WEBHOOKS: Table = Table {
    columns: &[
        NAME,
        integer("Webhooks", "Number of webhooks in the configuration."),
        AGE,
    ],
    cells: |row| cells![row.name(), count(row.object, "webhooks"), row.age()],
};

pub(super) static VALIDATING_POLICY: Table = Table {
    columns: &[
        NAME,
        integer("Validations", "Number of rules in the policy."),
        string(
            "ParamKind",
            "Kind of the objects the policy takes parameters from.",
        ),
        AGE,
    ],
    cells: |row| {
        let spec = row.spec();
        cells![
            row.name(),
            count(spec, "validations"),
            param_kind(spec),
            row.age()
        ]
    },
};

pub(super) static MUTATING_POLICY: Table = Table {
    columns: &[
        NAME,
        integer("Mutations", "Number of changes the policy makes."),
        string(
            "ParamKind",
            "Kind of the objects the policy takes parameters from.",
        ),
        AGE,
    ],
    cells: |row| {
        let spec = row.spec();
        cells![row.name(), count(spec, "mutations"), param_kind(spec), row.age()]
    },
};

fn param_kind(spec: &Value) -> String {
    let kind = get(spec, "paramKind");
    if kind.is_null() {
        return UNSET.to_owned();
    }
    format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind"))
}

pub(super) static POLICY_BINDING: Table = Table {
    columns: &[
        NAME,
        string("PolicyName", "Policy that is put to work."),
        string("ParamRef", "Objects the policy takes its parameters from."),
        AGE,
    ],
    cells: |row| {
        let spec = row.spec();
        cells![
            row.name(),
            text(spec, "policyName"),
            param_ref(get(spec, "paramRef")),
            row.age()
        ]
    },
};

/// Parameters by name; `*` stands for the namespace of whatever object is checked.
fn param_ref(reference: &Value) -> String {
    match (text(reference, "namespace"), text(reference, "name")) {
        (_, "") if get(reference, "selector").is_null() => UNSET.to_owned(),
        (_, "") => selector_structure(get(reference, "selector")),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

/// A selector in the notation of Go structures, which is what the real server shows here.
fn selector_structure(selector: &Value) -> String {
    let mut line = "&LabelSelector{MatchLabels:map[string]string{".to_owned();
    for (key, value) in entries(selector, "matchLabels") {
        let _ = write!(line, "{key}: {},", value.as_str().unwrap_or_default());
    }
    line.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
    for expression in list(selector, "matchExpressions") {
        let (key, operator) = (text(expression, "key"), text(expression, "operator"));
        let values = joined(list(expression, "values").iter().filter_map(Value::as_str), " ");
        let _ = write!(
            line,
            "LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},"
        );
    }
    line.push_str("},}");
    line
}
