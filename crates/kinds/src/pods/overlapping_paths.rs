//! Files of one volume that would lie in or on top of each other.

use manifests::field::quoted;
use serde_json::Value;

use crate::read::{get, has, list, text};

/// A file and where it comes from.
#[derive(Clone, PartialEq)]
struct File {
    path: String,
    source: String,
}

impl File {
    fn new(path: &str, source: impl Into<String>) -> Self {
        Self {
            path: path.trim_end_matches('/').to_owned(),
            source: source.into(),
        }
    }

    fn shown(&self) -> String {
        let path = quoted(&self.path);
        if self.source.is_empty() {
            path
        } else {
            format!("{path} ({})", self.source)
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let (a, b) = (format!("{}/", self.path), format!("{}/", other.path));
        !self.path.is_empty() && !other.path.is_empty() && (a.starts_with(&b) || b.starts_with(&a))
    }
}

/// Warns about the files of each volume.
pub(super) fn warn(volumes: &[Value], warnings: &mut Vec<String>) {
    for volume in volumes {
        let name = quoted(text(volume, "name"));
        for (key, description) in descriptions(volume) {
            let files = items(get(volume, key), "");
            for overlap in overlaps(&files) {
                warnings.push(format!(
                    "volume {name} ({description}): overlapping paths: {overlap}"
                ));
            }
        }
        warn_projected(get(volume, "projected"), &name, warnings);
    }
}

fn descriptions(volume: &Value) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    if has(volume, "configMap") {
        found.push((
            "configMap",
            format!("ConfigMap {}", quoted(text(get(volume, "configMap"), "name"))),
        ));
    }
    if has(volume, "secret") {
        found.push((
            "secret",
            format!("Secret {}", quoted(text(get(volume, "secret"), "secretName"))),
        ));
    }
    if has(volume, "downwardAPI") {
        found.push(("downwardAPI", "DownwardAPI".to_owned()));
    }
    found
}

fn items(source: &Value, description: &str) -> Vec<File> {
    list(source, "items")
        .iter()
        .map(|item| File::new(text(item, "path"), description))
        .collect()
}

fn warn_projected(volume: &Value, name: &str, warnings: &mut Vec<String>) {
    let mut files: Vec<File> = Vec::new();
    for source in list(volume, "sources") {
        if source.as_object().is_none_or(serde_json::Map::is_empty) {
            warnings.push(format!("volume {name} (Projected) has no sources provided"));
        }
        for file in projected_files(source) {
            for overlap in overlaps_with(&file, &files) {
                warnings.push(format!("volume {name} (Projected): overlapping paths: {overlap}"));
            }
            files.push(file);
        }
    }
}

fn projected_files(source: &Value) -> Vec<File> {
    let named = |kind: &str, key: &str| format!("{kind} {}", quoted(text(get(source, key), "name")));
    if has(get(source, "configMap"), "items") {
        items(get(source, "configMap"), &named("ConfigMap", "configMap"))
    } else if has(get(source, "secret"), "items") {
        items(get(source, "secret"), &named("Secret", "secret"))
    } else if has(get(source, "downwardAPI"), "items") {
        items(get(source, "downwardAPI"), "DownwardAPI")
    } else if has(source, "serviceAccountToken") {
        vec![File::new(
            text(get(source, "serviceAccountToken"), "path"),
            "ServiceAccountToken",
        )]
    } else {
        Vec::new()
    }
}

/// Each file with those before it.
fn overlaps(files: &[File]) -> impl Iterator<Item = String> {
    files
        .iter()
        .enumerate()
        .flat_map(|(i, file)| overlaps_with(file, &files[..i]))
}

fn overlaps_with(file: &File, earlier: &[File]) -> impl Iterator<Item = String> {
    earlier
        .iter()
        .filter(|earlier| file.overlaps(earlier))
        .map(|earlier| format!("{} with {}", file.shown(), earlier.shown()))
}
