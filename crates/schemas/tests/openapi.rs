//! Published schemas, compared with those a real API server publishes.

use schemas::{
    crd::{self, CustomKind},
    openapi::{self, Format},
};
use serde_json::Value;

#[test]
fn custom_kinds_are_published_as_the_real_server_publishes_them() {
    let mut data: Value = serde_json::from_str(include_str!("../testdata/openapi.json")).unwrap();
    crd::default(&mut data["crd"]);
    let kind = CustomKind::of(&data["crd"]);
    for (format, key) in [(Format::V3, "v3"), (Format::V2, "v2")] {
        for (name, schema) in openapi::schemas(&kind, &kind.versions[0], format) {
            assert_eq!(schema, data[key][&name], "{name} in {key}");
        }
    }
}

#[test]
fn names_of_schemas_start_with_the_group_backwards() {
    assert_eq!(
        openapi::schema_name("stable.example.com", "v1", "CronTab"),
        "com.example.stable.v1.CronTab"
    );
}
