//! Something to tell the user, decided by a plan and told once the plan is applied.

use k8s_openapi::api::core::v1::ObjectReference;
use reconcile::Recorder;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    is_warning: bool,
    pub reason: String,
    pub text: String,
}

impl Notice {
    pub(crate) fn normal(reason: &str, text: impl Into<String>) -> Self {
        Self {
            is_warning: false,
            reason: reason.to_owned(),
            text: text.into(),
        }
    }

    pub(crate) fn warning(reason: &str, text: impl Into<String>) -> Self {
        Self {
            is_warning: true,
            ..Self::normal(reason, text)
        }
    }

    pub(crate) fn tell(self, recorder: &Recorder, about: ObjectReference) {
        if self.is_warning {
            recorder.warning(about, &self.reason, self.text);
        } else {
            recorder.normal(about, &self.reason, self.text);
        }
    }
}

/// The server's own words about a refusal, as users know them.
pub(crate) fn words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
