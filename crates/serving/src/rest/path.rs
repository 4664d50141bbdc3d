//! What a path asks for.

use http::Method;
use percent_encoding::percent_decode_str;

use crate::catalogue::Choice;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Live,
    Ready,
    Metrics,
    Status { model: String, choice: Choice },
    Metadata { model: String, choice: Choice },
    Predict { model: String, choice: Choice },
    Classify { model: String, choice: Choice },
    Regress { model: String, choice: Choice },
    Server,
    ModelMetadata { model: String, version: String },
    ModelReady { model: String, version: String },
    Infer { model: String, version: String },
}

impl Route {
    pub(super) fn method(&self) -> Method {
        match self {
            Self::Predict { .. } | Self::Classify { .. } | Self::Regress { .. } | Self::Infer { .. } => {
                Method::POST
            }
            _ => Method::GET,
        }
    }

    pub(super) fn allows(&self, method: &Method) -> bool {
        self.method() == *method || (self.method() == Method::GET && *method == Method::HEAD)
    }

    /// As metrics name it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Live | Self::Ready => "health",
            Self::Metrics => "metrics",
            Self::Status { .. } => "status",
            Self::Metadata { .. } | Self::ModelMetadata { .. } => "metadata",
            Self::Predict { .. } => "predict",
            Self::Classify { .. } => "classify",
            Self::Regress { .. } => "regress",
            Self::Server => "server",
            Self::ModelReady { .. } => "ready",
            Self::Infer { .. } => "infer",
        }
    }
}

pub(super) fn route(path: &str) -> Option<Route> {
    let decoded = |part: &str| percent_decode_str(part).decode_utf8().ok().map(Into::into);
    let parts: Option<Vec<String>> = path.trim_matches('/').split('/').map(decoded).collect();
    let parts = parts?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    Some(match parts[..] {
        ["healthz" | "livez"] | ["v2", "health", "live"] => Route::Live,
        ["readyz"] | ["v2", "health", "ready"] => Route::Ready,
        ["metrics"] | ["monitoring", "prometheus", "metrics"] => Route::Metrics,
        ["v1", "models", model, ref rest @ ..] => return of_model(model, rest),
        ["v2"] => Route::Server,
        ["v2", "models", model, "versions", version, ref rest @ ..] => return of_v2(model, version, rest),
        ["v2", "models", model, ref rest @ ..] => return of_v2(model, "", rest),
        _ => return None,
    })
}

fn of_model(first: &str, rest: &[&str]) -> Option<Route> {
    // What is done comes last, after a colon.
    let (last, verb) = rest
        .last()
        .copied()
        .unwrap_or(first)
        .rsplit_once(':')
        .map_or_else(
            || (rest.last().copied().unwrap_or(first), None),
            |(last, verb)| (last, Some(verb)),
        );
    let model = if rest.is_empty() { last } else { first }.to_owned();
    let number = |text: &str| text.parse().ok().map(Choice::Number);
    let (choice, is_metadata) = match rest {
        [] => (Choice::Latest, false),
        ["metadata"] => (Choice::Latest, true),
        ["versions", _] => (number(last)?, false),
        ["versions", version, "metadata"] => (number(version)?, true),
        ["labels", _] => (Choice::Label(last.to_owned()), false),
        ["labels", label, "metadata"] => (Choice::Label((*label).to_owned()), true),
        _ => return None,
    };
    match (verb, is_metadata) {
        (None, true) => Some(Route::Metadata { model, choice }),
        (None, false) => Some(Route::Status { model, choice }),
        (Some("predict"), false) => Some(Route::Predict { model, choice }),
        (Some("classify"), false) => Some(Route::Classify { model, choice }),
        (Some("regress"), false) => Some(Route::Regress { model, choice }),
        _ => None,
    }
}

fn of_v2(model: &str, version: &str, rest: &[&str]) -> Option<Route> {
    let (model, version) = (model.to_owned(), version.to_owned());
    match rest {
        [] => Some(Route::ModelMetadata { model, version }),
        ["ready"] => Some(Route::ModelReady { model, version }),
        ["infer"] => Some(Route::Infer { model, version }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_tensorflow_serving_are_understood() {
        let model = || "m".to_owned();
        let number = || Choice::Number(3);
        let label = || Choice::Label("stable".to_owned());
        for (path, wanted) in [
            (
                "/v1/models/m",
                Route::Status {
                    model: model(),
                    choice: Choice::Latest,
                },
            ),
            (
                "/v1/models/m/versions/3",
                Route::Status {
                    model: model(),
                    choice: number(),
                },
            ),
            (
                "/v1/models/m/metadata",
                Route::Metadata {
                    model: model(),
                    choice: Choice::Latest,
                },
            ),
            (
                "/v1/models/m/versions/3/metadata",
                Route::Metadata {
                    model: model(),
                    choice: number(),
                },
            ),
            (
                "/v1/models/m:predict",
                Route::Predict {
                    model: model(),
                    choice: Choice::Latest,
                },
            ),
            (
                "/v1/models/m/versions/3:classify",
                Route::Classify {
                    model: model(),
                    choice: number(),
                },
            ),
            (
                "/v1/models/m/labels/stable:regress",
                Route::Regress {
                    model: model(),
                    choice: label(),
                },
            ),
            (
                "/v1/models/a%2Fb:predict",
                Route::Predict {
                    model: "a/b".to_owned(),
                    choice: Choice::Latest,
                },
            ),
        ] {
            assert_eq!(route(path), Some(wanted), "{path}");
        }
    }

    #[test]
    fn paths_of_open_inference_are_understood() {
        let (model, version) = ("m".to_owned(), "3".to_owned());
        let infer = Route::Infer {
            model: model.clone(),
            version,
        };
        assert_eq!(route("/v2/models/m/versions/3/infer"), Some(infer));
        let metadata = Route::ModelMetadata {
            model,
            version: String::new(),
        };
        assert_eq!(route("/v2/models/m"), Some(metadata));
        assert_eq!(route("/v2/health/ready"), Some(Route::Ready));
    }

    #[test]
    fn other_paths_are_nothing() {
        for path in [
            "/",
            "/v1",
            "/v1/models",
            "/v1/models/m/versions",
            "/v1/models/m:guess",
            "/v1/models/m/versions/x",
            "/v1/models/m/metadata:predict",
            "/v1/models/%FF",
            "/v2/models/m/versions",
            "/v3",
        ] {
            assert_eq!(route(path), None, "{path}");
        }
    }
}
