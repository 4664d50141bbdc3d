use serde_json::json;

use super::*;

/// In the manner of a platform team's definitions, with the line ends of a web form.
const DESCRIPTION: &str = "taskDef: (Required) Name of the definition\r
name: (Required) What it is for\r
\r
endpoints:\r
  -\r
    endpoint: (Required) Folder of records, see docs, page 3\r
    type: (Required) dataset\r
  -\r
    endpoint: (Optional) Where to tell of events\r
    type: (Optional) event\r
\r
process:\r
  train:\r
    maxStep: (Optional) Steps at most, default is 1000\r
    rate: (Optional) Learning rate, default is 0.5\r
    saveStep: (Required) Steps between checkpoints\r
    apiToken: (Optional) Token of the tracker\r
  model:\r
  export: \r
    version: (Optional) Version to write,\r
\r
resources:\r
  cpu: (Optional) Processors default `500m`\r
  memory: (Optional) Memory default `512Mi`\r
";

const EXAMPLE: &str = "taskDef: digits\r
name: demo\r
endpoints:\r
  - endpoint: s3://a/b\r
    type: dataset\r
  - endpoint: http://localhost:8080/callback\r
    type: event\r
process:\r
  train:\r
    maxStep: 2000\r
    rate: 1\r
    saveStep: 200\r
    apiToken: abc\r
  model:\r
  export: \r
    version: 1\r
    extra: yes\r
resources:\r
  cpu: 2000m\r
  memory: 2048Mi\r
";

fn learned() -> Schema {
    let definition = Definition {
        description: DESCRIPTION,
        example: EXAMPLE,
        schema: None,
    };
    Schema::of_definition(&definition).expect("a schema")
}

fn filled() -> Value {
    json!({
        "taskDef": "digits", "name": "demo", "creator": "me", "description": "a run",
        "endpoints": [
            {"endpoint": "s3://x/y", "type": "dataset"},
            {"endpoint": "http://h/c", "type": "event", "headers": {"x-api-key": "k"}},
        ],
        "process": {"train": {"maxStep": 100, "saveStep": 20}, "model": {"any": ["thing"]}},
        "resources": {"cpu": 1, "memory": "512Mi"},
    })
}

fn told(faults: &[Fault]) -> Vec<String> {
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn types_are_learned_from_words_and_example() {
    let schema = learned();
    let train = &schema.json()["properties"]["process"]["properties"]["train"];
    assert_eq!(
        train["properties"],
        json!({
            "maxStep": {"type": "integer", "description": "Steps at most, default is 1000", "default": 1000, "examples": [2000]},
            "rate": {"type": "number", "description": "Learning rate, default is 0.5", "default": 0.5, "examples": [1]},
            "saveStep": {"type": "integer", "description": "Steps between checkpoints", "examples": [200]},
            "apiToken": {"type": "string", "description": "Token of the tracker", "examples": ["abc"]},
        })
    );
    assert_eq!(train["required"], json!(["saveStep"]));
    assert_eq!(
        schema.json()["required"],
        json!(["taskDef", "name", "endpoints", "process"])
    );
    assert_eq!(
        schema.json()["properties"]["resources"]["properties"]["cpu"],
        json!({"type": ["string", "number"], "format": "quantity", "description": "Processors default `500m`", "default": "500m", "examples": ["2000m"]})
    );
    // What only the example has is known as well.
    assert_eq!(
        schema.json()["properties"]["process"]["properties"]["export"]["properties"]["extra"]["type"],
        "boolean"
    );
}

#[test]
fn right_values_are_right() {
    let verdict = learned().validate(&filled());
    assert_eq!(verdict, Verdict::default());
    let verdict = learned().validate(learned().example());
    assert_eq!(verdict, Verdict::default());
}

#[test]
fn all_errors_are_told_at_once_with_what_is_wanted() {
    let mut values = filled();
    values["process"]["train"] = json!({"maxStep": "100", "savestep": 20});
    values["endpoints"] = json!([{"endpoint": 5, "type": "evnt"}]);
    values["resources"]["cpu"] = "many".into();
    values["name"] = "".into();
    let verdict = learned().validate(&values);
    let mut errors = told(&verdict.errors);
    errors.sort();
    assert_eq!(
        errors,
        [
            "/endpoints/0/type: must be one of dataset, event; did you mean `event`?",
            "/endpoints: needs an item whose `type` is `dataset`",
            "/name: must not be empty (What it is for)",
            "/process/train/maxStep: must be a whole number, not a text (Steps at most, default is 1000); leave out the quotes",
            "/process/train/saveStep: is required (Steps between checkpoints)",
            "/resources/cpu: must be an amount, such as `500m`, `2` or `4Gi` (Processors default `500m`)",
        ]
    );
    let save_step = verdict
        .errors
        .iter()
        .find(|fault| fault.pointer.ends_with("saveStep"));
    assert_eq!(
        save_step.and_then(|fault| fault.example.clone()),
        Some(json!(200))
    );
    assert_eq!(
        told(&verdict.warnings),
        [
            "/process/train/savestep: is not known to the definition; it is passed on as it is; did you mean `saveStep`?"
        ]
    );
}

#[test]
fn what_is_not_known_is_a_warning() {
    let mut values = filled();
    values["global"] = json!({"release": "mine"});
    values["endpoints"][0]["region"] = "eu".into();
    values["x/y"] = 1.into();
    let verdict = learned().validate(&values);
    assert!(verdict.is_fine(), "{verdict:?}");
    let pointers: Vec<&str> = verdict
        .warnings
        .iter()
        .map(|fault| fault.pointer.as_str())
        .collect();
    assert_eq!(pointers, ["/endpoints/0/region", "/global", "/x~1y"]);
}

#[test]
fn values_of_other_types_are_told_too() {
    for values in [json!(null), json!([]), json!("x"), json!(5)] {
        let verdict = learned().validate(&values);
        assert!(!verdict.is_fine(), "{values}");
        assert!(
            verdict.errors[0]
                .to_string()
                .starts_with("the values: must be a mapping"),
            "{verdict:?}"
        );
    }
}

#[test]
fn forms_ask_in_the_order_of_the_description() {
    let form = learned().form();
    let names: Vec<&str> = form.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["taskDef", "name", "endpoints", "process", "resources"]);
    let train = &form.fields[3].fields[0];
    let widgets: Vec<(&str, Widget)> = train
        .fields
        .iter()
        .map(|field| (field.label.as_str(), field.widget))
        .collect();
    assert_eq!(
        widgets,
        [
            ("Max step", Widget::Integer),
            ("Rate", Widget::Number),
            ("Save step", Widget::Integer),
            ("Api token", Widget::Secret)
        ]
    );
    assert_eq!(train.fields[0].pointer, "/process/train/maxStep");
    assert_eq!(train.fields[3].example, None);
    let endpoints = &form.fields[2];
    assert_eq!(endpoints.widget, Widget::Variants);
    let tags: Vec<(&str, bool)> = endpoints
        .variants
        .iter()
        .map(|choice| (choice.tag.as_str(), choice.required))
        .collect();
    assert_eq!(tags, [("dataset", true), ("event", false)]);
    let json = serde_json::to_value(&form).unwrap();
    assert_eq!(json["fields"][4]["fields"][0]["widget"], "quantity");
}

