//! Server-side apply: applying the same again changes nothing, and applied fields are owned.

use kinds::{decode::normalize, resources, types::TypeRef};
use manifests::apply::{Reset, Write, apply, update};
use serde_json::{Value, json};

use super::pair;
use crate::cost;

pub(super) fn run(input: &[u8]) {
    let Some((mut live, applied)) = pair(input) else {
        return;
    };
    let text = |field: &str| applied[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let Some(shape) = resources::type_of(&api_version, &kind) else {
        return;
    };
    let write = |manager: &'static str, force: bool| Write::<TypeRef> {
        shape,
        manager,
        api_version: &api_version,
        kind: &kind,
        subresource: "",
        now: "2024-01-01T00:00:00Z",
        force,
        reset: &Reset::Nothing,
        blank: &EMPTY,
        versions: &(),
    };
    if normalize(shape, &mut live).is_err() || !live.is_object() {
        return;
    }
    live["apiVersion"] = json!(api_version);
    live["kind"] = json!(kind);
    cost::within(input.len(), 100_000, || {
        update(None, &mut live, &write("first", false));
        let _ = apply(Some(&live), &applied, &write("second", false));
        let Ok(once) = apply(Some(&live), &applied, &write("second", true)) else {
            return;
        };
        let again = apply(Some(&once), &applied, &write("second", false));
        assert_eq!(
            again.as_ref().ok(),
            Some(&once),
            "applying again is no news: {again:?}"
        );
    });
}

static EMPTY: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| json!({}));
