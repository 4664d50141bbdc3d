//! Expressions in webhook configurations and policies, compiled when they are written: what does not
//! compile is not stored.

use kinds::objects::expressions::{Expression, Purpose, expressions};
use manifests::field::FieldError;
use schemas::cel::{Returns, admission::Environment};
use serde_json::Value;

const GROUP: &str = "admissionregistration.k8s.io";

/// Complains about every expression that does not compile. Match conditions that did not change were
/// checked before.
pub(crate) fn validate(
    group: &str,
    kind: &str,
    new: &Value,
    old: Option<&Value>,
    errors: &mut Vec<FieldError>,
) {
    if group != GROUP {
        return;
    }
    let same_conditions = old.is_some_and(|old| conditions(new) == conditions(old));
    let found = expressions(group, kind, new);
    let has_variables = found
        .iter()
        .any(|expression| expression.purpose == Purpose::Variable);
    let mut environment = Environment::new()
        .with_authorizer(true)
        .with_variables(has_variables);
    for expression in found {
        if expression.purpose == Purpose::MatchCondition && same_conditions {
            continue;
        }
        environment = environment.with_params(expression.has_params);
        let shown = match expression.purpose {
            Purpose::MatchCondition => expression.text.trim(),
            _ => expression.text,
        };
        if let Some(complaint) = complaint(&mut environment, &expression) {
            errors.push(FieldError::invalid(&expression.path, &shown.into(), complaint));
        }
    }
}

/// Why an expression does not compile. Variables are there for the expressions after them.
fn complaint(environment: &mut Environment, expression: &Expression<'_>) -> Option<String> {
    let text = expression.text;
    let compiled = match expression.purpose {
        Purpose::Variable => {
            let variable = environment.declare(expression.name.unwrap_or_default(), text);
            return variable.error().map(str::to_owned);
        }
        // Conditions decide whether the policy is looked at, before there are variables.
        Purpose::MatchCondition => environment
            .clone()
            .with_variables(false)
            .compile(text.trim(), &[Returns::Bool]),
        Purpose::Validation => environment.compile(text, &[Returns::Bool]),
        Purpose::Message => environment
            .clone()
            .with_authorizer(false)
            .compile(text, &[Returns::Text]),
        Purpose::AuditAnnotation => environment.compile(text.trim(), &[Returns::Text, Returns::Null]),
        Purpose::DeviceSelector => return None,
    };
    compiled.err()
}

/// Everything the validity of match conditions depends on.
fn conditions(object: &Value) -> Vec<&Value> {
    let spec = kinds::read::get(object, "spec");
    let hooks = kinds::read::list(object, "webhooks").iter();
    hooks
        .map(|hook| kinds::read::get(hook, "matchConditions"))
        .chain([
            kinds::read::get(spec, "paramKind"),
            kinds::read::get(spec, "matchConditions"),
        ])
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(kind: &str, object: &Value, expected: &[&str]) {
        let mut errors = Vec::new();
        validate(GROUP, kind, object, None, &mut errors);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn broken_match_conditions_are_refused() {
        let hook = json!({ "matchConditions": [
            { "name": "good", "expression": "object.metadata.namespace == 'production'" },
            { "name": "bad", "expression": "  foo.bar " },
            { "name": "number", "expression": "1" },
        ]});
        check(
            "ValidatingWebhookConfiguration",
            &json!({ "webhooks": [hook] }),
            &[
                "webhooks[0].matchConditions[1].expression: Invalid value: \"foo.bar\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo.bar\n | ^",
                "webhooks[0].matchConditions[2].expression: Invalid value: \"1\": must evaluate to bool but got int",
            ],
        );
    }

    #[test]
    fn unchanged_match_conditions_are_left_alone() {
        let old = json!({ "webhooks": [{ "matchConditions": [{ "name": "x", "expression": "nonsense" }] }] });
        let mut errors = Vec::new();
        validate(
            GROUP,
            "MutatingWebhookConfiguration",
            &old,
            Some(&old),
            &mut errors,
        );
        assert_eq!(errors, []);
    }

    #[test]
    fn expressions_of_a_policy_see_what_they_may_see() {
        let policy = json!({ "spec": {
            "variables": [{ "name": "a", "expression": "object.spec.a" }],
            "matchConditions": [{ "name": "early", "expression": "variables.a == 1" }],
            "validations": [
                { "expression": "variables.a == 1 && authorizer.path('/x').check('get').allowed()" },
                { "expression": "params.x == 1", "messageExpression": "string(authorizer == authorizer)" },
            ],
        }});
        check(
            "ValidatingAdmissionPolicy",
            &policy,
            &[
                "spec.matchConditions[0].expression: Invalid value: \"variables.a == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.a == 1\n | ^",
                "spec.validations[1].expression: Invalid value: \"params.x == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.x == 1\n | ^",
                "spec.validations[1].messageExpression: Invalid value: \"string(authorizer == authorizer)\": compilation failed: ERROR: <input>:1:8: undeclared reference to 'authorizer' (in container '')\n | string(authorizer == authorizer)\n | .......^\nERROR: <input>:1:22: undeclared reference to 'authorizer' (in container '')\n | string(authorizer == authorizer)\n | .....................^",
            ],
        );
    }
}