#[test]
fn a_schema_of_its_own_replaces_the_words() {
    let own = json!({
        "type": "object",
        "required": ["size"],
        "additionalProperties": false,
        "properties": {
            "size": {"type": "integer", "minimum": 1, "maximum": 10, "description": "How many", "examples": [3]},
            "mode": {"enum": ["fast", "good"]},
            "code": {"type": "string", "pattern": "^[a-z]+$"},
        },
    });
    let definition = Definition {
        description: "not looked at",
        example: "",
        schema: Some(&own),
    };
    let schema = Schema::of_definition(&definition).unwrap();
    let errors = schema.validate(&json!({"size": 11, "mode": "fats", "code": "A", "other": 1}));
    let mut shown = told(&errors.errors);
    shown.sort();
    assert_eq!(
        shown,
        [
            "/code: must match the pattern `^[a-z]+$`",
            "/mode: must be one of fast, good; did you mean `fast`?",
            "/size: must be at most 10 (How many)",
            "the values: has entries that are not known: other",
        ]
    );
    assert_eq!(
        schema.example(),
        &json!({"size": 3, "mode": "fast", "code": "text"})
    );
    assert_eq!(schema.form().fields[1].widget, Widget::Select);
}

#[test]
fn wrong_definitions_are_told_with_their_line() {
    let cases = [
        (
            Definition {
                description: "a: (Required) x\nb: needed\n",
                ..Definition::default()
            },
            "user_values_description:2:4: a description must begin with `(Required)` or `(Optional)`",
        ),
        (
            Definition {
                description: "a: (Required) x\na: (Optional) y\n",
                ..Definition::default()
            },
            "user_values_description:2:1: a value is described twice",
        ),
        (
            Definition {
                description: "a: [",
                ..Definition::default()
            },
            "user_values_description:",
        ),
        (
            Definition {
                description: "- (Required) x",
                ..Definition::default()
            },
            "user_values_description must be a mapping",
        ),
        (
            Definition {
                description: "a: 5",
                ..Definition::default()
            },
            "user_values_description:1:4: a description must begin",
        ),
        (
            Definition {
                example: "a: 1\n b: 2\n",
                ..Definition::default()
            },
            "user_values_example:",
        ),
        (
            Definition {
                example: "- 1",
                ..Definition::default()
            },
            "user_values_example must be a mapping",
        ),
        (
            Definition {
                schema: Some(&json!({"type": "nothing"})),
                ..Definition::default()
            },
            "values_schema at /type",
        ),
        (
            Definition {
                schema: Some(&json!({"$ref": "http://example.com/x"})),
                ..Definition::default()
            },
            "values_schema",
        ),
        (
            Definition {
                schema: Some(&json!({"type": "array"})),
                ..Definition::default()
            },
            "values_schema must be one of a mapping",
        ),
        (
            Definition {
                schema: Some(&json!([])),
                ..Definition::default()
            },
            "values_schema must be a mapping",
        ),
    ];
    for (definition, expected) in cases {
        let problems = Schema::of_definition(&definition).expect_err(expected);
        assert!(
            problems[0].to_string().starts_with(expected),
            "{}\n{expected}",
            problems[0]
        );
    }
}

#[test]
fn an_empty_definition_takes_anything() {
    let schema = Schema::of_definition(&Definition::default()).unwrap();
    assert!(schema.validate(&json!({"taskDef": "x", "process": {}})).is_fine());
}

#[test]
fn amounts_are_those_of_kubernetes() {
    for text in ["1", "0.5", "500m", "2Gi", "1e3", "12E", "100k"] {
        assert!(field::is_quantity(text), "{text}");
    }
    for text in ["", "m", "-1", "1 Gi", "1gi", "one", "1e", "1Ki2", "$(id)"] {
        assert!(!field::is_quantity(text), "{text}");
    }
}
