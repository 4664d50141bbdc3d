//! Templates and definitions that anybody may have written. No value changes what is around it: with the worst values
//! a template makes what it makes with harmless ones, but for the values. No mark of ours is left in what is made, and
//! no problem tells a value.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use templates::{
    Definition, Global, Inputs, Policy, Problem, Rendered, Schema, Template, render, render_traced, slug,
};

/// What would be structure if it were not a value. As long as its harmless twin, and as true.
const HOSTILE: &str = "}\"'\n- x: {{ a }}\n  namespace: kube-system #&*!|>%@`\u{fdd0}0\u{fdd1}";

pub(super) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    definition(text);
    let Ok(template) = Template::parse("input", text, &BTreeMap::new()) else {
        return;
    };
    let harmless: String = HOSTILE.chars().map(|_| 'a').collect();
    let tame = render(&template, &inputs(&harmless));
    let wild = render_traced(&template, &inputs(HOSTILE));
    for problem in wild.as_ref().err().into_iter().flatten() {
        assert!(!tells(problem, "kube-system"), "{problem}\n{text}");
    }
    if let Ok(wild) = &wild {
        clean(wild, text);
        Policy::of_task("team", "r-1").judge(&wild.objects);
    }
    // Where a template computes with values, other values are other objects.
    if !computes(text)
        && let (Ok(tame), Ok(wild)) = (&tame, &wild)
    {
        let shapes = |rendered: &Rendered| -> Vec<Value> { rendered.objects.iter().map(shape).collect() };
        assert_eq!(shapes(tame), shapes(wild), "{text}");
    }
}

fn inputs(value: &str) -> Inputs {
    Inputs {
        values: json!({"a": value, "b": {"c": value, "d": [value, value]}, "n": 5, "t": true, "e": "", "z": null}),
        system_values: json!({"image": {"tag": value}}),
        global: Global {
            release: "r-1".to_owned(),
            task_def: slug("demo", 50),
            application: "app".to_owned(),
            creator: "me".to_owned(),
        },
    }
}

/// Whether more is done with values than to print them and to ask whether they are there.
fn computes(text: &str) -> bool {
    let tags: Vec<&str> = text.split("{{").skip(1).chain(text.split("{%").skip(1)).collect();
    let is_plain = |tag: &&str| {
        let inside = tag.split(['}', '%']).next().unwrap_or_default();
        inside
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | '_' | '-'))
            && !inside.contains(" in ")
            && !inside.contains(" is ")
    };
    !tags.iter().all(is_plain)
}

fn tells(problem: &Problem, secret: &str) -> bool {
    // The template's own line may have the words.
    let without_line = Problem {
        snippet: None,
        ..problem.clone()
    };
    format!("{without_line:?}").contains(secret)
        && problem.snippet.as_ref().is_none_or(|line| !line.contains(secret))
}

/// The objects without what values are.
fn shape(value: &Value) -> Value {
    match value {
        Value::String(_) => "text".into(),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(fields) => {
            let is_filled = |name: &str| name.contains("kube-system") || name.contains("aaaa");
            let mut entries: Vec<Value> = fields
                .iter()
                .map(|(name, field)| json!([if is_filled(name) { "filled" } else { name }, shape(field)]))
                .collect();
            // What is filled in decides which comes first, and nothing else.
            entries.sort_by_key(Value::to_string);
            entries.into()
        }
        other => other.clone(),
    }
}

/// Nothing of ours is left but what was in the value.
fn clean(rendered: &Rendered, text: &str) {
    let json = serde_json::to_string(&rendered.objects).unwrap_or_default();
    let rest = json.replace("\u{fdd0}0\u{fdd1}", "");
    assert!(
        computes(text) || !rest.contains(['\u{fdd0}', '\u{fdd1}', '\u{fdd2}', '\u{fdd3}']),
        "{text}\nbecame\n{json}"
    );
}

/// The text as the words and the example of a definition.
fn definition(text: &str) {
    let learned = Schema::of_definition(&Definition {
        description: text,
        example: text,
        schema: None,
    });
    match learned {
        Ok(schema) => {
            schema.form();
            schema.validate(&json!({}));
            schema.validate(schema.example());
        }
        Err(problems) => {
            let own = problems
                .iter()
                .find(|problem| problem.message.starts_with("values_schema"));
            assert!(own.is_none(), "a schema of ours is wrong: {own:?}\n{text}");
        }
    }
}
