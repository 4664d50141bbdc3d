//! Selectors are read or refused, and what is printed means the same.

use manifests::{
    field_selector::{self, Operator, Requirement},
    labels::Selector,
};
use serde_json::json;

use crate::cost;

pub(super) fn run(input: &[u8]) {
    if let Ok(value) = manifests::json::parse(input) {
        let _ = cost::within(input.len(), 20_000, || {
            Selector::from_object(&value.value).map_err(|error| error.to_string())
        });
    }
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    labels(text);
    fields(text);
}

fn labels(text: &str) {
    let parsed = cost::within(text.len(), 20_000, || {
        Selector::parse(text).map_err(|error| error.to_string())
    });
    let Ok(selector) = parsed else { return };
    let printed = selector.to_string();
    let again = Selector::parse(&printed).expect("what is printed is a selector");
    assert_eq!(again, selector, "printed as {printed}");
    for labels in [
        json!({}),
        json!({"a": "b", "x": "7"}),
        json!({"a.b/c": "", "tier": "web"}),
    ] {
        let labels = labels.as_object();
        assert_eq!(again.matches(labels), selector.matches(labels));
    }
}

fn fields(text: &str) {
    let parsed = cost::within(text.len(), 20_000, || {
        field_selector::parse(text).map_err(|error| error.to_string())
    });
    let Ok(requirements) = parsed else { return };
    let printed: Vec<String> = requirements.iter().map(print).collect();
    let again = field_selector::parse(&printed.join(",")).expect("what is printed is a selector");
    assert_eq!(sorted(again), sorted(requirements), "printed as {printed:?}");
}

fn print(requirement: &Requirement) -> String {
    let operator = match requirement.operator {
        Operator::Equals => "=",
        Operator::NotEquals => "!=",
    };
    let mut value = requirement.value.replace('\\', "\\\\");
    for special in [",", "="] {
        value = value.replace(special, &format!("\\{special}"));
    }
    format!("{}{operator}{value}", requirement.field)
}

fn sorted(requirements: Vec<Requirement>) -> Vec<String> {
    let mut all: Vec<String> = requirements.iter().map(print).collect();
    all.sort();
    all
}
