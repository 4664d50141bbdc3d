//! Which volumes a pod may mount.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Violation,
    subject::Subject,
    wording::{plural, quoted},
};
use crate::read::{has, list, text};

/// Types that show a pod nothing but what is meant for it.
const HARMLESS: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

pub(super) fn host_paths(pod: &Subject<'_>) -> Option<Violation> {
    let bad: Vec<&str> = list(pod.spec, "volumes")
        .iter()
        .filter(|volume| has(volume, "hostPath"))
        .map(|volume| text(volume, "name"))
        .collect();
    (!bad.is_empty()).then(|| Violation::new("hostPath volumes", volumes(&bad)))
}

pub(super) fn restricted_types(pod: &Subject<'_>) -> Option<Violation> {
    let bad: Vec<&Value> = list(pod.spec, "volumes")
        .iter()
        .filter(|volume| !HARMLESS.iter().any(|harmless| has(volume, harmless)))
        .collect();
    let names: Vec<&str> = bad.iter().map(|volume| text(volume, "name")).collect();
    let types: BTreeSet<&str> = bad.iter().map(|volume| type_of(volume)).collect();
    (!bad.is_empty()).then(|| {
        let verb = plural("uses", "use", names.len());
        let noun = plural("restricted volume type", "restricted volume types", types.len());
        Violation::new(
            "restricted volume types",
            format!("{} {verb} {noun} {}", volumes(&names), quoted(types)),
        )
    })
}

/// A volume has a name and one source, which goes by its type.
fn type_of(volume: &Value) -> &str {
    let mut fields = volume.as_object().into_iter().flatten();
    fields
        .find(|(key, value)| *key != "name" && !value.is_null())
        .map_or("unknown", |(key, _)| key)
}

fn volumes(names: &[&str]) -> String {
    format!("{} {}", plural("volume", "volumes", names.len()), quoted(names))
}
