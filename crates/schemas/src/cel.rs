//! The Common Expression Language, as Kubernetes speaks it: parsing, type checking, cost estimates
//! and evaluation within a budget. [`Expression`] is for anything over JSON variables, [`admission`]
//! for policies and match conditions; the rules of custom resources have their own walk in `rules`.

pub mod admission;
pub mod authorization;
mod check;
pub(crate) mod declared;
mod escape;
mod estimate;
mod evaluate;
mod lexer;
mod library;
mod macros;
mod parse;
pub(crate) mod program;
pub(crate) mod rules;
mod signatures;
mod syntax;
mod time;
mod types;
mod value;

use serde_json::{Map, Number, Value};

use self::{
    check::Checked,
    program::compile,
    types::Type,
    value::{List, MapVal, Val},
};

/// What one evaluation may cost.
pub const PER_CALL_LIMIT: u64 = 1_000_000;

/// A compiled expression over JSON variables.
#[derive(Debug)]
pub struct Expression {
    checked: Checked,
}

/// What an expression must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    Bool,
    Text,
    Null,
    Anything,
}

impl Expression {
    /// Compiles an expression over the variables of admission (`object`, `request`, `variables`, ...).
    /// The error is the compiler's own text, with position and excerpt.
    pub fn compile(source: &str) -> Result<Self, String> {
        Ok(Self {
            checked: compile(source, &admission::variables())?,
        })
    }

    /// Compiles an expression over the named variables; nothing is known of their types.
    pub fn compile_with(source: &str, variables: &[&str]) -> Result<Self, String> {
        let variables: Vec<_> = variables.iter().map(|name| (*name, Type::Dyn)).collect();
        Ok(Self {
            checked: compile(source, &variables)?,
        })
    }

    /// Says why the expression cannot come to what is wanted.
    pub fn must_return(&self, wanted: Returns) -> Result<(), String> {
        let own = self.checked.type_of(&self.checked.expr);
        match (wanted, own) {
            (Returns::Anything, _)
            | (_, Type::Dyn)
            | (Returns::Bool, Type::Bool)
            | (Returns::Text, Type::Text)
            | (Returns::Null, Type::Null) => Ok(()),
            (wanted, own) => Err(admission::wrong_type(&[wanted], own)),
        }
    }

    /// The names of the variables the expression uses.
    pub fn uses(&self) -> &[String] {
        &self.checked.uses
    }

    /// Evaluates to JSON. Times and durations come back as text, everything JSON cannot say as null.
    pub fn evaluate(&self, variables: &[(&str, &Value)]) -> Result<Value, String> {
        let (value, _) = self.evaluate_within(variables, PER_CALL_LIMIT);
        value
    }

    /// Evaluates within a budget, and says what was used of it.
    pub fn evaluate_within(&self, variables: &[(&str, &Value)], limit: u64) -> (Result<Value, String>, u64) {
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (*name, Val::of(value, None)))
            .collect();
        let (outcome, cost) = evaluate::evaluate(&self.checked.expr, &variables, limit.min(PER_CALL_LIMIT));
        (
            outcome
                .map(|value| to_json(&value))
                .map_err(|error| error.to_string()),
            cost,
        )
    }
}

