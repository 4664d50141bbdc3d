use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::Definition;

fn findings(text: &str, schema: Option<&Schema>, system: &Value) -> Vec<String> {
    let template = Template::parse("t", text, &BTreeMap::new()).expect("a template");
    let found = template.check(schema, system, &Allowed::default());
    found
        .iter()
        .map(|finding| {
            let line = finding.problem.place.as_ref().map_or(0, |place| place.line);
            format!("{line} {} {}", finding.rule, finding.problem.message)
        })
        .collect()
}

fn job(rest: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: \"{{{{ global.release }}}}\"}}\nspec:\n  template:\n    spec:\n      containers:\n      - name: a\n{rest}"
    )
}

const SHELL: &str = "        command: [bin/bash, -c, \"seq {{ process.train.number }}\"]\n";

#[test]
fn shell_strings_with_text_of_users_are_found() {
    assert_eq!(
        findings(&job(SHELL), None, &Value::Null),
        [
            "9 shell-text `process.train.number` comes into a text that a shell reads: `/spec/template/spec/containers/0/command/2`",
            "9 relative-program the program `bin/bash` is looked for in the image's working directory",
        ]
    );
    let definition = Definition {
        description: "process: {train: {number: (Required) From where}}",
        example: "process: {train: {number: 10}}",
        schema: None,
    };
    let schema = Schema::of_definition(&definition).unwrap();
    let found = findings(&job(SHELL), Some(&schema), &Value::Null);
    assert!(
        !found.iter().any(|finding| finding.contains("shell-text")),
        "{found:?}"
    );
    let found = findings(
        &job(&SHELL.replace("number", "number | quote")),
        None,
        &Value::Null,
    );
    assert!(
        !found.iter().any(|finding| finding.contains("shell-text")),
        "{found:?}"
    );
}

#[test]
fn template_and_definition_are_held_against_each_other() {
    let text = job(
        "        image: \"{{ image.repository }}:{{ imgae.tag }}\"\n        args: [\"{{ global.relaese or 1 }}\", \"{{ configs.get('modle') }}\"]\n{% if resources is defined %}\n        tty: {{ resources.get('x') or false }}\n{% endif %}\n",
    );
    let definition = Definition {
        description: "imgae: {tag: (Optional) x}\nresources: {x: (Optional) y}",
        example: "imgae: {tag: v1}\nresources: {x: true}",
        schema: None,
    };
    let schema = Schema::of_definition(&definition).unwrap();
    assert_eq!(
        findings(&text, Some(&schema), &json!({"image": {"repository": "r"}})),
        [
            "10 unknown-global there is no `global.relaese`",
            "9 not-optional the definition says that `imgae` is optional, but without it: `imgae` is undefined",
            "10 prints-none there is no `modle` in `configs`; `None` will be written",
            "12 fails-with-null fails when `resources` is null: none has no method named get",
        ]
    );
    let schema = Schema::of_definition(&Definition::default()).unwrap();
    let found = findings(
        &job("        image: \"{{ tag or 'x' }}\"\n"),
        Some(&schema),
        &Value::Null,
    );
    assert_eq!(
        found,
        ["9 not-described the template uses `tag`, which the definition neither describes nor sets"]
    );
}

#[test]
fn what_needs_trust_is_said() {
    let text = job(
        "        securityContext: {privileged: true}\n      volumes: [{name: x, hostPath: {path: /}}]\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: fixed, labels: {user: \"{{ name }}\"}}\n",
    );
    let found = findings(&text, None, &Value::Null);
    let rules: Vec<&str> = found
        .iter()
        .map(|finding| finding.split(": ").next().unwrap_or_default())
        .collect();
    assert_eq!(
        rules,
        [
            "6 needs-trust /spec/template/spec",
            "6 needs-trust /spec/template/spec",
            "13 needs-trust /kind",
            "14 needs-trust /metadata/name",
            "14 label-text `name` is used as a label; not every text can be one",
        ],
        "{found:?}"
    );
}
