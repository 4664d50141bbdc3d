//! Definitions, validated as a real API server (v1.34.4) validates them. Each line of
//! testdata/definitions.json is a definition and the errors it was refused with.

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

/// Sorted, with the types of objects under one name; the real server numbers them.
fn texts(errors: &Value) -> Vec<String> {
    let errors = errors.as_array().into_iter().flatten();
    let mut texts: Vec<String> = errors
        .map(|text| unnumbered(text.as_str().unwrap_or_default()))
        .collect();
    texts.sort();
    texts
}

fn unnumbered(text: &str) -> String {
    let mut parts = text.split("selfType");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest.fold(first, |text, part| text + "selfType" + part)
}

#[test]
fn changes_of_definitions_are_answered_as_the_real_server_answers_them() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../testdata/definition-updates.json")).unwrap();
    for case in &cases {
        let (mut new, old) = (case["new"].clone(), &case["old"]);
        crd::default(&mut new);
        crd::prepare_for_update(&mut new, old);
        let mut errors = Vec::new();
        crd::validate_update(&new, old, &mut errors);
        let found: Value = errors.iter().map(ToString::to_string).collect();
        let expect = &case["expect"];
        assert_eq!(texts(&found), texts(&expect["errors"]), "for {}", case["name"]);
        if errors.is_empty() {
            assert_eq!(
                new["metadata"]["generation"], expect["generation"],
                "for {}",
                case["name"]
            );
            assert_eq!(
                new["status"]["storedVersions"], expect["storedVersions"],
                "for {}",
                case["name"]
            );
        }
    }
}

#[test]
fn names_are_given_in_the_order_definitions_come() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../testdata/naming.json")).unwrap();
    let mut before: Vec<Value> = Vec::new();
    for case in &cases {
        let mut definition = case["crd"].clone();
        crd::prepare_for_create(&mut definition);
        let names = crd::name_conditions(&definition, &before);
        assert_eq!(names.accepted, case["acceptedNames"]);
        assert_eq!(names.names_accepted, case["conditions"][0]);
        let free = names.names_accepted["status"] == "True";
        let established = if free { crd::establish() } else { names.established };
        assert_eq!(established, case["conditions"][1]);
        definition["status"]["acceptedNames"] = names.accepted;
        before.push(definition);
    }
}

#[test]
fn tables_have_the_columns_and_cells_of_the_real_server() {
    let data: Value = serde_json::from_str(include_str!("../testdata/columns.json")).unwrap();
    let kind = |version: &Value| {
        let mut definition = serde_json::json!({"spec": {"versions": [version]}});
        crd::default(&mut definition);
        crd::CustomKind::of(&definition)
    };
    let with_columns = kind(&data["version"]);
    let columns = &with_columns.versions[0].columns;
    let definitions: Value = columns.definitions().cloned().collect();
    assert_eq!(definitions, data["definitions"]);
    let age = |text: &str| text.starts_with("2001").then(|| "25y".to_owned());
    for row in data["rows"].as_array().unwrap() {
        let cells = columns.cells(&row["object"], age);
        assert_eq!(
            without_fractions(&cells),
            without_fractions(row["cells"].as_array().unwrap())
        );
    }
    let without_columns = kind(&serde_json::json!({"name": "v1"}));
    let definitions: Value = without_columns.versions[0]
        .columns
        .definitions()
        .cloned()
        .collect();
    assert_eq!(definitions, data["age"]);
}

/// `2.0` is `2` in JSON that Go writes.
fn without_fractions(cells: &[Value]) -> Vec<Value> {
    let whole = |cell: &Value| cell.as_f64().filter(|number| number.fract() == 0.0);
    cells
        .iter()
        .map(|cell| whole(cell).map_or_else(|| cell.clone(), |number| Value::from(number as i64)))
        .collect()
}
