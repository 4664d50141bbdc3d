//! Manifests and the exact children they give. `UPDATE_GOLDENS=1` writes what is expected anew.

use std::{
    fs,
    path::{Path, PathBuf},
};

use kinds::{decode::normalize, protobuf, resources::type_of};
use manifests::yaml;
use serde_json::Value;
use training::{Delivery, Gang, Settings, names, render};

fn settings(case: &str) -> Settings {
    let gang = match case {
        case if case.ends_with("-volcano") => Gang::Volcano,
        case if case.ends_with("-scheduler-plugins") => Gang::SchedulerPlugins {
            scheduler: "scheduler-plugins".to_owned(),
        },
        case if case.ends_with("-embedded") => Gang::Embedded,
        _ => Gang::None,
    };
    let delivery = match gang {
        Gang::Embedded => Delivery::HostPath("/usr/local/bin/trainyard".to_owned()),
        _ => Delivery::Image("registry.example/trainyard:1".to_owned()),
    };
    Settings {
        gang,
        delivery,
        ..Settings::default()
    }
}

fn names_of(children: &[Value]) -> Vec<(&str, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |child: &Value| text(&child["metadata"]["name"]);
    children
        .iter()
        .map(|child| (child["kind"].as_str().unwrap_or_default(), name(child)))
        .collect()
}

fn rendered(case: &str, input: &str) -> String {
    let documents = yaml::parse_documents(input).expect("the manifest is YAML");
    let mut object = documents[0].value.clone();
    object["metadata"]["uid"] = "7c0d".into();
    match render(&object, &settings(case)) {
        Ok(children) if names_of(&children) != names(&object, &settings(case)) => {
            format!("`names` gives {:?}", names(&object, &settings(case)))
        }
        Ok(children) => children
            .iter()
            .map(|child| format!("---\n{}", yaml::to_string(child)))
            .collect(),
        Err(errors) => errors.iter().map(|error| format!("{error}\n")).collect(),
    }
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let entries = fs::read_dir(&folder).expect("the folder can be read");
    let mut cases: Vec<_> = entries
        .map(|entry| entry.expect("an entry can be read").path())
        .collect();
    cases.sort();
    assert!(
        cases.len() > 10,
        "there should be more than {} cases",
        cases.len()
    );
    cases
}

#[test]
fn manifests_give_the_children_of_the_originals() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let mut differing = Vec::new();
    for case in cases() {
        let name = case.file_name().unwrap().to_str().unwrap().to_owned();
        let actual = rendered(&name, &fs::read_to_string(case.join("input.yaml")).unwrap());
        let file = case.join("expected.yaml");
        if update {
            fs::write(&file, &actual).unwrap();
        } else if fs::read_to_string(&file).unwrap_or_default() != actual {
            differing.push(format!("{name}:\n{actual}"));
        }
    }
    assert!(
        differing.is_empty(),
        "{} cases differ:\n{}",
        differing.len(),
        differing.join("\n")
    );
}

#[test]
fn what_is_made_of_the_kinds_of_the_api_says_the_same_in_protobuf() {
    let mut pods = 0;
    for case in cases() {
        let children = fs::read_to_string(case.join("expected.yaml")).unwrap();
        // What is refused has none.
        for document in yaml::parse_documents(&children).unwrap_or_default() {
            let mut child = document.value;
            let text = |field: &str| child[field].as_str().unwrap_or_default().to_owned();
            let Some(ty) = type_of(&text("apiVersion"), &text("kind")) else {
                continue;
            };
            pods += usize::from(child["kind"] == "Pod");
            let name = format!(
                "{} {}: {}",
                case.display(),
                text("kind"),
                child["metadata"]["name"]
            );
            let encoded = protobuf::encode_object(&child);
            // Somebody's own empty list, which protobuf does not tell from none.
            if child.to_string().contains("[]") {
                assert_eq!(encoded, None, "{name}");
                continue;
            }
            let Some(bytes) = encoded else {
                panic!("{name} cannot be encoded")
            };
            let (_, _, decoded) = protobuf::decode_object(&bytes).unwrap();
            assert!(normalize(ty, &mut child).unwrap().is_empty(), "{name}");
            assert_eq!(decoded, child, "{name}");
        }
    }
    assert!(pods > 30, "{pods}");
}
