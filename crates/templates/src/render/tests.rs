use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::Global;

fn inputs(values: Value) -> Inputs {
    Inputs {
        values,
        system_values: Value::Null,
        global: Global {
            release: "r-1".to_owned(),
            task_def: "d".to_owned(),
            application: "a".to_owned(),
            creator: "c".to_owned(),
        },
    }
}

/// A ConfigMap whose data is what is to be looked at.
fn object(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n{data}")
}

fn template(text: &str) -> Template {
    Template::parse("t", text, &BTreeMap::new()).expect("a template")
}

#[track_caller]
fn data(text: &str, values: Value) -> Value {
    let rendered = render(&template(&object(text)), &inputs(values)).expect("objects");
    rendered.objects[0]["data"].clone()
}

#[track_caller]
fn told(text: &str, values: Value) -> String {
    let problems = render(&template(text), &inputs(values)).expect_err("problems");
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    told.join("\n")
}

#[test]
fn a_bare_scalar_keeps_the_type_of_its_value() {
    let values = json!({"i": 5, "f": 0.5, "b": true, "n": null, "s": "5", "yes": "yes", "m": {"a": [1]}, "l": [1, "x"]});
    let text = "  i: {{ i }}\n  f: {{ f }}\n  b: {{ b }}\n  'n': {{ n }}\n  s: {{ s }}\n  'y': {{ yes }}\n  m: {{ m }}\n  l: {{ l }}\n";
    assert_eq!(
        data(text, values),
        json!({"i": 5, "f": 0.5, "b": true, "n": null, "s": "5", "y": "yes", "m": r#"{"a": [1]}"#, "l": r#"[1, "x"]"#})
    );
}

#[test]
fn in_quotes_and_blocks_everything_is_text() {
    let values = json!({"i": 5, "b": true, "n": null, "m": {"a": "it's"}, "s": "a\n\"b'"});
    let text = "  q: '{{ i }}'\n  d: \"{{ b }} {{ n }}\"\n  m: '{{ m }}'\n  s: \"{{ s }}\"\n  l: |\n    x {{ s }}\n  f: >-\n    {{ i }}\n    {{ i }}\n";
    assert_eq!(
        data(text, values),
        json!({"q": "5", "d": "True None", "m": r#"{"a": "it's"}"#, "s": "a\n\"b'", "l": "x a\n\"b'\n", "f": "5 5"})
    );
}

#[test]
fn numbers_join_to_numbers_and_texts_to_texts() {
    let values = json!({"a": 1, "b": 5, "s": "5"});
    let text = "  m: -{{ a }}\n  f: {{ a }}.{{ b }}\n  s: {{ a }}{{ s }}\n  u: {{ a }}m\n";
    assert_eq!(
        data(text, values),
        json!({"m": -1, "f": 1.5, "s": "15", "u": "1m"})
    );
}

#[test]
fn structure_is_asked_for_by_name_and_stays_in_its_place() {
    let values = json!({"l": ["a: b", "'"], "s": "x', y: 'z"});
    let text = "  l: {{ l | tojson }}\n  q: '{{ s | tojson }}'\n  d: \"{{ s | tojson }}\"\n  f: {a: {{ s | tojson }}, b: 1}\n";
    assert_eq!(
        data(text, values),
        json!({
            "l": ["a: b", "'"],
            "q": r#""x\u0027, y: \u0027z""#,
            "d": r#""x\u0027, y: \u0027z""#,
            "f": {"a": "x', y: 'z", "b": 1},
        })
    );
}

#[test]
fn keys_are_texts() {
    assert_eq!(
        data("  {{ k }}: 1\n  \"x{{ k }}\": 2\n", json!({"k": "<<"})),
        json!({"<<": 1, "x<<": 2})
    );
    let same = told(&object("  a: 1\n  {{ k }}: 2\n"), json!({"k": "a"}));
    assert!(
        same.starts_with("t:7:3: a mapping has the same key twice"),
        "{same}"
    );
}

#[test]
fn python_is_understood() {
    let values = json!({"m": {"get": 1, "a": "x"}, "e": "", "l": [3, 1, 2]});
    let text = concat!(
        "  a: \"{{ m.get('a') }}\"\n",
        "  d: \"{{ m.get('b', 'c') }}\"\n",
        "  o: \"{{ e or 'none' }} {{ gone or 'gone' }}\"\n",
        "  s: \"{% for x in l|sort %}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}\"\n",
        "  u: \"{{ m.a.upper() }} {{ '%02d' | format(l[0]) }} {{ l | length }} {{ 7 // 2 }}\"\n",
        "  {% if gone is defined and gone %}\n  x: 1\n  {% endif %}\n",
    );
    assert_eq!(
        data(text, values),
        json!({"a": "x", "d": "c", "o": "none gone", "s": "1,2,3", "u": "X 03 3 3"})
    );
}

#[test]
fn macros_and_includes_write_structure() {
    let includes = BTreeMap::from([
        (
            "labels".to_owned(),
            "  a: \"{{ v }}\"\n  b: {{ loop_value or 2 }}".to_owned(),
        ),
        (
            "lib".to_owned(),
            "{% macro pair(k, v) %}  {{ k }}: {{ v }}\n{% endmacro %}".to_owned(),
        ),
    ]);
    let text =
        object("{% from 'lib' import pair %}{{ pair('x', v) }}{{ pair('y', 3) }}{% include 'labels' %}\n");
    let template = Template::parse("t", &text, &includes).unwrap();
    let rendered = render(&template, &inputs(json!({"v": "p: q\n  z: 1"}))).unwrap();
    assert_eq!(
        rendered.objects[0]["data"],
        json!({"x": "p: q\n  z: 1", "y": 3, "a": "p: q\n  z: 1", "b": 2})
    );
}

#[test]
fn merges_and_aliases_are_the_templates() {
    let text = "  base: &base {a: 1, b: \"{{ v }}\"}\n  more:\n    <<: *base\n    a: 2\n";
    assert_eq!(
        data(text, json!({"v": "*base"})),
        json!({"base": {"a": 1, "b": "*base"}, "more": {"a": 2, "b": "*base"}})
    );
}

#[test]
fn what_is_missing_is_told_with_its_line() {
    let shown = told(&object("  a: \"{{ image.tag }}\"\n"), json!({"image": {}}));
    assert_eq!(
        shown,
        "t:6:10: `image.tag` is undefined\n  |\n6 |   a: \"{{ image.tag }}\"\n  |          ^\nhint: fill the value in, or give the template a default: `{{ x or 'default' }}`"
    );
}

#[test]
fn errors_do_not_tell_values() {
    let secret = "hunter2-secret";
    let values = json!({"s": secret, "m": {"k": secret}});
    for text in [
        "  a: {{ s.nothing() }}\n",
        "  a: {{ s | int }}\n",
        "  a: {{ s + 1 }}\n",
        "  a: {{ m[s].x }}\n",
        "  a: {{ s | nofilter }}\n",
        "  a: {{ (s ~ 'x') // 2 }}\n",
        "  a: {{ s is divisibleby(s) }}\n",
        "  {{ s }}: 1\n  \"{{ s }}\": 2\n",
        "  a: \"{{ s }}\n",
        "  a: !!int \"{{ s }}\"\n",
        "  a: {{ [] | first + s }}\n",
        "  a: {{ range(s) }}\n",
        "  a: {{ s | batch(s) }}\n",
        "  a: {{ m | dictsort(by=s) }}\n",
        "  a: {{ '%d' | format(s) }}\n",
        "  a: {{ s | tojson(indent=s) }}\n",
        "  a: {{ undefined_function(s) }}\n",
    ] {
        let Ok(template) = Template::parse("t", &object(text), &BTreeMap::new()) else {
            continue;
        };
        let Err(problems) = render(&template, &inputs(values.clone())) else {
            continue;
        };
        for problem in problems {
            assert!(!format!("{problem:?}").contains("hunter2"), "{text}: {problem:?}");
            assert!(problem.place.is_some(), "{text}: {problem:?}");
        }
    }
}

#[test]
fn yaml_errors_are_told_where_the_template_makes_them() {
    let text = object("  a: 1\n{% if v %}\n  b: {{ v }}\n c: 2\n{% endif %}\n");
    let shown = told(&text, json!({"v": "many\nlines\nhere"}));
    assert!(shown.starts_with("t:9:2: did not find expected key"), "{shown}");
}

#[test]
fn documents_are_objects() {
    assert!(told("a: 1\n", json!({})).contains("t:1:1: an object needs a text as its `apiVersion`"));
    assert!(told("- a\n", json!({})).contains("not a mapping"));
    assert!(told("{% if x %}a: 1{% endif %}\n", json!({})).contains("makes no objects"));
    let two = "---\napiVersion: v1\nkind: A\nmetadata: {name: x}\n---\n---\napiVersion: v1\nkind: B\nmetadata: {name: {{ n }}}\n";
    let rendered = render(&template(two), &inputs(json!({"n": "y"}))).unwrap();
    assert_eq!(rendered.objects.len(), 2);
    assert_eq!(rendered.sources[1].place.line, 7);
    assert!(told(&two.replace("{{ n }}", "5"), json!({})).contains("metadata.name"));
}

#[test]
fn fields_are_traced_to_their_lines() {
    let rendered = render_traced(
        &template(&object("  a: {{ v }}\n  b:\n    - c\n")),
        &inputs(json!({"v": "x\ny"})),
    )
    .unwrap();
    let origin = &rendered.sources[0];
    assert_eq!(origin.of("/data/b/0/x").line, 7);
    assert_eq!(origin.of("/data/a").line, 6);
    assert_eq!(origin.of("/nothing").line, 1);
}

#[test]
fn shells_get_no_text_of_users() {
    let pod = |command: &str| {
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\nspec:\n  containers:\n  - {command}\n")
    };
    let sh = pod("command: [\"bin/bash\", \"-c\", \"echo {{ v }}\"]");
    for fine in [json!(5), json!("10"), json!("a/b.txt")] {
        assert!(render(&template(&sh), &inputs(json!({"v": fine}))).is_ok());
    }
    let shown = told(&sh, json!({"v": "1; rm -rf /"}));
    assert!(shown.starts_with("t:6:"), "{shown}");
    assert!(
        shown.contains("`/spec/containers/0/command/2`") && !shown.contains("rm -rf"),
        "{shown}"
    );
    for program in [
        pod("command: [env, A=1, /bin/sh, -ec]\n    args: [\"echo {{ v }}\"]"),
        pod("command: [python3.11, -c, \"print('{{ v }}')\"]"),
        pod("command: [perl, -e, \"print '{{ v }}'\"]"),
    ] {
        assert!(
            told(&program, json!({"v": "$(id)"})).contains("a shell"),
            "{program}"
        );
    }
    for safe in [
        pod("command: [\"/bin/sh\", \"-c\", \"echo {{ v | quote }}\"]"),
        pod("command: [\"/bin/sh\", \"-c\", \"{{ v }}\"]").replace("\"{{ v }}\"", "{{ v }}"),
        pod("command: [\"echo\", \"x {{ v }}\"]"),
        pod("command: [\"/bin/sh\", \"-c\", \"echo \\\"$1\\\"\", \"name\", \"x {{ v }}\"]"),
        pod("env: [{name: A, value: \"x {{ v }}\"}]"),
    ] {
        let rendered = render(&template(&safe), &inputs(json!({"v": "it's $(id)"})));
        assert!(rendered.is_ok(), "{safe}: {rendered:?}");
    }
}

#[test]
fn small_templates_make_no_large_objects() {
    let cases = [
        (
            "  a: \"{% for i in range(50000) %}0123456789012345678901234567890{% endfor %}\"\n",
            "writes too much",
        ),
        (
            "  a: {% for i in range(100000) %}{% for i in range(100000) %}{% endfor %}{% endfor %}\n",
            "too many steps",
        ),
        (
            "  a: \"{% for i in range(20) %}{{ v }}{% endfor %}\"\n",
            "more than 1048576 bytes",
        ),
        (
            "  l: [{% for i in range(20000) %}1,1,1,1,1,1,{% endfor %}]\n",
            "too large",
        ),
        (
            "  a: &a [x,x,x,x,x,x,x,x,x,x]\n  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n  c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n  d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n  e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
            "too large",
        ),
    ];
    for (text, expected) in cases {
        let shown = told(&object(text), json!({"v": "v".repeat(200_000)}));
        assert!(shown.contains(expected), "{text}: {shown}");
    }
}
