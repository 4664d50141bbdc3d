//! Definitions, validated as a real API server (v1.34.4) validates them. Each line of
//! testdata/definitions.json is a definition and the errors it was refused with.

use regex::Regex;
use schemas::crd;
use serde_json::Value;

#[test]
fn definitions_are_refused_for_the_reasons_of_the_real_server() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../testdata/definitions.json")).unwrap();
    assert!(cases.len() > 150, "only {} cases", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let expected = texts(&case["expect"]["errors"]);
        let actual = refusals(&case["crd"]);
        if expected != actual {
            let missing: Vec<_> = expected.iter().filter(|text| !actual.contains(text)).collect();
            let surplus: Vec<_> = actual.iter().filter(|text| !expected.contains(text)).collect();
            wrong.push(format!(
                "{}\n  missing {missing:#?}\n  surplus {surplus:#?}",
                case["name"]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

fn refusals(definition: &Value) -> Vec<String> {
    let mut definition = definition.clone();
    crd::default(&mut definition);
    crd::prepare_for_create(&mut definition);
    let mut errors = Vec::new();
    crd::validate(&definition, &mut errors);
    let texts: Value = errors.iter().map(ToString::to_string).collect();
    self::texts(&texts)
}

/// Sorted, with the types of objects under one name; the real server gives them numbers.
fn texts(errors: &Value) -> Vec<String> {
    let numbered = Regex::new(r"selfType\d+").unwrap();
    let errors = errors.as_array().into_iter().flatten();
    let mut texts: Vec<String> = errors
        .map(|text| {
            numbered
                .replace_all(text.as_str().unwrap(), "selfType")
                .into_owned()
        })
        .collect();
    texts.sort();
    texts
}
