//! Objects through the steps of a write, compared with what a real API server (v1.34.4) answered.
//! Each file of testdata/custom-resources is a schema and cases: an object, the old one for updates,
//! and the answer.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use schemas::{
    Structural,
    crd::{self, CustomKind},
};
use serde_json::{Map, Value, json};

#[test]
fn writes_are_answered_as_the_real_server_answers_them() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/custom-resources");
    let (mut cases, mut wrong) = (0, Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let suite: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let kind = custom_kind(&suite);
        for case in suite["cases"].as_array().unwrap() {
            cases += 1;
            let (expected, actual) = (expected(&case["expect"]), answer(&kind, case));
            if expected != actual {
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                wrong.push(format!(
                    "{name}: {}\n  expected {expected}\n  actual   {actual}",
                    case["name"]
                ));
            }
        }
    }
    assert!(cases > 150, "only {cases} cases");
    assert!(
        wrong.is_empty(),
        "{} of {cases} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn custom_kind(suite: &Value) -> CustomKind {
    let mut version = json!({"name": "v1", "served": true, "storage": true});
    version["schema"] = json!({"openAPIV3Schema": suite["schema"]});
    for (field, value) in suite["version"].as_object().into_iter().flatten() {
        version[field] = value.clone();
    }
    let mut definition = json!({
        "metadata": {"name": "tests.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "tests", "kind": "Test"}},
    });
    definition["spec"]["versions"] = json!([version]);
    crd::default(&mut definition);
    let mut errors = Vec::new();
    crd::validate(&definition, &mut errors);
    assert!(errors.is_empty(), "{errors:?}");
    CustomKind::of(&definition)
}

/// The steps of a write, in the order of the server.
fn answer(kind: &CustomKind, case: &Value) -> Value {
    let version = &kind.versions[0];
    let schema: &Structural = version.schema();
    let mut object = resource(&case["object"]);
    let unknown = match schemas::coerce(&mut object, schema) {
        Ok(unknown) => unknown,
        Err(error) => return json!({"refused": error.to_string()}),
    };
    if case["strict"] == true && !unknown.is_empty() {
        let fields: Vec<String> = unknown
            .iter()
            .map(|field| format!("unknown field \"{field}\""))
            .collect();
        return json!({"refused": format!("strict decoding error: {}", fields.join(", "))});
    }
    schemas::default(&mut object, schema);
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    match case.get("old") {
        None => {
            if version.status {
                object.as_object_mut().unwrap().remove("status");
            }
            if let Some(scale) = &version.scale {
                scale.validate(&object, &mut errors);
            }
            schemas::validate(&object, schema, &mut errors);
        }
        Some(old) => {
            let mut old = resource(old);
            schemas::default(&mut old, schema);
            if case["status"] == true {
                let status = object["status"].take();
                object = old.clone();
                object["status"] = status;
                warnings = schemas::validate_status_update(&object, &old, schema, &mut errors);
            } else {
                warnings = schemas::validate_update(&object, &old, schema, &mut errors);
            }
            if let Some(scale) = &version.scale {
                scale.validate(&object, &mut errors);
            }
        }
    }
    let mut answer = Map::new();
    if errors.is_empty() {
        let fields = object.as_object_mut().unwrap();
        fields.retain(|field, _| !matches!(field.as_str(), "apiVersion" | "kind" | "metadata"));
        answer.insert("object".to_owned(), object);
    } else {
        let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        texts.sort();
        answer.insert("errors".to_owned(), json!(texts));
    }
    if !warnings.is_empty() {
        answer.insert("warnings".to_owned(), json!(warnings));
    }
    Value::Object(answer)
}

fn resource(object: &Value) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!("example.com/v1");
    object["kind"] = json!("Test");
    if object["metadata"].is_null() {
        object["metadata"] = json!({});
    }
    object["metadata"]["name"] = json!("test");
    object
}

/// The answer without what the server adds around it.
fn expected(expect: &Value) -> Value {
    let mut expect = expect.clone();
    if let Some(refused) = expect.get("refused").and_then(Value::as_str) {
        let (_, text) = refused.split_once("cannot be handled as a ").unwrap();
        let (_, text) = text.split_once(": ").unwrap();
        return json!({"refused": text});
    }
    if let Some(warnings) = expect.get_mut("warnings").and_then(Value::as_array_mut) {
        for warning in warnings {
            let text = warning.as_str().unwrap().strip_prefix("299 - ").unwrap();
            *warning = serde_json::from_str(text).unwrap();
        }
    }
    expect
}
