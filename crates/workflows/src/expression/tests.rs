use serde_json::json;

use super::*;

fn environment() -> Environment {
    Environment::of([
        ("workflow.parameters.count", json!("3")),
        ("inputs.parameters.my-name", json!("world")),
        ("inputs.parameters", json!("[]")),
        ("steps.a.outputs.result", json!("[1, 2, 3]")),
        ("item", json!({"name": "x", "size": 2})),
    ])
}

#[track_caller]
fn check(text: &str, expected: Value) {
    assert_eq!(evaluate(text, &environment()), Ok(expected), "{text}");
}

#[test]
fn values_and_operators() {
    check("1 + 2 * 3", json!(7));
    check("(1 + 2) * 3", json!(9));
    check("2 ** 3", json!(8.0));
    check("-2 + 3", json!(1));
    check("1 / 2", json!(0.5));
    check("7 % 4", json!(3));
    check("'a' + \"b\" + `c`", json!("abc"));
    check("true && !false or false", json!(true));
    check("1 < 2 ? 'yes' : 'no'", json!("yes"));
    check("nil ?? 'x'", json!("x"));
    check("2 in [1, 2]", json!(true));
    check("3 not in 1..2", json!(true));
    check("'abc' matches '^a.c$' and 'abc' startsWith 'ab'", json!(true));
    check("[1, 2, 3][-1]", json!(3));
    check("'hello'[1:3]", json!("el"));
    check("{a: 1, 'b': [2]}.b[0]", json!(2));
    check("let x = 2; x * x", json!(4));
    check("1 == 1.0", json!(true));
}

#[test]
fn variables_with_dots_are_maps() {
    check("workflow.parameters.count", json!("3"));
    check("asInt(workflow.parameters.count) + 1", json!(4));
    check("inputs.parameters['my-name']", json!("world"));
    check("item.size > 1", json!(true));
    check("item.other", json!(null));
    check("item.other?.deep ?? 'none'", json!("none"));
    check("missing ?? 'none'", json!("none"));
    assert_eq!(
        evaluate("missing.x", &environment()),
        Err(ExpressionError::Unknown("missing".to_owned()))
    );
}

#[test]
fn functions() {
    check("toJson([1, {a: 'b'}])", json!(r#"[1,{"a":"b"}]"#));
    check("jsonpath('{\"a\": {\"b\": 7}}', '$.a.b')", json!(7));
    check(
        "jsonpath('{\"a\": [{\"b\": 1}, {\"b\": 2}]}', '$.a[*].b')",
        json!([1, 2]),
    );
    check("len('abc') + len([1])", json!(4));
    check("string(2.0)", json!("2"));
    check("map([1, 2], {# * 2})", json!([2, 4]));
    check("filter(fromJSON(steps.a.outputs.result), {# > 1})", json!([2, 3]));
    check("all([{a: 1}, {a: 2}], {.a > 0})", json!(true));
    check("sum(fromJSON(steps.a.outputs.result))", json!(6));
    check("[3, 1, 2] | sort() | join(',')", json!("1,2,3"));
    check("join(map([1,2], # + 1), '-')", json!("2-3"));
}

#[test]
fn sprig() {
    check("sprig.trim(' a ')", json!("a"));
    check("sprig.add(1, 2, 3)", json!(6));
    check("sprig.ternary('a', 'b', 1 == 1)", json!("a"));
    check("sprig.int(asFloat('3.7'))", json!(3));
    check("sprig.splitList(',', 'a,b')", json!(["a", "b"]));
    check("sprig.default('x', '')", json!("x"));
    check("sprig.trunc(2, 'abc')", json!("ab"));
    check("sprig.kebabcase('someName here')", json!("some-name-here"));
    check(
        "sprig.sha256sum('')",
        json!("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    );
}

#[test]
fn names_are_told_with_their_paths() {
    let names = |text: &str| read(text).unwrap().names();
    assert_eq!(
        names("steps.a.outputs.result == '1' && inputs.parameters['b-c'] != nil"),
        ["steps.a.outputs.result", "inputs.parameters.b-c"]
    );
    assert_eq!(names("sprig.trim(item) + asInt(x)"), ["item", "x"]);
    assert_eq!(names("let a = b; a.c + d"), ["b", "d"]);
}

#[test]
fn mistakes_say_where_they_are() {
    let message = |text: &str| evaluate(text, &environment()).unwrap_err().to_string();
    assert_eq!(message("1 +"), "something is missing at the end at character 4");
    assert_eq!(message("'a"), "a quote is not closed at character 1");
    assert_eq!(message("[1, 2"), "`]` was expected, not the end at character 6");
    assert_eq!(message("asInt('x')"), "\"x\" is no integer");
    assert!(message(&"(".repeat(5000)).contains("nested too deeply"));
}
