//! Three templates, nineteen sets of values, three ways to treat what is missing: what is printed is the same. And the
//! objects are those of Jinja2 and PyYAML wherever these make objects of values, and not of parts of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use templates::{BuiltIn, Template, plain_text, render_context};

use super::oracle::{Mode, Oracle};

pub(crate) const TEMPLATES: [&str; 3] = ["countdown-task", "non-distributed-task", "single-gpu-task"];

/// Values as a template sees them, with `global` and `configs`: usual, missing, empty, null, odd and hostile ones.
pub(crate) fn value_sets() -> Vec<(&'static str, Value)> {
    let usual = || {
        json!({
            "global": {"release": "demo-abc", "taskDef": "demo_def", "application": "Production", "creator": "me"},
            "configs": {"global": "{\"a\": 1}", "dataset": "[]", "process": "{}"},
            "image": {"repository": "registry/base", "tag": "v1", "pullPolicy": "IfNotPresent"},
            "process": {"train": {"number": 10, "maxStep": 100}},
            "resources": {"cpu": "200m", "memory": "512Mi", "storage": "1Gi"},
        })
    };
    let with = |pointer: &str, value: Value| {
        let mut values = usual();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        values.pointer_mut(parent).unwrap()[name] = value;
        values
    };
    let without = |pointer: &str| {
        let mut values = usual();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        values
            .pointer_mut(parent)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove(name);
        values
    };
    vec![
        ("usual", usual()),
        ("no configs", without("/configs")),
        ("no resources", without("/resources")),
        ("resources null", with("/resources", Value::Null)),
        ("resources empty", with("/resources", json!({}))),
        (
            "resources in part",
            with("/resources", json!({"cpu": "", "memory": null})),
        ),
        ("no pull policy", without("/image/pullPolicy")),
        ("pull policy null", with("/image/pullPolicy", Value::Null)),
        ("no image", without("/image")),
        ("no creator", without("/global/creator")),
        ("creator null", with("/global/creator", Value::Null)),
        ("no process", without("/process")),
        ("number as text", with("/process/train/number", json!("10"))),
        ("number as fraction", with("/process/train/number", json!(2.5))),
        (
            "configs as mappings",
            with(
                "/configs",
                json!({"global": {"a": "it's", "b": [1, null, true]}, "process": {}}),
            ),
        ),
        (
            "odd types",
            with(
                "/configs",
                json!({"global": 1e-7, "dataset": [1e22, 0.1], "process": "\u{a0}\u{2028}é"}),
            ),
        ),
        (
            "a key called get",
            with("/resources", json!({"get": "x", "cpu": "1"})),
        ),
        ("quotes", with("/global/creator", json!("O'Brien \"x\""))),
        (
            "injection",
            with(
                "/global/creator",
                json!("x\"\n  namespace: kube-system\n  annotations:\n    a: \"y"),
            ),
        ),
    ]
}

#[test]
fn what_is_printed_is_what_jinja_prints() {
    let Some(mut oracle) = Oracle::start() else { return };
    let sets = value_sets();
    let (mut count, mut refused, mut differences) = (0, 0, Vec::new());
    for name in TEMPLATES {
        let text = BuiltIn::find(name).unwrap().text;
        for (set, values) in &sets {
            for undefined in ["lenient", "strict", "chainable"] {
                count += 1;
                let theirs = oracle.ask(Mode::Text, undefined, text, &json!({}), values);
                let ours = plain_text(text, values, undefined);
                match (&ours, &theirs) {
                    (Ok(ours), Ok(theirs)) if theirs.as_str() == Some(ours) => {}
                    (Err(_), Err(_)) => refused += 1,
                    _ => differences.push(format!("{name}, {set}, {undefined}: {ours:?}\n{theirs:?}")),
                }
            }
        }
    }
    assert_eq!(differences, [""; 0]);
    println!("{count} renders, {refused} refused by both, every other the same");
    assert_eq!(count, 171);
    assert!(refused < count / 2);
}

#[test]
fn the_objects_are_those_of_jinja_and_yaml() {
    let Some(mut oracle) = Oracle::start() else { return };
    let (mut same, mut structure) = (0, 0);
    for name in TEMPLATES {
        let text = BuiltIn::find(name).unwrap().text;
        for (set, values) in value_sets() {
            let outcome = compare(&mut oracle, text, &values)
                .unwrap_or_else(|difference| panic!("{name}, {set}: {difference}"));
            match outcome {
                Outcome::Same => same += 1,
                Outcome::Structure => structure += 1,
                Outcome::Refused => {}
            }
        }
    }
    println!("{same} the same, {structure} where a value would be structure in Jinja2");
    assert!(same >= 20 && structure >= 4, "{same} {structure}");
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Jinja2 and PyYAML make the same objects.
    Same,
    /// They make no objects of their text, or others than of values that are kept as values.
    Structure,
    /// Neither makes any.
    Refused,
}

/// Compares ours with the objects of marked text, always, and with those of plain text, wherever these are about the
/// same values.
pub(crate) fn compare(oracle: &mut Oracle, text: &str, values: &Value) -> Result<Outcome, String> {
    let ours = objects(text, values);
    let placed = oracle.ask(Mode::Placed, "semi-strict", text, &json!({}), values);
    let plain = oracle.ask(Mode::Plain, "semi-strict", text, &json!({}), values);
    match (ours, placed) {
        (Ok(ours), Ok(placed)) if same(&ours, &placed) => match plain {
            Ok(plain) if same(&ours, &plain) => Ok(Outcome::Same),
            _ => Ok(Outcome::Structure),
        },
        // The shell's guard is ours alone.
        (Err(problem), Ok(_)) if problem.contains("a shell would act on") => Ok(Outcome::Structure),
        // Digits that join to a number beyond all numbers: to kubectl's reader of YAML they are text.
        (Ok(_), Err(problem)) if problem.contains("Out of range float") => Ok(Outcome::Structure),
        (Err(_), Err(_)) => Ok(Outcome::Refused),
        (ours, placed) => Err(format!("ours: {ours:?}\ntheirs: {placed:?}\nvalues: {values}")),
    }
}

/// Ours, of values as the template sees them.
pub(crate) fn objects(text: &str, values: &Value) -> Result<Value, String> {
    let shown = |problems: Vec<templates::Problem>| format!("{problems:?}");
    let template = Template::parse("t", text, &BTreeMap::new()).map_err(shown)?;
    let rendered = render_context(&template, values).map_err(shown)?;
    Ok(Value::Array(rendered.objects))
}

/// Numbers are numbers, however they are kept.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, value)| b.get(name).is_some_and(|other| same(value, other)))
        }
        (Value::String(a), Value::String(b)) => a == b || exponents(a) == exponents(b),
        _ => a == b,
    }
}

/// In text that a template computes of a number (`x ~ 'm'`), the engine writes `1e21` and `1e-7` where Python writes
/// `1e+21` and `1e-07`.
fn exponents(text: &str) -> String {
    text.replace("e+", "e").replace("e-0", "e-")
}
