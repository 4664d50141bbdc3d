//! Values that try to be more than values: some hundreds of texts, in every style of YAML and in every place of the
//! built-in templates. Each comes out as the text it is, and nothing beside it changes.

#![expect(clippy::unwrap_used, reason = "the parts shared by tests are tests, too")]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use templates::{Global, Inputs, Policy, Template, built_in, render, yaml};

/// Ways out of a scalar, by the place they are meant for.
const ENDINGS: &[&str] = &[
    "", "'", "\"", "''", "\"\"", "\n", "\r\n", "\r", "\n\n", "\n---\n", "\n...\n", "'\n", "\"\n", "}", "]",
    "}}", "]]", ",", ", ", ": ", " #", "\t", "\\", "\\\"", "\\n", "\u{85}", "\u{2028}", "\u{2029}",
];

/// What they would do outside.
const PAYLOADS: &[&str] = &[
    "namespace: kube-system",
    "  namespace: kube-system\n  annotations:\n    a: \"y",
    "apiVersion: v1\nkind: Secret\nmetadata: {name: stolen}",
    "hostNetwork: true",
    "securityContext: {privileged: true}",
    "- name: evil\n  image: evil",
    "<<: *anchor",
    "&anchor x",
    "!!python/object/apply:os.system [id]",
    "{{ 7 * 7 }}{% include 'x' %}{# y #}",
];

/// Texts that mean something to somebody.
const OTHERS: &[&str] = &[
    "yes",
    "no",
    "on",
    "off",
    "true",
    "null",
    "~",
    "",
    " ",
    "0",
    "012",
    "0x1F",
    "0o17",
    "1e3",
    "1_000",
    "1:30",
    ".inf",
    "-.inf",
    ".nan",
    "2020-01-01",
    "2020-01-01T00:00:00Z",
    "=",
    "<<",
    "*a",
    "&a",
    "!a",
    "!!int 5",
    "|",
    ">",
    ">-",
    "|2",
    "%YAML 1.1",
    "@a",
    "`a`",
    "? a",
    "- a",
    "- ",
    "-",
    ":",
    "#",
    "# a",
    "[]",
    "{}",
    "[",
    "{",
    "]",
    "}",
    "'a'",
    "\"a\"",
    "a: b",
    "a:b",
    "a #b",
    "a\tb",
    "\ta",
    "a ",
    " a",
    "a\nb",
    "a\n",
    "\na",
    "a\n\n\nb",
    "a\r\nb",
    "a\rb",
    "\u{0}",
    "\u{1}",
    "\u{7f}",
    "\u{80}",
    "\u{85}",
    "\u{a0}",
    "\u{feff}",
    "\u{200b}",
    "\u{202e}abc",
    "\u{2028}",
    "\u{fdd0}0\u{fdd1}",
    "\u{fdd2}1\u{fdd1}",
    "\u{fdd3}a",
    "\u{fdd0}",
    "\u{fdd1}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{fffd}",
    "\u{e000}0\u{e001}",
    "\u{10ffff}",
    "é",
    "日本語",
    "\u{1f600}",
    "Z\u{0351}\u{0349}algo",
    "{{ x }}",
    "{{x}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "}}",
    "{{",
    "{{ configs }}",
    "{{ self }}",
    "{{ ''.__class__.__mro__ }}",
    "{{ range(10**9) }}",
    "{% for x in range(10**9) %}{% endfor %}",
    "{%- raw -%}",
    "${x}",
    "$(x)",
    "$$(x)",
    "`id`",
    "; id",
    "| id",
    "&& id",
    "> /etc/passwd",
    "$IFS",
    "\\x41",
    "\\u0041",
    "\\",
    "\\\\",
    "%s%s%s%n",
    "%x",
    "../../etc/passwd",
    "/dev/null",
    "file:///etc/passwd",
    "<script>alert(1)</script>",
    "&amp;",
    "<!--",
    "]]>",
    "' or '1'='1",
    "\"; drop table x; --",
    "\u{1b}[2J",
    "\u{8}",
    "-n",
    "--help",
    "-----BEGIN",
    "()",
    "() { :; }; id",
    "data:text/html,x",
    "javascript:0",
    "NaN",
    "Infinity",
    "undefined",
    "None",
    "True",
    "nil",
    "constructor",
    "__proto__",
    "toString",
    "a.b.c",
    "a/b",
    "a~b",
    "~0",
    "~1",
    "/",
    "//",
    "0.1.2",
    "1,5",
    "1 000",
    "९",
    "1/2",
    "١",
    "Å",
    "ﬁ",
    "İ",
    "ß",
    "ſ",
    "\u{301}",
    "👩‍👩‍👧",
    "\u{d7ff}",
    "CON",
    "aux.h",
];

fn hostile() -> BTreeSet<String> {
    let escapes = ENDINGS
        .iter()
        .flat_map(|ending| PAYLOADS.iter().map(move |payload| format!("x{ending}{payload}")));
    escapes
        .chain(OTHERS.iter().map(|text| (*text).to_owned()))
        .collect()
}

