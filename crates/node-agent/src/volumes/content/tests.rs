use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use serde_json::{Value, json};

use super::*;
use crate::environment::Resources;

struct Fixed;

impl Sources for Fixed {
    fn config_map(&self, name: &str) -> Option<Arc<ConfigMap>> {
        let map = json!({"data": {"a": "1", "b": "2"}, "binaryData": {"raw": "AAE="}});
        (name == "map").then(|| Arc::new(serde_json::from_value(map).unwrap()))
    }

    fn secret(&self, name: &str) -> Option<Arc<Secret>> {
        let secret = json!({"data": {"password": "aHVudGVyMg=="}});
        (name == "secret").then(|| Arc::new(serde_json::from_value(secret).unwrap()))
    }

    fn services(&self) -> Vec<Arc<Service>> {
        Vec::new()
    }

    fn allocatable(&self) -> Resources {
        Resources::default()
    }
}

impl VolumeSources for Fixed {
    fn token(&self, request: &TokenRequest) -> Result<String, String> {
        let known = (request.audience == "vault").then(|| "token".to_owned());
        known.ok_or_else(|| "serviceaccounts \"default\" not found".to_owned())
    }

    fn claim(&self, _: &str) -> Option<Arc<PersistentVolumeClaim>> {
        None
    }

    fn persistent_volume(&self, _: &str) -> Option<Arc<PersistentVolume>> {
        None
    }

    fn is_used_by_another_pod(&self, _: &str) -> bool {
        false
    }
}

/// The files of a volume, one `mode path=content` each.
fn check(volume: Value) -> Result<Vec<String>, String> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "p", "labels": {"app": "a", "tier": "x\"y"}},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "250m"}}}]},
    }))
    .unwrap();
    let volume: Volume = serde_json::from_value(volume).unwrap();
    let files = files(&pod, &volume, &Ownership::default(), &Fixed).map_err(|error| error.to_string())?;
    let shown = files.into_iter().flatten().map(|file| {
        let content = String::from_utf8_lossy(&file.bytes).into_owned();
        format!("{:o} {}={content}", file.mode, file.path)
    });
    Ok(shown.collect())
}

#[test]
fn a_config_map_gives_all_its_keys_or_the_chosen_ones() {
    let all = check(json!({"name": "v", "configMap": {"name": "map"}})).unwrap();
    assert_eq!(all, ["644 a=1", "644 b=2", "644 raw=\u{0}\u{1}"]);
    let items = json!([{"key": "b", "path": "x/y", "mode": 256}]);
    let some = check(json!({"name": "v", "configMap": {"name": "map", "items": items}})).unwrap();
    assert_eq!(some, ["400 x/y=2"]);
}

#[test]
fn what_is_missing_is_named_unless_it_is_optional() {
    let items = json!([{"key": "z", "path": "z"}]);
    let volume = |optional: bool| json!({"name": "v", "secret": {"secretName": "secret", "items": items, "optional": optional}});
    assert_eq!(
        check(volume(false)).unwrap_err(),
        "references non-existent secret key: z"
    );
    assert!(check(volume(true)).unwrap().is_empty());
    let gone = json!({"name": "v", "configMap": {"name": "no"}});
    assert_eq!(check(gone).unwrap_err(), "configmap \"no\" not found");
}

#[test]
fn a_projected_volume_puts_everything_into_one_folder() {
    let labels = json!({"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}});
    let limit = json!({"path": "cpu", "resourceFieldRef":
        {"containerName": "c", "resource": "limits.cpu", "divisor": "1m"}});
    let sources = json!([
        {"secret": {"name": "secret"}},
        {"downwardAPI": {"items": [labels, limit]}},
        {"serviceAccountToken": {"audience": "vault", "path": "token"}},
    ]);
    let files = check(json!({"name": "v", "projected": {"defaultMode": 384, "sources": sources}})).unwrap();
    let wanted = [
        "600 cpu=250",
        "600 labels=app=\"a\"\ntier=\"x\\\"y\"",
        "600 password=hunter2",
        "600 token=token",
    ];
    assert_eq!(files, wanted);
}

#[test]
fn other_volumes_have_no_files_of_their_own() {
    let pod = Pod::default();
    let volume: Volume = serde_json::from_value(json!({"name": "v", "emptyDir": {}})).unwrap();
    assert_eq!(files(&pod, &volume, &Ownership::default(), &Fixed), Ok(None));
}
