//! Hostile values come out as the texts they are, and nowhere else.

use serde_json::{Value, json};

use crate::Service;

/// What somebody might type who wants to be more than a value.
fn hostile() -> Vec<String> {
    let mut all: Vec<String> = [
        "x\"\n  namespace: kube-system\n  annotations:\n    a: \"y",
        "x'\n  namespace: 'kube-system",
        "\"\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: stolen\n",
        "\n---\n",
        "...\n",
        "{{ 7*7 }}",
        "{{ configs }}",
        "{% for i in range(10**9) %}x{% endfor %}",
        "{# comment #}",
        "{{ ''.__class__.__mro__ }}",
        "!!python/object/apply:os.system ['id']",
        "&anchor x",
        "*anchor",
        "<<: *anchor",
        "%YAML 1.2",
        "key: value",
        "- item",
        "[1, 2]",
        "{a: b}",
        "# comment",
        "x # comment",
        "null",
        "~",
        "true",
        "yes",
        "012",
        "1e3",
        "2020-01-01",
        "|\n  block",
        ">\n  folded",
        "? complex",
        ": colon",
        "@at",
        "`tick`",
        "\u{0}",
        "\u{7}\u{8}\u{1b}[2J",
        "\u{85}",
        "\u{2028}\u{2029}",
        "\u{feff}",
        "\u{202e}txt",
        "\u{e000}0\u{e001}",
        "\u{f8ff}",
        "\t tab",
        "  leading",
        "trailing  ",
        "",
        "'",
        "\"",
        "\\",
        "\\\"",
        "\r\n",
        "a\rb",
        "O'Brien",
        "\u{1f600}",
        "../../etc/passwd",
        "$(id)",
        "`id`",
        "; rm -rf /",
        "a && b",
        "a | b",
        "$HOME",
        "<script>alert(1)</script>",
        "' OR 1=1 --",
        "%s%s%n",
        "{0.__class__}",
    ]
    .map(str::to_owned)
    .into();
    // Each after and before something ordinary, and on a line of its own.
    let plain = all.clone();
    all.extend(plain.iter().map(|text| format!("name{text}")));
    all.extend(plain.iter().map(|text| format!("{text}name")));
    all.extend(plain.iter().map(|text| format!("a\n{text}\nb")));
    all
}

#[test]
fn no_value_becomes_anything_but_a_value() {
    let service = Service::start();
    // Every style of YAML in which a value can stand.
    let template = "apiVersion: v1
kind: ConfigMap
metadata:
  name: \"{{ global.release }}\"
data:
  block: |
    {{ text }}
  plain: {{ text }}
  single: '{{ text }}'
  double: \"{{ text }}\"
  inside: \"<{{ text }}>\"
";
    service
        .post("/v1/templates", &json!({"name": "mirror", "template": template}))
        .expect(201);
    let texts = hostile();
    assert!(texts.len() > 250, "{}", texts.len());
    for text in texts {
        let body = json!({"values": {"text": text}, "release": "mirror-abc123"});
        let reply = service.post("/v1/templates/mirror/render", &body);
        let rendered = reply.expect(200);
        let objects = rendered["manifests"].as_array().unwrap();
        assert_eq!(objects.len(), 1, "{text:?} made objects: {rendered}");
        let object = &objects[0];
        assert_eq!(object["kind"], "ConfigMap", "{text:?}");
        assert_eq!(
            object["metadata"],
            json!({"name": "mirror-abc123", "namespace": "default"}),
            "{text:?}"
        );
        let data = object["data"].as_object().unwrap();
        assert_eq!(data.len(), 5, "{text:?}: {object}");
        for style in ["plain", "single", "double"] {
            assert_eq!(data[style], Value::String(text.clone()), "{style}");
        }
        assert_eq!(data["inside"], format!("<{text}>"));
        assert_eq!(data["block"], format!("{text}\n"));
    }
}
