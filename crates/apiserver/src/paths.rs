//! Paths beside the objects: discovery, version, OpenAPI, health, metrics, token keys.

use std::sync::Arc;

use http::{HeaderMap, Method, StatusCode};
use serde_json::json;

use crate::{
    api::Api,
    discovery,
    error::{ApiError, Result},
    negotiate::Representation,
    openapi,
    query::Query,
    response::{self, Answer},
    tokens,
};

/// The Kubernetes release this server behaves as.
pub(crate) const GIT_VERSION: &str = concat!("v1.34.4+trainyard.", env!("CARGO_PKG_VERSION"));

pub(crate) async fn answer(
    api: &Arc<Api>,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    query: &Query,
) -> Result<Answer> {
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match segments.as_slice() {
        [""] => Ok(json_answer(
            &json!({ "paths": discovery::paths(&api.registry.snapshot()) }),
        )),
        ["apis"] | ["apis", ""] => Ok(discovery::groups(&api.registry.snapshot(), headers)),
        ["apis", group] | ["apis", group, ""] => Ok(discovery::group(&api.registry.snapshot(), group)),
        ["openapi", "v3"] => Ok(openapi::index(&api.registry.snapshot())),
        ["openapi", "v3", rest @ ..] => {
            openapi::document(api.registry.snapshot(), rest.join("/"), headers, query).await
        }
        ["openapi", "v2"] => openapi::swagger(api.registry.snapshot(), headers).await,
        ["healthz" | "livez" | "readyz"] => Ok(health(segments[0], query)),
        ["healthz" | "livez" | "readyz", check] => Ok(one_check(check)),
        ["metrics"] => Ok(response::with_type(
            StatusCode::OK,
            "text/plain; version=0.0.4; charset=utf-8",
            response::full(api.metrics.render(api)),
        )),
        [known @ .., ""] | known => of_service(api, method, known, headers),
    }
}

/// The paths that know their methods, and do not mind a slash at their end. The others answer
/// whatever the method is.
fn of_service(api: &Arc<Api>, method: &Method, segments: &[&str], headers: &HeaderMap) -> Result<Answer> {
    let snapshot = || api.registry.snapshot();
    let answer: &dyn Fn() -> Answer = match segments {
        ["version"] => &|| json_answer(&version()),
        ["api"] => &|| discovery::core(&snapshot(), headers),
        ["api", version] => &|| discovery::resources(&snapshot(), "", version),
        ["apis", group, version] => &|| discovery::resources(&snapshot(), group, version),
        [".well-known", "openid-configuration"] => &|| json_answer(&openid_configuration()),
        ["openid", "v1", "jwks"] => &|| json_answer(&api.signer.key_set()),
        _ => return Ok(response::text(StatusCode::NOT_FOUND, "404 page not found\n")),
    };
    if method == Method::GET {
        Ok(answer())
    } else {
        Err(ApiError::method_not_allowed())
    }
}

fn openid_configuration() -> serde_json::Value {
    json!({
        "issuer": tokens::ISSUER,
        "jwks_uri": format!("{}/openid/v1/jwks", tokens::ISSUER),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    })
}

fn json_answer(value: &serde_json::Value) -> Answer {
    response::value(StatusCode::OK, Representation::JSON, value)
}

fn version() -> serde_json::Value {
    json!({
        "major": "1",
        "minor": "34",
        "emulationMajor": "1",
        "emulationMinor": "34",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "33",
        "gitVersion": GIT_VERSION,
        "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "rust",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, arch()),
    })
}

/// The architecture by its Go name.
fn arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The checks behind the health endpoints. The server only listens once they all hold.
const CHECKS: [&str; 3] = ["ping", "log", "store"];

fn health(endpoint: &str, query: &Query) -> Answer {
    if query.get("verbose").is_none() {
        return response::text(StatusCode::OK, "ok");
    }
    let excluded: Vec<&str> = query.all("exclude").collect();
    let mut text = String::new();
    for check in CHECKS {
        let state = if excluded.contains(&check) {
            "excluded: ok"
        } else {
            "ok"
        };
        text.push_str(&format!("[+]{check} {state}\n"));
    }
    text.push_str(&format!("{endpoint} check passed\n"));
    response::text(StatusCode::OK, text)
}

fn one_check(check: &str) -> Answer {
    if CHECKS.contains(&check) {
        return response::text(StatusCode::OK, "ok");
    }
    response::text(StatusCode::NOT_FOUND, "404 page not found\n")
}
