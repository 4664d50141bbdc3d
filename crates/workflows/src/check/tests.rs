use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::*;

fn problems(spec: Value) -> Vec<String> {
    let mut unknown = BTreeSet::new();
    let object = json!({"metadata": {"name": "w"}, "spec": spec});
    let found = workflow(&object, &object["spec"], &BTreeMap::new(), &mut unknown);
    found.iter().map(ToString::to_string).collect()
}

fn echo() -> Value {
    json!({
        "name": "echo",
        "inputs": {"parameters": [{"name": "text"}]},
        "container": {"image": "host", "command": ["echo", "{{inputs.parameters.text}}"]},
    })
}

#[test]
fn a_sound_workflow_has_no_problems() {
    let spec = json!({
        "entrypoint": "main",
        "arguments": {"parameters": [{"name": "p", "value": "v"}]},
        "templates": [
            {"name": "main", "steps": [
                [{"name": "a", "template": "echo", "arguments": {"parameters": [{"name": "text", "value": "{{workflow.parameters.p}}"}]}}],
                [{"name": "b", "template": "echo", "when": "{{steps.a.outputs.result}} == x", "withItems": [{"k": 1}],
                  "arguments": {"parameters": [{"name": "text", "value": "{{item.k}} {{=steps.a.outputs.result + 'x'}}"}]}}],
            ]},
            echo(),
        ],
    });
    assert_eq!(problems(spec), Vec::<String>::new());
}

#[test]
fn what_is_missing_is_told_with_its_place() {
    assert_eq!(
        problems(json!({"templates": []})),
        ["spec.entrypoint: spec.entrypoint is required"]
    );
    assert_eq!(
        problems(json!({"entrypoint": "mian", "templates": [{"name": "main", "suspend": {}}]})),
        ["spec.entrypoint: template name 'mian' undefined; did you mean 'main'?"]
    );
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "steps": [[{"name": "a", "template": "echo"}]]}, echo(),
    ]});
    assert_eq!(
        problems(spec),
        ["spec.templates[0].steps[0][0].arguments: inputs.parameters.text was not supplied"]
    );
}

#[test]
fn variables_that_nobody_sets_are_told() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "steps": [
            [{"name": "a", "template": "echo", "arguments": {"parameters": [{"name": "text", "value": "{{steps.b.outputs.result}}"}]}}],
            [{"name": "b", "template": "echo", "arguments": {"parameters": [{"name": "text", "value": "{{workflow.parameters.none}}"}]}}],
        ]},
        {"name": "echo", "inputs": {"parameters": [{"name": "text"}]},
         "container": {"image": "host", "command": ["echo", "{{inputs.parameters.txt}} {{.Names}}"]}},
    ]});
    assert_eq!(
        problems(spec),
        [
            "spec.templates[0].steps[0][0].arguments.parameters[0].value: failed to resolve {{steps.b.outputs.result}}",
            "spec.templates[1].container.command[1]: failed to resolve {{inputs.parameters.txt}}; did you mean {{inputs.parameters.text}}?",
            "spec.templates[0].steps[1][0].arguments.parameters[0].value: failed to resolve {{workflow.parameters.none}}",
        ]
    );
}

#[test]
fn cycles_and_unknown_dependencies_are_found() {
    let dag = |tasks: Value| {
        json!({"entrypoint": "main", "templates": [
            {"name": "main", "dag": {"tasks": tasks}}, {"name": "t", "container": {"image": "host"}},
        ]})
    };
    assert_eq!(
        problems(dag(json!([
            {"name": "A", "template": "t", "depends": "B"},
            {"name": "B", "template": "t", "depends": "C.Failed"},
            {"name": "C", "template": "t", "depends": "A || B"},
        ]))),
        ["spec.templates[0].dag.tasks: dependency cycle detected: A -> B -> C -> A"]
    );
    assert_eq!(
        problems(dag(
            json!([{"name": "A", "template": "t", "dependencies": ["X"]}])
        )),
        ["spec.templates[0].dag.tasks[0].dependencies: dependency 'X' not defined"]
    );
}

#[test]
fn a_template_does_one_thing() {
    let of = |template: Value| problems(json!({"entrypoint": "main", "templates": [template]}));
    assert_eq!(
        of(json!({"name": "main", "container": {"image": "host"}, "suspend": {}})),
        ["spec.templates[0]: template 'main' has several types (container, suspend), and must have one"]
    );
    assert!(of(json!({"name": "main"}))[0].starts_with("spec.templates[0]: template 'main' does nothing"));
    assert_eq!(
        of(
            json!({"name": "main", "container": {"image": "host"}, "outputs": {"parameters": [{"name": "x", "valueFrom": {"parameter": "{{a}}"}}]}})
        ),
        [
            "spec.templates[0].outputs.parameters[0].valueFrom: outputs.parameters.x.valueFrom needs path in a template of this type"
        ]
    );
}

#[test]
fn templates_elsewhere_are_asked_for_and_checked() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "steps": [[{"name": "a", "templateRef": {"name": "lib", "template": "t"}}]]},
    ]});
    let object = json!({"metadata": {"name": "w"}, "spec": spec});
    let mut unknown = BTreeSet::new();
    workflow(&object, &object["spec"], &BTreeMap::new(), &mut unknown);
    let source = TemplateSource {
        name: "lib".to_owned(),
        is_cluster: false,
    };
    assert_eq!(unknown, BTreeSet::from([Unknown::Template(source.clone())]));
    let none = BTreeMap::from([(source.clone(), None)]);
    let found = workflow(&object, &object["spec"], &none, &mut BTreeSet::new());
    assert_eq!(
        found[0].to_string(),
        "spec.templates[0].steps[0][0].templateRef.name: workflow template 'lib' not found"
    );
}

#[test]
fn a_workflow_is_checked_with_the_template_it_names() {
    let object = |kind: &str| json!({"kind": kind, "metadata": {"name": "w"}, "spec": {"workflowTemplateRef": {"name": "x"}}});
    let source = TemplateSource {
        name: "x".to_owned(),
        is_cluster: false,
    };
    let check = |templates: &Templates| {
        let mut unknown = BTreeSet::new();
        let found = super::object(&object("Workflow"), templates, &mut unknown).unwrap();
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        (told, unknown.len())
    };
    assert_eq!(check(&Templates::new()), (Vec::new(), 1));
    let missing = "spec.workflowTemplateRef.name: there is no workflow template `x`".to_owned();
    assert_eq!(check(&[(source.clone(), None)].into()), (vec![missing], 0));
    let template = json!({"spec": {"entrypoint": "mian", "templates": [{"name": "main", "suspend": {}}]}});
    let (told, _) = check(&[(source, Some(template))].into());
    assert!(told[0].contains("'mian' undefined"), "{told:?}");
    assert_eq!(
        super::object(&object("Pod"), &Templates::new(), &mut BTreeSet::new()),
        None
    );
}
