//! Objects as texts to be compared: without what is nobody's wish, and without secrets.

use manifests::yaml;
use serde_json::Value;

/// What stands in the place of a value that nobody should read over somebody's shoulder.
const SECRET: &str = "***";
const SECRET_BEFORE: &str = "*** (before)";
const SECRET_AFTER: &str = "*** (after)";
/// Where kubectl notes what it has applied.
const NOTED: &str = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";

/// The name both texts of an object have.
pub(super) fn file_name(object: &Value) -> String {
    let parts = [
        &object["apiVersion"],
        &object["kind"],
        &object["metadata"]["namespace"],
        &object["metadata"]["name"],
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter_map(|part| part.as_str())
        .map(|part| part.replace(['/', ':'], "."))
        .collect();
    parts.join(".")
}

/// The texts of what is, if it is, and of what would be.
pub(super) fn texts(live: Option<&Value>, merged: &Value) -> (Option<String>, String) {
    let mut live = live.cloned();
    let mut merged = merged.clone();
    for object in live.iter_mut().chain([&mut merged]) {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    }
    if merged["kind"] == "Secret" {
        mask(live.as_mut(), &mut merged);
    }
    (live.as_ref().map(yaml::write), yaml::write(&merged))
}

/// Of values, only whether they are the same is told.
fn mask(mut live: Option<&mut Value>, merged: &mut Value) {
    for object in live.iter_mut().map(|live| &mut **live).chain([&mut *merged]) {
        // What kubectl notes there are all of the values once more.
        if let Some(noted) = object.pointer_mut(NOTED) {
            *noted = SECRET.into();
        }
    }
    for field in ["data", "stringData"] {
        let before = live.as_ref().map(|live| live[field].clone()).unwrap_or_default();
        let after = merged.get(field).cloned().unwrap_or_default();
        let both = live.iter_mut().map(|live| (&mut **live, &after, SECRET_BEFORE));
        for (object, other, word) in both.chain([(&mut *merged, &before, SECRET_AFTER)]) {
            let Some(values) = object.get_mut(field).and_then(Value::as_object_mut) else {
                continue;
            };
            for (key, value) in values {
                let is_changed = other.get(key).is_some_and(|other| other != value);
                *value = if is_changed { word } else { SECRET }.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_secrets_only_that_they_change_is_shown() {
        let secret = |data: Value| json!({"apiVersion": "v1", "kind": "Secret", "data": data});
        let live = secret(json!({"a": "cGFzcw==", "b": "b2xk"}));
        let merged = secret(json!({"a": "cGFzcw==", "b": "bmV3", "c": "bW9yZQ=="}));
        let (before, after) = texts(Some(&live), &merged);
        let kind = "kind: Secret\n";
        assert_eq!(
            before.unwrap(),
            format!("apiVersion: v1\ndata:\n  a: '***'\n  b: '*** (before)'\n{kind}")
        );
        assert_eq!(
            after,
            format!("apiVersion: v1\ndata:\n  a: '***'\n  b: '*** (after)'\n  c: '***'\n{kind}")
        );
        let (before, after) = texts(None, &merged);
        assert_eq!(before, None);
        assert!(!after.contains("bW9yZQ"), "{after}");
    }

    #[test]
    fn what_kubectl_has_noted_of_secrets_is_not_shown() {
        let noted =
            json!({"kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{\"a\":\"cGFzcw==\"}}"});
        let secret = json!({"kind": "Secret", "metadata": {"annotations": noted}, "data": {"a": "cGFzcw=="}});
        let (before, after) = texts(Some(&secret), &secret);
        for text in [before.unwrap(), after] {
            assert!(!text.contains("cGFzcw"), "{text}");
        }
    }

    #[test]
    fn who_owns_fields_is_not_compared() {
        let object = json!({"metadata": {"name": "x", "managedFields": []}});
        assert_eq!(texts(None, &object).1, "metadata:\n  name: x\n");
    }
}
