//! Templates, definitions and values of a platform that exists, which lie beside the repository: `cargo xtask corpus`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use templates::{Definition, Global, Inputs, Schema, Template, built_in, plain_text, render, yaml};

use super::{
    grid::{TEMPLATES, compare, same, value_sets},
    oracle::{Mode, Oracle},
};

#[expect(clippy::disallowed_methods, reason = "a test is told where the corpus is")]
fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var("TRAINYARD_CORPUS").ok()?).join("004/from-seed");
    folder.is_dir().then_some(folder)
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap()
}

fn template(folder: &Path, name: &str) -> String {
    read(folder, &format!("templates/{name}.yaml.j2"))
}

#[test]
#[ignore = "needs the corpus: cargo xtask corpus"]
fn corpus_templates_print_what_jinja_prints() {
    let (Some(folder), Some(mut oracle)) = (folder(), Oracle::start()) else {
        return;
    };
    let mut count = 0;
    for name in TEMPLATES {
        let text = template(&folder, name);
        for (set, values) in value_sets() {
            for undefined in ["lenient", "strict", "chainable"] {
                let theirs = oracle.ask(Mode::Text, undefined, &text, &json!({}), &values);
                let ours = plain_text(&text, &values, undefined);
                let is_same = match (&ours, &theirs) {
                    (Ok(ours), Ok(theirs)) => theirs.as_str() == Some(ours),
                    (Err(_), Err(_)) => true,
                    _ => false,
                };
                assert!(is_same, "{name}, {set}, {undefined}: {ours:?}\n{theirs:?}");
                count += 1;
            }
            compare(&mut oracle, &text, &values)
                .unwrap_or_else(|difference| panic!("{name}, {set}: {difference}"));
        }
    }
    assert_eq!(count, 171);
}

/// Ours make the same objects of the same values.
#[test]
#[ignore = "needs the corpus: cargo xtask corpus"]
fn corpus_templates_are_the_built_in_ones() {
    let Some(folder) = folder() else { return };
    for name in TEMPLATES {
        let theirs = template(&folder, name);
        let ours = built_in()
            .iter()
            .find(|built_in| built_in.name == name)
            .unwrap()
            .text;
        for (set, values) in value_sets() {
            let theirs = super::grid::objects(&theirs, &values);
            let ours = super::grid::objects(ours, &values);
            match (&ours, &theirs) {
                (Ok(ours), Ok(theirs)) => assert!(same(ours, theirs), "{name}, {set}: {ours:#}\n{theirs:#}"),
                (Err(_), Err(_)) => {}
                // Theirs asks null for its entries.
                (Ok(_), Err(_)) => assert_eq!(set, "resources null", "{name}"),
                (Err(problem), Ok(_)) => panic!("{name}, {set}: {problem}"),
            }
        }
    }
}

#[test]
#[ignore = "needs the corpus: cargo xtask corpus"]
fn corpus_definition_and_values_work_as_they_stand() {
    let Some(folder) = folder() else { return };
    let definition: Value =
        serde_json::from_str(&read(&folder, "definition/mnist_softmax_cpu.register.json")).unwrap();
    let filled: Value = serde_json::from_str(&read(&folder, "filled-values/mnist_softmax_cpu.json")).unwrap();
    let text = |name: &str| definition[name].as_str().unwrap();
    let schema = Schema::of_definition(&Definition {
        description: text("user_values_description"),
        example: text("user_values_example"),
        schema: None,
    })
    .unwrap();
    let verdict = schema.validate(&filled);
    assert_eq!(verdict, templates::Verdict::default());
    assert!(schema.validate(schema.example()).is_fine());
    let wrong = schema.validate(&json!({"taskDef": "mnist_softmax_cpu"}));
    assert!(
        wrong.errors.iter().any(|fault| fault.pointer == "/process"),
        "{wrong:?}"
    );

    let template = Template::parse(
        "t",
        &template(&folder, text("task_template_name")),
        &std::collections::BTreeMap::new(),
    )
    .unwrap();
    let inputs = Inputs {
        system_values: yaml("system_values", text("system_values")).unwrap(),
        global: Global {
            release: "mnist-softmax-cpu-abc123".to_owned(),
            task_def: text("name").to_owned(),
            application: text("application").to_owned(),
            creator: filled["creator"].as_str().unwrap().to_owned(),
        },
        values: filled.clone(),
    };
    let rendered = render(&template, &inputs).unwrap();
    let kinds: Vec<&str> = rendered
        .objects
        .iter()
        .map(|object| object["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["ConfigMap", "PersistentVolumeClaim", "Job"]);
    let process: Value =
        serde_json::from_str(rendered.objects[0]["data"]["processCfg"].as_str().unwrap()).unwrap();
    assert_eq!(process, filled["process"]);
    let whole = serde_json::to_string(&rendered.objects).unwrap();
    let key = filled["endpoints"][1]["headers"]["x-api-key"].as_str().unwrap();
    assert!(!whole.contains(key), "a secret came into an object");
}