const STYLES: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: r-1 # {{ v }}
data:
  plain: {{ v }}
  single: '{{ v }}'
  double: \"{{ v }}\"
  within: a {{ v }} b
  quoted: \"a {{ v }} b\"
  twice: '{{ v }}{{ v }}'
  literal: |
    {{ v }}
  folded: >
    {{ v }}
  flow: {k: {{ v }}, l: [{{ v }}, \"{{ v }}\"]}
  structure: {{ [v] | tojson }}
  mapping: {{ {v: v} | tojson }}
  \"key {{ v }}\": key
  after: it
";

fn inputs(values: Value, system_values: Value) -> Inputs {
    Inputs {
        values,
        system_values,
        global: Global {
            release: "r-1".to_owned(),
            task_def: "demo".to_owned(),
            application: "app".to_owned(),
            creator: "me".to_owned(),
        },
    }
}

#[test]
fn a_text_is_a_text_in_every_style() {
    let template = Template::parse("styles", STYLES, &BTreeMap::new()).unwrap();
    let texts = hostile();
    assert!(texts.len() > 400, "{}", texts.len());
    for v in &texts {
        let rendered = render(&template, &inputs(json!({"v": v}), Value::Null))
            .unwrap_or_else(|problems| panic!("{v:?}: {problems:?}"));
        let mut data = json!({
            "plain": v, "single": v, "double": v, "within": format!("a {v} b"), "quoted": format!("a {v} b"),
            "twice": format!("{v}{v}"), "literal": format!("{v}\n"), "folded": format!("{v}\n"),
            "flow": {"k": v, "l": [v, v]}, "structure": [v], "mapping": {v.as_str(): v}, "after": "it",
        });
        data[format!("key {v}")] = "key".into();
        let expected =
            json!([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "r-1"}, "data": data}]);
        assert_eq!(Value::Array(rendered.objects), expected, "{v:?}");
    }
    println!("{} texts in {} places", texts.len(), STYLES.matches("{{").count());
}

/// Every text of the examples is replaced in turn, by each of the hostile ones: the objects differ in that text alone.
#[test]
fn no_text_changes_anything_else_in_built_in_templates() {
    let texts: Vec<String> = hostile().into_iter().filter(|text| !text.is_empty()).collect();
    let policy = Policy::of_task("team", "r-1");
    let mut count = 0;
    for built_in in built_in() {
        let template = Template::parse(built_in.name, built_in.text, &BTreeMap::new()).unwrap();
        let example = yaml("example", built_in.values_example).unwrap();
        let system = yaml("system", built_in.system_values).unwrap();
        let mut pointers = Vec::new();
        leaves(&example, "", &mut pointers);
        for (turn, pointer) in pointers.iter().enumerate() {
            let harmless = objects(&template, &example, &system, pointer, "Harmless");
            let other = objects(&template, &example, &system, pointer, "Otherwise");
            let moved = match (&harmless, &other) {
                (Ok(harmless), Ok(other)) => differences(harmless, other),
                _ => Vec::new(),
            };
            // A step of a pipeline is named twice and waited for by name; one in turn is enough for the others.
            for text in texts.iter().skip(turn % 7).step_by(7) {
                let hostile = objects(&template, &example, &system, pointer, text);
                match (&harmless, hostile) {
                    (Ok(harmless), Ok(hostile)) => {
                        assert_eq!(
                            shape(&hostile),
                            shape(harmless),
                            "{} {pointer} {text:?}",
                            built_in.name
                        );
                        // Only fields that the value is for have changed.
                        let changed = differences(harmless, &hostile);
                        let stray: Vec<&String> =
                            changed.iter().filter(|field| !moved.contains(field)).collect();
                        assert!(
                            stray.is_empty(),
                            "{} {pointer} {text:?}: {stray:?}",
                            built_in.name
                        );
                        assert_eq!(
                            policy.judge(hostile.as_array().unwrap()),
                            [],
                            "{} {pointer} {text:?}",
                            built_in.name
                        );
                    }
                    // What a shell would act on is refused.
                    (_, Err(problem)) => assert!(
                        problem.contains("a shell would act on"),
                        "{} {pointer} {text:?}: {problem}",
                        built_in.name
                    ),
                    (Err(problem), Ok(_)) => panic!("{} {pointer}: {problem}", built_in.name),
                }
                count += 1;
            }
        }
    }
    println!("{count} renders");
    assert!(count > 2000, "{count}");
}

fn objects(
    template: &Template,
    example: &Value,
    system: &Value,
    pointer: &str,
    text: &str,
) -> Result<Value, String> {
    let mut values = example.clone();
    *values.pointer_mut(pointer).unwrap() = text.into();
    render(template, &inputs(values, system.clone()))
        .map(|rendered| Value::Array(rendered.objects))
        .map_err(|problems| format!("{problems:?}"))
}

fn leaves(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, field)| leaves(field, &format!("{pointer}/{name}"), found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| leaves(item, &format!("{pointer}/{index}"), found)),
        _ => found.push(pointer.to_owned()),
    }
}

/// The fields of which two values differ, as JSON pointers; a text beside a mapping or list differs as a whole.
fn differences(one: &Value, other: &Value) -> Vec<String> {
    fn collect(one: &Value, other: &Value, pointer: &str, found: &mut Vec<String>) {
        match (one, other) {
            (Value::Object(one), Value::Object(other)) => {
                let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
                for name in names {
                    let field = |fields: &serde_json::Map<String, Value>| {
                        fields.get(name).cloned().unwrap_or(Value::Null)
                    };
                    collect(&field(one), &field(other), &format!("{pointer}/{name}"), found);
                }
            }
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
                for (index, (one, other)) in one.iter().zip(other).enumerate() {
                    collect(one, other, &format!("{pointer}/{index}"), found);
                }
            }
            _ if one == other => {}
            _ => found.push(pointer.to_owned()),
        }
    }
    let mut found = Vec::new();
    collect(one, other, "", &mut found);
    found
}

/// Objects without their texts, but with those that decide what they are.
fn shape(value: &Value) -> Value {
    match value {
        Value::String(_) => "text".into(),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(fields) => {
            let entries = fields.iter().map(|(name, field)| match name.as_str() {
                "apiVersion" | "kind" | "namespace" => (name.clone(), field.clone()),
                _ => (name.clone(), shape(field)),
            });
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}
