//! The CEL expressions in an object, for the caller to compile: this crate has no CEL.

use manifests::field::Path;
use serde_json::Value;

use super::field::Field;

/// What an expression is for; it decides its variables and the type of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Whether a webhook or policy looks at a request. True or false.
    MatchCondition,
    /// Whether a policy accepts a request. True or false.
    Validation,
    /// What a policy says when it refuses. Text.
    Message,
    /// What a policy adds to the audit log. Text or null.
    AuditAnnotation,
    /// A value with a name for later expressions of the policy. Of any type.
    Variable,
    /// Whether a device fits a request. True or false.
    DeviceSelector,
}

/// One expression and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression<'a> {
    pub path: Path,
    pub text: &'a str,
    pub purpose: Purpose,
    /// The name of a variable.
    pub name: Option<&'a str>,
    /// Whether `params` can be used.
    pub has_params: bool,
}

/// All expressions of an object that are not empty, variables first.
pub fn expressions<'a>(group: &str, kind: &str, object: &'a Value) -> Vec<Expression<'a>> {
    let mut found = Finder {
        object,
        has_params: false,
        found: Vec::new(),
    };
    match (group, kind) {
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => found.collect(
            &["webhooks", "matchConditions"],
            "expression",
            Purpose::MatchCondition,
        ),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            found.has_params = object.pointer("/spec/paramKind").is_some();
            found.collect(&["spec.variables"], "expression", Purpose::Variable);
            found.collect(&["spec.matchConditions"], "expression", Purpose::MatchCondition);
            found.collect(&["spec.validations"], "expression", Purpose::Validation);
            found.collect(&["spec.validations"], "messageExpression", Purpose::Message);
            found.collect(
                &["spec.auditAnnotations"],
                "valueExpression",
                Purpose::AuditAnnotation,
            );
        }
        ("resource.k8s.io", "DeviceClass") => found.collect_selectors(&["spec.selectors"]),
        ("resource.k8s.io", "ResourceClaim") => found.collect_requests("spec.devices.requests"),
        ("resource.k8s.io", "ResourceClaimTemplate") => found.collect_requests("spec.spec.devices.requests"),
        _ => {}
    }
    found.found
}

struct Finder<'a> {
    object: &'a Value,
    has_params: bool,
    found: Vec<Expression<'a>>,
}

impl<'a> Finder<'a> {
    fn collect_requests(&mut self, requests: &str) {
        self.collect_selectors(&[requests, "exactly.selectors"]);
        self.collect_selectors(&[requests, "firstAvailable", "selectors"]);
    }

    fn collect_selectors(&mut self, lists: &[&str]) {
        self.collect(lists, "cel.expression", Purpose::DeviceSelector);
    }

    /// Takes the named field of every item of a list in a list.
    fn collect(&mut self, lists: &[&str], field: &str, purpose: Purpose) {
        let object = self.object;
        self.descend(&Field::root(object), object, lists, field, purpose);
    }

    fn descend(
        &mut self,
        place: &Field<'_>,
        value: &'a Value,
        lists: &[&str],
        field: &str,
        purpose: Purpose,
    ) {
        let Some((list, rest)) = lists.split_first() else {
            let pointer = format!("/{}", field.replace('.', "/"));
            let text = value
                .pointer(&pointer)
                .and_then(Value::as_str)
                .unwrap_or_default();
            if !text.trim().is_empty() {
                self.found.push(Expression {
                    path: place.child(field).path(),
                    text,
                    purpose,
                    name: value
                        .get("name")
                        .and_then(Value::as_str)
                        .filter(|_| purpose == Purpose::Variable),
                    has_params: self.has_params,
                });
            }
            return;
        };
        let pointer = format!("/{}", list.replace('.', "/"));
        let items = value
            .pointer(&pointer)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for (item, value) in place.child(list).items().zip(items) {
            self.descend(&item, value, rest, field, purpose);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn expressions_are_found_with_their_paths() {
        let policy = json!({"spec": {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "variables": [{"name": "limit", "expression": "3"}],
            "validations": [{"expression": "true", "messageExpression": "'no'"}],
        }});
        let found = expressions(
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicy",
            &policy,
        );
        let shown: Vec<_> = found
            .iter()
            .map(|e| (e.path.as_str(), e.text, e.purpose))
            .collect();
        assert_eq!(
            shown,
            [
                ("spec.variables[0].expression", "3", Purpose::Variable),
                ("spec.validations[0].expression", "true", Purpose::Validation),
                ("spec.validations[0].messageExpression", "'no'", Purpose::Message),
            ]
        );
        assert!(found.iter().all(|expression| expression.has_params));
        assert_eq!(found[0].name, Some("limit"));
    }

    #[test]
    fn device_selectors_are_found_in_both_kinds_of_requests() {
        let selectors = json!([{"cel": {"expression": "true"}}]);
        let claim = json!({"spec": {"devices": {"requests": [
            {"name": "a", "exactly": {"selectors": selectors}},
            {"name": "b", "firstAvailable": [{"name": "c", "selectors": selectors}]},
        ]}}});
        let found = expressions("resource.k8s.io", "ResourceClaim", &claim);
        let paths: Vec<_> = found.iter().map(|e| e.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "spec.devices.requests[0].exactly.selectors[0].cel.expression",
                "spec.devices.requests[1].firstAvailable[0].selectors[0].cel.expression",
            ]
        );
    }
}
