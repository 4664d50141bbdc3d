use serde_json::{Value, json};

use super::*;
use crate::cel::authorization::{Decision, What, Who};

const BOOL: &[Returns] = &[Returns::Bool];

fn policy() -> Environment {
    Environment::new().with_authorizer(true).with_variables(true)
}

/// Allows everything to one service account and reading to the requester.
struct Readers;

impl Authorizer for Readers {
    fn decide(&self, who: &Who, what: &What, verb: &str) -> Decision {
        let reason = format!("{who:?} {what:?} {verb}");
        let allowed = verb == "get" || matches!(who, Who::ServiceAccount { name, .. } if name == "robot");
        Decision { allowed, reason }
    }
}

fn evaluate(environment: &Environment, variables: &[Variable], source: &str) -> Result<Value, String> {
    let program = environment.compile(source, &[Returns::Anything])?;
    let object = json!({"spec": {"replicas": 3}, "metadata": {"name": "web"}});
    let request = json!({
        "operation": "CREATE", "namespace": "ns", "name": "web", "requestSubResource": "scale",
        "requestResource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "userInfo": {"username": "me", "groups": ["a"]},
    });
    let inputs = Inputs {
        object: &object,
        old_object: &Value::Null,
        request: &request,
        params: &Value::Null,
        namespace_object: &Value::Null,
        authorizer: Some(&Readers),
    };
    let mut activation = Activation::new(inputs, variables, 10_000_000);
    activation
        .evaluate(&program)
        .map_err(|error| error.to_string())
        .and_then(|value| value)
}

#[test]
fn expressions_must_come_to_what_is_wanted() {
    let error = |source: &str, wanted: &[Returns]| policy().compile(source, wanted).unwrap_err();
    assert_eq!(
        error("object.spec.flag", BOOL),
        "must evaluate to bool but got dyn"
    );
    assert_eq!(
        error("1", &[Returns::Text, Returns::Null]),
        "must evaluate to one of [string null_type] but got int"
    );
    assert_eq!(error("null", BOOL), "must evaluate to bool but got null_type");
    assert!(policy().compile("object.spec.replicas > 1", BOOL).is_ok());
    assert!(
        policy()
            .compile("'a' + object.spec.replicas", &[Returns::Text])
            .is_ok()
    );
}

#[test]
fn the_request_and_the_namespace_have_types() {
    let error = |source: &str| policy().compile(source, BOOL).unwrap_err();
    assert!(error("request.foo == 'a'").contains("undefined field 'foo'"));
    assert!(error("request.name == 1").contains("applied to '(string, int)'"));
    assert!(error("namespaceObject.metadata.foo == ''").contains("undefined field 'foo'"));
    assert!(error("params.x == 1").contains("undeclared reference to 'params'"));
    for source in [
        "request.namespace == 'x' && 'a' in request.userInfo.groups",
        "request.kind.kind == 'Pod' && request.resource.resource == 'pods'",
        "namespaceObject.metadata.labels['a'] == 'b'",
        "request.?subResource.orValue('') == 'scale'",
    ] {
        assert!(policy().compile(source, BOOL).is_ok(), "for {source}");
    }
}

#[test]
fn variables_build_on_each_other() {
    let mut environment = policy();
    let variables = [
        environment.declare("replicas", "object.spec.replicas"),
        environment.declare("odd", "variables.replicas % 2 == 1"),
        environment.declare("broken", "object.spec.nothing"),
    ];
    let check = |source: &str| evaluate(&environment, &variables, source);
    assert!(environment.compile("variables.odd", BOOL).is_ok());
    assert_eq!(check("variables.odd && variables.replicas > 2"), Ok(json!(true)));
    assert_eq!(check("has(variables.odd)"), Ok(json!(true)));
    assert_eq!(check("variables.odd || variables.broken == 1"), Ok(json!(true)));
    assert_eq!(
        check("variables.broken"),
        Err("expression 'variables.broken' resulted in error: composited variable \"broken\" fails to evaluate: no such key: nothing".to_owned())
    );
    assert!(
        check("variables.none")
            .unwrap_err()
            .contains("undefined field 'none'")
    );
    assert!(check("[1].all(variables, variables > 0)").is_ok());
}

#[test]
fn a_long_chain_of_variables_is_no_deep_recursion() {
    let mut environment = policy();
    let mut variables = vec![environment.declare("v0", "1")];
    for i in 1..5000 {
        variables.push(environment.declare(&format!("v{i}"), &format!("variables.v{} + 1", i - 1)));
    }
    assert_eq!(
        evaluate(&environment, &variables, "variables.v4999"),
        Ok(json!(5000))
    );
}

#[test]
fn a_variable_cannot_use_itself() {
    let mut environment = policy();
    let first = environment.declare("x", "1");
    let second = environment.declare("x", "variables.x + 1");
    let outcome = evaluate(&environment, &[first, second], "variables.x");
    assert!(outcome.unwrap_err().contains("no such attribute: variables.x"));
}

#[test]
fn permissions_can_be_asked_for() {
    let check = |source: &str| evaluate(&policy(), &[], source);
    assert_eq!(
        check("authorizer.group('').resource('pods').namespace('x').check('create').allowed()"),
        Ok(json!(false))
    );
    assert_eq!(
        check("authorizer.path('/healthz').check('get').allowed()"),
        Ok(json!(true))
    );
    assert_eq!(
        check(
            "authorizer.serviceAccount('ns', 'robot').group('apps').resource('x').check('delete').allowed()"
        ),
        Ok(json!(true))
    );
    let reason = check("authorizer.requestResource.check('custom').reason()").unwrap();
    assert!(
        reason
            .as_str()
            .unwrap()
            .contains("subresource: \"scale\", namespace: \"ns\", name: \"web\"")
    );
    assert!(
        check("authorizer.path(' ')")
            .unwrap_err()
            .ends_with("path must not be empty")
    );
    let without = policy().with_authorizer(false);
    assert!(
        without
            .compile("authorizer.path('/').check('get').allowed()", BOOL)
            .is_err()
    );
}

#[test]
fn asking_is_expensive() {
    let one = "authorizer.path('/').check('get').allowed()";
    assert_eq!(
        evaluate(&policy(), &[], &format!("{one} && {one}")),
        Ok(json!(true))
    );
    let three = evaluate(&policy(), &[], &format!("{one} && {one} && {one}"));
    assert!(three.unwrap_err().contains("actual cost limit exceeded"));
}
