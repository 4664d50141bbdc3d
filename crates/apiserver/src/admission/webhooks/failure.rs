//! What becomes of a request that a webhook refused or could not be asked about.

use http::StatusCode;
use serde_json::Value;

use crate::error::ApiError;

/// Why a webhook did not agree.
pub(super) enum Failure {
    /// It could not be asked, or gave no proper answer. Its failure policy decides.
    Call(String),
    /// It said no, or this server says no on its account.
    Refusal(ApiError),
}

impl Failure {
    /// The error of the request; none where the webhook's failures are ignored.
    pub(super) fn into_error(self, webhook: &str, fails_open: bool) -> Option<ApiError> {
        match self {
            Self::Refusal(error) => Some(error),
            Self::Call(why) => {
                let message = format!("failed calling webhook {webhook:?}: {why}");
                tracing::warn!(fails_open, "{message}");
                (!fails_open).then(|| ApiError::internal(message))
            }
        }
    }
}

/// The error of a request that a webhook denied, from the status it gave as its reason.
pub(super) fn denied(webhook: &str, status: &Value) -> ApiError {
    let denied = format!("admission webhook {webhook:?} denied the request");
    let (message, reason) = (
        kinds::read::text(status, "message"),
        kinds::read::text(status, "reason"),
    );
    let explanation = [message, reason].into_iter().find(|text| !text.is_empty());
    let text = match explanation {
        Some(explanation) => format!("{denied}: {explanation}"),
        None => format!("{denied} without explanation"),
    };
    let code = kinds::read::int(status, "code").unwrap_or_default().max(400);
    let code = u16::try_from(code)
        .ok()
        .and_then(|code| StatusCode::from_u16(code).ok());
    let mut error = ApiError::new(
        code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        reason.to_owned(),
        text,
    );
    error.details = status.get("details").cloned();
    error
}

pub(super) fn no_dry_run(webhook: &str) -> Failure {
    Failure::Refusal(ApiError::bad_request(format!(
        "admission webhook {webhook:?} does not support dry run"
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(status: &Value, code: u16, reason: &str, message: &str) {
        let error = denied("x.y.z", status);
        assert_eq!(
            (error.code.as_u16(), &*error.reason, &*error.message),
            (code, reason, message)
        );
    }

    #[test]
    fn denials_tell_who_denied_and_why() {
        let denied = "admission webhook \"x.y.z\" denied the request";
        check(&json!({ "message": "no" }), 400, "", &format!("{denied}: no"));
        check(
            &json!({ "code": 403, "reason": "Forbidden" }),
            403,
            "Forbidden",
            &format!("{denied}: Forbidden"),
        );
        check(
            &json!({ "code": 200, "message": "m", "reason": "R" }),
            400,
            "R",
            &format!("{denied}: m"),
        );
        check(&Value::Null, 400, "", &format!("{denied} without explanation"));
    }
}
