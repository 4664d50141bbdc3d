//! The question to a conversion webhook, and what its answer must be like. A webhook converts
//! content, labels and annotations; who and what the object is stays as it was.

use kinds::{
    label_selector, object_meta,
    read::{get, list, text},
};
use manifests::field::{FieldError, Path, quoted};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V1Beta1,
}

impl Version {
    pub(super) fn first_known(versions: &[Value]) -> Option<Self> {
        versions.iter().find_map(|version| match version.as_str()? {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        })
    }

    fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "apiextensions.k8s.io/v1",
            Self::V1Beta1 => "apiextensions.k8s.io/v1beta1",
        }
    }
}

/// `example.com/v1, Kind=Widget`.
pub(super) fn described(object: &Value) -> String {
    format!("{}, Kind={}", text(object, "apiVersion"), text(object, "kind"))
}

pub(super) fn question(version: Version, uid: &str, objects: &[Value], to: &str) -> Vec<u8> {
    let review = json!({
        "kind": "ConversionReview",
        "apiVersion": version.api_version(),
        "request": { "uid": uid, "desiredAPIVersion": to, "objects": objects },
    });
    review.to_string().into_bytes()
}

/// The converted objects, or how the sentence about the webhook goes on.
pub(super) fn read(
    version: Version,
    uid: &str,
    originals: &[Value],
    to: &str,
    answer: &Value,
) -> Result<Vec<Value>, String> {
    let converted = converted_objects(version, uid, answer).map_err(|why| format!("failed: {why}"))?;
    if converted.len() != originals.len() {
        let (got, expected) = (converted.len(), originals.len());
        return Err(format!("returned {got} objects, expected {expected}"));
    }
    let pairs = originals.iter().zip(converted).enumerate();
    pairs
        .map(|(index, (original, converted))| {
            check_type(original, converted, to)
                .map_err(|why| format!("returned invalid object at index {index}: {why}"))?;
            check_identity(original, converted).map_err(|why| format!("returned invalid object: {why}"))?;
            with_metadata(original, converted).map_err(|why| format!("returned invalid metadata: {why}"))
        })
        .collect()
}

fn converted_objects<'a>(version: Version, uid: &str, answer: &'a Value) -> Result<&'a [Value], String> {
    let is_review =
        text(answer, "apiVersion") == version.api_version() && text(answer, "kind") == "ConversionReview";
    if version == Version::V1 && !is_review {
        return Err(format!(
            "expected webhook response of {}, Kind=ConversionReview, got {}",
            version.api_version(),
            described(answer)
        ));
    }
    let response = get(answer, "response");
    if response.is_null() {
        return Err("no response provided".to_owned());
    }
    if version == Version::V1 && text(response, "uid") != uid {
        let (expected, got) = (quoted(uid), quoted(text(response, "uid")));
        return Err(format!("expected response.uid={expected}, got {got}"));
    }
    let result = get(response, "result");
    match (text(result, "status"), text(result, "message")) {
        ("Success", _) => Ok(list(response, "convertedObjects")),
        (status, "") => Err(format!("response.result.status was '{status}', not 'Success'")),
        (_, message) => Err(message.to_owned()),
    }
}

fn check_type(original: &Value, converted: &Value, to: &str) -> Result<(), String> {
    let (version, kind) = (text(converted, "apiVersion"), text(converted, "kind"));
    if version != to {
        return Err(format!(
            "invalid groupVersion (expected {to}, received {version})"
        ));
    }
    let expected = text(original, "kind");
    if kind != expected {
        return Err(format!("invalid kind (expected {expected}, received {kind})"));
    }
    Ok(())
}

fn check_identity(original: &Value, converted: &Value) -> Result<(), String> {
    for (field, shown) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let [before, after] = [original, converted].map(|object| text(get(object, "metadata"), field));
        if before != after {
            return Err(format!("must have the same {shown}: {before} != {after}"));
        }
    }
    Ok(())
}