fn to_json(value: &Val<'_>) -> Value {
    match value {
        Val::Null | Val::Optional(None) | Val::Foreign(_) | Val::Inquiry(_) => Value::Null,
        Val::Bool(flag) => Value::Bool(*flag),
        Val::Int(integer) => Value::from(*integer),
        Val::UInt(integer) => Value::from(*integer),
        Val::Double(double) => Number::from_f64(*double).map_or(Value::Null, Value::Number),
        Val::Text(text) => Value::from(&**text),
        Val::Bytes(bytes) => Value::from(String::from_utf8_lossy(bytes)),
        Val::Duration(nanos) => Value::from(time::duration_text(*nanos)),
        Val::Timestamp(instant) => Value::from(instant.to_string()),
        Val::Type(name) => Value::from(&**name),
        Val::Optional(Some(inner)) => to_json(inner),
        Val::List(List::Json { items, .. }) => Value::from(*items),
        Val::List(list) => list.iter().map(|item| to_json(&item)).collect(),
        Val::Map(MapVal::Json { entries, .. }) => Value::Object((*entries).clone()),
        Val::Map(map) => {
            let entries = map.keys().into_iter().filter_map(|key| {
                let key = key.key()?;
                Some((key.to_string(), to_json(&map.get(&key)?)))
            });
            Value::Object(entries.collect::<Map<_, _>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(source: &str, expected: Value) {
        let object = json!({"spec": {"replicas": 3, "names": ["a", "b"], "labels": {"x": "1"}, "n": null}});
        let expression = Expression::compile(source).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            expression.evaluate(&[("object", &object)]),
            Ok(expected),
            "for {source}"
        );
    }

    #[track_caller]
    fn check_error(source: &str, expected: &str) {
        let object = json!({"spec": {"replicas": 3, "names": ["a", "b"]}});
        let expression = Expression::compile(source).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            expression.evaluate(&[("object", &object)]),
            Err(expected.to_owned()),
            "for {source}"
        );
    }

    #[test]
    fn expressions_have_the_values_the_language_gives_them() {
        check("1 + 2 * 3 == 7 && !(5 - 3 > 2)", json!(true));
        check("object.spec.replicas > 2 ? 'many' : 'few'", json!("many"));
        check("object.spec.names.all(n, n.size() == 1)", json!(true));
        check("object.spec.names.exists(n, n == 'b')", json!(true));
        check("object.spec.names.exists_one(n, n == 'b')", json!(true));
        check("object.spec.names.map(n, n + n)", json!(["aa", "bb"]));
        check("object.spec.names.map(n, n == 'a', n + n)", json!(["aa"]));
        check("object.spec.names.filter(n, n != 'a')", json!(["b"]));
        check(
            "object.spec.names.all(i, n, i < 2 && n in ['a', 'b'])",
            json!(true),
        );
        check("object.spec.labels.transformMap(k, v, v + k)", json!({"x": "1x"}));
        check("object.spec.labels.transformList(k, v, v + k)", json!(["1x"]));
        check(
            "has(object.spec.foo) || object.spec.?foo.orValue(7) == 7",
            json!(true),
        );
        check("object.?spec.?replicas.optMap(r, r + 1).value()", json!(4));
        check("optional.none().hasValue()", json!(false));
        check("object.spec.n == null", json!(true));
        check("'a-b-c'.split('-').join('+')", json!("a+b+c"));
        check("'%s has %s'.format(['x', string(3)])", json!("x has 3"));
        check("quantity('1Gi').isGreaterThan(quantity('1G'))", json!(true));
        check("cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))", json!(true));
        check("url('https://a.b:80/c?d=e').getHost()", json!("a.b:80"));
        check("sets.contains([1, 2, 3], [1, 3])", json!(true));
        check("semver('1.2.3').isLessThan(semver('1.10.0'))", json!(true));
        check("format.dns1123Label().validate('ok').hasValue()", json!(false));
        check("duration('1h') > duration('59m')", json!(true));
        check("timestamp('2024-02-29T10:00:00Z').getMonth()", json!(1));
        check(
            "type(object.spec.replicas) == int && type('') == string",
            json!(true),
        );
        check("{'a': 1}['a'] == 1 && 'a' in {'a': 1}", json!(true));
        check("b'abc'.size() == 3 && '\\u00e4'.size() == 1", json!(true));
        check("[1, 2.0 == 2.0 ? 2 : 3].sum()", json!(3));
        check("-9223372036854775808 < 0", json!(true));
        check("false && (1 / 0 == 1)", json!(false));
        check("(1 / 0 == 1) || true", json!(true));
        check("'abc'.matches('^[a-c]+$')", json!(true));
        check("string(1.5) + string(duration('90s'))", json!("1.590s"));
    }

    #[test]
    fn errors_are_the_languages_own() {
        check_error("object.foo", "no such key: foo");
        check_error("object.spec.names[5]", "index out of bounds: 5");
        check_error("1 / (object.spec.replicas - 3)", "division by zero");
        check_error("9223372036854775807 + object.spec.replicas", "integer overflow");
        check_error("object.spec.replicas + 'a'", "no such overload");
        check_error(
            "int('x' + object.spec.names[0])",
            "type conversion error from 'string' to 'int'",
        );
        check_error("object.spec.names.all(n, n.foo == 1)", "no such overload");
    }

    #[test]
    fn an_expression_cannot_run_for_long() {
        let numbers: Value = (0..2000).collect();
        let expression =
            Expression::compile("object.all(a, object.all(b, object.all(c, a + b + c >= 0)))").unwrap();
        let error = "operation cancelled: actual cost limit exceeded";
        assert_eq!(
            expression.evaluate(&[("object", &numbers)]),
            Err(error.to_owned())
        );
        let deep: Value = (0..10).map(|_| (0..20_000).collect::<Value>()).collect();
        for source in [
            "range.all(x, object == object)",
            "range.all(x, (object[0] + object[1]).size() > 0)",
        ] {
            let expression = Expression::compile_with(source, &["range", "object"]).unwrap();
            let outcome = expression.evaluate(&[("range", &numbers), ("object", &deep)]);
            assert_eq!(outcome, Err(error.to_owned()), "for {source}");
        }
        let text = Value::from("x".repeat(1_000_000));
        for source in [
            "object.replace('', object)",
            "[object, object].map(a, object + object).join(object)",
        ] {
            let expression = Expression::compile(source).unwrap();
            let outcome = expression.evaluate(&[("object", &text)]);
            assert_eq!(outcome.map(|_| ()), Err(error.to_owned()), "for {source}");
        }
    }

    #[test]
    fn deep_and_long_expressions_are_refused_or_read() {
        let deep = format!("{}1{}", "(".repeat(300), ")".repeat(300));
        assert!(
            Expression::compile(&deep)
                .unwrap_err()
                .contains("expression recursion limit exceeded: 250")
        );
        let broken = "f(g(".repeat(300);
        assert!(Expression::compile(&broken).is_err());
        let long = vec!["true"; 10_000].join(" && ");
        assert_eq!(Expression::compile(&long).unwrap().evaluate(&[]), Ok(json!(true)));
        let sum = vec!["1"; 1000].join(" + ");
        assert!(Expression::compile(&sum).is_err());
    }

    #[test]
    fn requests_have_types_and_results_are_checked() {
        let error = Expression::compile("request.foo == 1").unwrap_err();
        assert_eq!(
            error,
            "ERROR: <input>:1:8: undefined field 'foo'\n | request.foo == 1\n | .......^"
        );
        let request = json!({"operation": "CREATE", "namespace": "a", "userInfo": {"groups": ["x"]}});
        let source =
            "request.operation == 'CREATE' && request.namespace == 'a' && 'x' in request.userInfo.groups";
        let expression = Expression::compile(source).unwrap();
        assert_eq!(expression.evaluate(&[("request", &request)]), Ok(json!(true)));
        assert_eq!(expression.must_return(Returns::Bool), Ok(()));
        let number = Expression::compile("1").unwrap();
        assert_eq!(
            number.must_return(Returns::Bool),
            Err("must evaluate to bool but got int".to_owned())
        );
    }

    #[test]
    fn compile_errors_point_at_their_place() {
        let error = |source: &str| Expression::compile(source).unwrap_err();
        assert_eq!(
            error("object.spec +"),
            "ERROR: <input>:1:14: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | object.spec +\n | .............^"
        );
        assert_eq!(
            error("foo == 1"),
            "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo == 1\n | ^"
        );
        assert_eq!(
            error("1 + 'a' == 2"),
            "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a' == 2\n | ..^"
        );
    }
}
