//! Custom resources: any definition is validated, and by what it says any object is pruned, defaulted
//! and validated.

use schemas::{Structural, coerce, crd, default, prune, validate, validate_update};
use serde_json::json;

use super::pair;
use crate::cost;

pub(super) fn run(input: &[u8]) {
    let Some((schema, object)) = pair(input) else {
        return;
    };
    cost::within(input.len(), 200_000, || {
        let definition = json!({
            "metadata": { "name": "widgets.example.com" },
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
                "versions": [{ "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": schema } }],
            },
        });
        let mut errors = Vec::new();
        crd::validate(&definition, &mut errors);
        crd::validate(&object, &mut Vec::new());
        for version in crd::CustomKind::of(&object).versions {
            version.schema();
        }
        if !errors.is_empty() {
            return;
        }
        let structural = Structural::new(&schema);
        let mut stored = object.clone();
        let _ = coerce(&mut stored.clone(), &structural);
        prune(&mut stored, &structural);
        let mut again = stored.clone();
        assert_eq!(
            prune(&mut again, &structural),
            Vec::<String>::new(),
            "pruned twice"
        );
        assert_eq!(again, stored);
        default(&mut stored, &structural);
        let mut again = stored.clone();
        default(&mut again, &structural);
        assert_eq!(again, stored, "defaulted twice");
        let mut errors = Vec::new();
        validate(&stored, &structural, &mut errors);
        validate_update(&stored, &object, &structural, &mut errors);
    });
}