/// The converted object with the metadata it had, but for labels and annotations.
fn with_metadata(original: &Value, converted: &Value) -> Result<Value, String> {
    let Some(answered) = converted.get("metadata") else {
        return Err("missing metadata in converted object".to_owned());
    };
    let mut metadata = get(original, "metadata").clone();
    for (field, check) in [
        ("labels", check_labels as Check),
        ("annotations", check_annotations),
    ] {
        let (before, after) = (get(&metadata, field), get(answered, field));
        if before != after {
            check(after)?;
        }
        if let Value::Object(fields) = &mut metadata {
            match answered.get(field).filter(|value| !value.is_null()) {
                Some(value) => fields.insert(field.to_owned(), value.clone()),
                None => fields.remove(field),
            };
        }
    }
    let mut object = converted.clone();
    object["metadata"] = metadata;
    Ok(object)
}

type Check = fn(&Value) -> Result<(), String>;

fn check_labels(labels: &Value) -> Result<(), String> {
    let mut errors = Vec::new();
    label_selector::validate_labels(labels, &Path::new("metadata").child("labels"), &mut errors);
    told(&errors)
}

fn check_annotations(annotations: &Value) -> Result<(), String> {
    let mut errors = Vec::new();
    // The real server says it in the singular here.
    let path = Path::new("metadata").child("annotation");
    object_meta::validate_annotations(annotations, &path, &mut errors);
    told(&errors)
}

fn told(errors: &[FieldError]) -> Result<(), String> {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    match texts.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widget(version: &str, metadata: Value) -> Value {
        json!({ "kind": "Widget", "apiVersion": format!("example.com/{version}"), "metadata": metadata })
    }

    fn answer(objects: Value) -> Value {
        json!({
            "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
            "response": { "uid": "1", "result": { "status": "Success" }, "convertedObjects": objects },
        })
    }

    fn read_one(answer: &Value) -> Result<Value, String> {
        let original = widget("v1", json!({ "name": "a", "uid": "u", "labels": { "x": "y" } }));
        let converted = read(Version::V1, "1", &[original], "example.com/v2", answer)?;
        Ok(converted[0].clone())
    }

    #[test]
    fn labels_are_converted_and_identity_is_kept() {
        let converted = widget(
            "v2",
            json!({ "name": "a", "uid": "u", "annotations": { "b": "c" } }),
        );
        let read = read_one(&answer(json!([converted]))).unwrap();
        assert_eq!(
            read["metadata"],
            json!({ "name": "a", "uid": "u", "annotations": { "b": "c" } })
        );
    }

    #[test]
    fn an_answer_that_does_not_fit_is_told() {
        let refused = |objects| read_one(&answer(objects)).unwrap_err();
        assert_eq!(refused(json!([])), "returned 0 objects, expected 1");
        assert_eq!(
            refused(json!([widget("v3", json!({ "name": "a", "uid": "u" }))])),
            "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v3)"
        );
        assert_eq!(
            refused(json!([widget("v2", json!({ "name": "b", "uid": "u" }))])),
            "returned invalid object: must have the same name: a != b"
        );
        assert_eq!(
            refused(json!([widget(
                "v2",
                json!({ "name": "a", "uid": "u", "labels": { "-": "" } })
            )])),
            "returned invalid metadata: metadata.labels: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        );
    }

    #[test]
    fn a_webhook_may_say_why_it_failed() {
        let mut failed = answer(json!([]));
        failed["response"]["result"] = json!({ "status": "Failed", "message": "no idea" });
        assert_eq!(read_one(&failed).unwrap_err(), "failed: no idea");
        failed["response"]["result"] = json!({ "status": "Failed" });
        assert_eq!(
            read_one(&failed).unwrap_err(),
            "failed: response.result.status was 'Failed', not 'Success'"
        );
        failed["response"]["uid"] = json!("2");
        assert_eq!(
            read_one(&failed).unwrap_err(),
            "failed: expected response.uid=\"1\", got \"2\""
        );
    }
}
