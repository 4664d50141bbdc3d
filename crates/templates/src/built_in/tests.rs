use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::{Definition, Global, Inputs, Level, Policy, Schema, Template, render, yaml};

fn inputs(built_in: &BuiltIn, values: Value) -> Inputs {
    Inputs {
        values,
        system_values: yaml("system_values", built_in.system_values).unwrap(),
        global: Global {
            release: "demo-abc123".to_owned(),
            task_def: "demo".to_owned(),
            application: "Production".to_owned(),
            creator: "ducta".to_owned(),
        },
    }
}

fn schema(built_in: &BuiltIn) -> Schema {
    let definition = Definition {
        description: built_in.values_description,
        example: built_in.values_example,
        schema: None,
    };
    Schema::of_definition(&definition).unwrap_or_else(|problems| panic!("{}: {problems:?}", built_in.name))
}

fn template(built_in: &BuiltIn) -> Template {
    Template::parse(built_in.name, built_in.text, &BTreeMap::new())
        .unwrap_or_else(|problems| panic!("{}: {problems:?}", built_in.name))
}

fn kinds(objects: &[Value]) -> Vec<&str> {
    objects
        .iter()
        .filter_map(|object| object["kind"].as_str())
        .collect()
}

#[test]
fn each_renders_its_example_and_is_allowed() {
    let policy = Policy::of_task("team", "demo-abc123");
    for built_in in built_in() {
        let schema = schema(built_in);
        let verdict = schema.validate(schema.example());
        assert_eq!(verdict, crate::Verdict::default(), "{}", built_in.name);
        let rendered = render(&template(built_in), &inputs(built_in, schema.example().clone()))
            .unwrap_or_else(|problems| panic!("{}: {problems:?}", built_in.name));
        assert_eq!(policy.judge(&rendered.objects), [], "{}", built_in.name);
    }
}

#[test]
fn each_passes_the_check() {
    for built_in in built_in() {
        let schema = schema(built_in);
        let system = yaml("system_values", built_in.system_values).unwrap();
        let findings = template(built_in).check(Some(&schema), &system, &crate::Allowed::default());
        let bad: Vec<String> = findings
            .iter()
            .filter(|finding| finding.level != Level::Note)
            .map(ToString::to_string)
            .collect();
        assert_eq!(bad, [""; 0], "{}", built_in.name);
    }
}

#[test]
fn the_first_ones_make_what_the_platform_knows() {
    let built_in = BuiltIn::find("non-distributed-task").unwrap();
    let values = json!({
        "taskDef": "demo", "name": "demo", "process": {"train": {"maxStep": 1, "note": "it's"}},
        "endpoints": [{"endpoint": "s3://a", "type": "dataset"}], "resources": {"cpu": "200m"},
    });
    let rendered = render(&template(built_in), &inputs(built_in, values.clone())).unwrap();
    assert_eq!(
        kinds(&rendered.objects),
        ["ConfigMap", "PersistentVolumeClaim", "Job"]
    );
    let [config, claim, job] = rendered.objects.as_slice() else {
        panic!()
    };
    assert_eq!(
        config["data"]["processCfg"],
        r#"{"train": {"maxStep": 1, "note": "it's"}}"#
    );
    assert_eq!(
        config["data"]["datasetCfg"],
        r#"[{"endpoint": "s3://a", "type": "dataset"}]"#
    );
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "10Gi");
    assert_eq!(claim["spec"]["storageClassName"], "aws-efs");
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["nodeSelector"], json!({"kops.k8s.io/ml-instance": "true"}));
    let container = &pod["containers"][0];
    assert_eq!(
        container["resources"]["limits"],
        json!({"cpu": "200m", "memory": "512Mi"})
    );
    assert_eq!(
        container["env"][0],
        json!({"name": "STORAGE", "value": "/mount/demo-abc123/"})
    );
    assert_eq!(
        container["env"][2]["valueFrom"]["configMapKeyRef"],
        json!({"name": "demo-abc123", "key": "processCfg"})
    );
    assert_eq!(container["tty"], true);

    let built_in = BuiltIn::find("single-gpu-task").unwrap();
    let rendered = render(&template(built_in), &inputs(built_in, values)).unwrap();
    let pod = &rendered.objects[2]["spec"]["template"]["spec"];
    assert_eq!(pod["nodeSelector"], json!({"kops.k8s.io/dl-instance": "true"}));
    assert_eq!(
        pod["containers"][0]["resources"]["limits"],
        json!({"nvidia.com/gpu": 1})
    );
}

#[test]
fn resources_may_be_missing_empty_or_null() {
    for name in ["non-distributed-task", "single-gpu-task", "pytorch", "mxnet"] {
        let built_in = BuiltIn::find(name).unwrap();
        for resources in [None, Some(json!(null)), Some(json!({}))] {
            let mut values = json!({"process": {"command": ["true"]}});
            if let Some(resources) = resources {
                values["resources"] = resources;
            }
            render(&template(built_in), &inputs(built_in, values.clone()))
                .unwrap_or_else(|problems| panic!("{name} {values}: {problems:?}"));
        }
    }
}

#[test]
fn frameworks_get_the_replicas_they_are_asked_for() {
    let built_in = BuiltIn::find("pytorch").unwrap();
    let values =
        json!({"process": {"command": ["python", "train.py"], "workers": 3}, "resources": {"gpu": 2}});
    let rendered = render(&template(built_in), &inputs(built_in, values)).unwrap();
    let replicas = &rendered.objects[0]["spec"]["pytorchReplicaSpecs"];
    assert_eq!(replicas["Worker"]["replicas"], 3);
    let container = &replicas["Worker"]["template"]["spec"]["containers"][0];
    assert_eq!(container["command"], json!(["python", "train.py"]));
    assert_eq!(container["resources"]["limits"]["nvidia.com/gpu"], 2);

    let built_in = BuiltIn::find("pipeline").unwrap();
    let values = json!({"process": {"steps": [
        {"name": "prepare", "command": ["prepare"]},
        {"name": "train", "command": ["train"], "retries": 2},
        {"name": "check", "command": ["check"], "after": ["prepare"], "image": "other:1"},
    ]}});
    let rendered = render(&template(built_in), &inputs(built_in, values)).unwrap();
    let templates = &rendered.objects[0]["spec"]["templates"];
    assert_eq!(
        templates[0]["dag"]["tasks"],
        json!([
            {"name": "prepare", "template": "prepare"},
            {"name": "train", "template": "train", "dependencies": ["prepare"]},
            {"name": "check", "template": "check", "dependencies": ["prepare"]},
        ])
    );
    assert_eq!(templates[3]["container"]["image"], "other:1");
    assert_eq!(templates[2]["retryStrategy"]["limit"], 2);
}
