//! `AdmissionReview`: the question put to a webhook and the answer it gives.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Serialize;
use serde_json::Value;

use super::configuration::ReviewVersion;
use crate::admission::matching::Objects;

impl ReviewVersion {
    fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1Beta1 => "admission.k8s.io/v1beta1",
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    kind: &'static str,
    api_version: &'static str,
    request: Request<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    uid: &'a str,
    #[serde(flatten)]
    about: &'a Value,
    object: Option<&'a Value>,
    old_object: Option<&'a Value>,
}

/// The body of the question.
pub(super) fn question(version: ReviewVersion, uid: &str, about: &Value, objects: Objects<'_>) -> Vec<u8> {
    let request = Request {
        uid,
        about,
        object: objects.new,
        old_object: objects.old,
    };
    let review = Review {
        kind: "AdmissionReview",
        api_version: version.api_version(),
        request,
    };
    // Keys are strings and the writer is memory: it cannot fail.
    serde_json::to_vec(&review).unwrap_or_default()
}

/// What a webhook answered.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub allowed: bool,
    /// Null where the webhook did not say more.
    pub status: Value,
    pub warnings: Vec<String>,
    pub patch: Option<Patch>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Patch {
    pub bytes: Vec<u8>,
    pub kind: String,
}

/// Reads an answer; one that does not follow the protocol counts as none.
pub(super) fn read(
    version: ReviewVersion,
    uid: &str,
    mutating: bool,
    review: &Value,
) -> Result<Answer, String> {
    let response = review.get("response").filter(|response| response.is_object());
    let response = response.ok_or("webhook response was absent")?;
    if version == ReviewVersion::V1 {
        check_identity(uid, review, response)?;
    }
    let patch = BASE64_STANDARD
        .decode(kinds::read::text(response, "patch"))
        .map_err(|error| format!("response.patch: {error}"))?;
    let kind = response.get("patchType").and_then(Value::as_str);
    if version == ReviewVersion::V1 {
        check_patch(mutating, &patch, kind)?;
    }
    let kind = kind
        .filter(|_| version == ReviewVersion::V1)
        .unwrap_or("JSONPatch")
        .to_owned();
    let warnings = kinds::read::list(response, "warnings").iter();
    Ok(Answer {
        allowed: kinds::read::flag(response, "allowed"),
        status: response.get("status").cloned().unwrap_or_default(),
        warnings: warnings.filter_map(Value::as_str).map(str::to_owned).collect(),
        patch: (mutating && !patch.is_empty()).then_some(Patch { bytes: patch, kind }),
    })
}

fn check_identity(uid: &str, review: &Value, response: &Value) -> Result<(), String> {
    let answered = kinds::read::text(response, "uid");
    if answered != uid {
        return Err(format!("expected response.uid={uid:?}, got {answered:?}"));
    }
    let (version, kind) = (
        kinds::read::text(review, "apiVersion"),
        kinds::read::text(review, "kind"),
    );
    if (version, kind) != (ReviewVersion::V1.api_version(), "AdmissionReview") {
        let shown = if version.contains('/') {
            version.to_owned()
        } else {
            format!("/{version}")
        };
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {shown}, Kind={kind}"
        ));
    }
    Ok(())
}

/// A patch and its type come together, and only from webhooks that may change something.
fn check_patch(mutating: bool, patch: &[u8], kind: Option<&str>) -> Result<(), String> {
    let complaint = match (mutating, patch.is_empty(), kind) {
        (false, false, _) => "validating webhook may not return response.patch",
        (false, true, Some(_)) => "validating webhook may not return response.patchType",
        (true, false, None) => "webhook returned response.patch but not response.patchType",
        (true, true, Some(_)) => "webhook returned response.patchType but not response.patch",
        (true, false, Some("")) => "webhook returned invalid response.patchType of \"\"",
        _ => return Ok(()),
    };
    Err(complaint.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(response: &Value) -> Value {
        json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response })
    }

    #[track_caller]
    fn check_refused(mutating: bool, response: &Value, expected: &str) {
        assert_eq!(
            read(ReviewVersion::V1, "u", mutating, &answer(response)),
            Err(expected.to_owned())
        );
    }

    #[test]
    fn questions_carry_the_request_and_its_objects() {
        let object = json!({ "kind": "Pod" });
        let about = json!({ "operation": "CREATE", "name": "p" });
        let bytes = question(
            ReviewVersion::V1,
            "u",
            &about,
            Objects {
                new: Some(&object),
                old: None,
            },
        );
        assert_eq!(
            serde_json::from_slice::<Value>(&bytes).unwrap(),
            json!({
                "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
                "request": { "uid": "u", "operation": "CREATE", "name": "p", "object": { "kind": "Pod" }, "oldObject": null },
            })
        );
    }

    #[test]
    fn answers_must_follow_the_protocol() {
        check_refused(
            true,
            &json!({ "uid": "x" }),
            "expected response.uid=\"u\", got \"x\"",
        );
        check_refused(true, &Value::Null, "webhook response was absent");
        let patch = json!({ "uid": "u", "patch": "W10=" });
        check_refused(
            true,
            &patch,
            "webhook returned response.patch but not response.patchType",
        );
        check_refused(false, &patch, "validating webhook may not return response.patch");
        let wrong = json!({ "kind": "Pod", "apiVersion": "v1", "response": { "uid": "u" } });
        assert_eq!(
            read(ReviewVersion::V1, "u", true, &wrong),
            Err(
                "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /v1, Kind=Pod"
                    .to_owned()
            )
        );
    }

    #[test]
    fn a_good_answer_is_read() {
        let response = json!({
            "uid": "u", "allowed": true, "warnings": ["careful"], "patch": "W10=", "patchType": "JSONPatch",
        });
        let read = read(ReviewVersion::V1, "u", true, &answer(&response)).unwrap();
        let patch = Patch {
            bytes: b"[]".to_vec(),
            kind: "JSONPatch".to_owned(),
        };
        assert_eq!(
            read,
            Answer {
                allowed: true,
                status: Value::Null,
                warnings: vec!["careful".to_owned()],
                patch: Some(patch)
            }
        );
    }

    #[test]
    fn the_old_version_is_read_as_it_always_was() {
        let review = json!({ "response": { "allowed": true, "patch": "W10=" } });
        let read = read(ReviewVersion::V1Beta1, "u", true, &review).unwrap();
        assert_eq!(read.patch.unwrap().kind, "JSONPatch");
    }
}
