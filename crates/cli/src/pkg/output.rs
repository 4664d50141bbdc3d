//! Where a build is written to: one file, or a folder with a file for each object.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use manifests::yaml;
use packages::Built;
use serde_json::Value;

use super::replace::Replacements;

pub(super) fn write(path: &Path, built: &Built) -> Result<()> {
    let unwritable = || format!("cannot write `{}`", path.display());
    let files = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => files(path, &built.objects),
        // Devices and pipes have no place that something else could take.
        Ok(metadata) if !metadata.is_file() => {
            return fs::write(path, built.to_yaml()).with_context(unwritable);
        }
        Ok(_) => {
            let target = fs::canonicalize(path).with_context(unwritable)?;
            BTreeMap::from([(target, built.to_yaml())])
        }
        Err(_) => BTreeMap::from([(path.to_owned(), built.to_yaml())]),
    };
    let mut replacements = Replacements::default();
    for (path, text) in &files {
        replacements.add(path, None, text)?;
    }
    replacements.commit()
}

fn files(folder: &Path, objects: &[Value]) -> BTreeMap<PathBuf, String> {
    let namespaces: BTreeSet<&str> = objects.iter().filter_map(namespace).collect();
    let name = |object: &Value| match namespace(object) {
        Some(namespace) if namespaces.len() > 1 => {
            format!("{}_{}", namespace.to_lowercase(), file_name(object))
        }
        _ => file_name(object),
    };
    let file = |object: &Value| (folder.join(name(object)), yaml::write(object));
    objects.iter().map(file).collect()
}

/// The namespace of an object; none of one that can have none.
fn namespace(object: &Value) -> Option<&str> {
    let namespace = text(&object["metadata"]["namespace"]);
    let namespace = if namespace.is_empty() {
        "default"
    } else {
        namespace
    };
    is_namespaced(object).then_some(namespace)
}

/// Whether objects of this kind are in namespaces, in whichever version. Definitions are no built-in kind; of other
/// custom ones nothing is known, and most of them are.
fn is_namespaced(object: &Value) -> bool {
    let (group, _) = group_and_version(object);
    let kind = text(&object["kind"]);
    let mut resources = kinds::resources::RESOURCES.iter();
    resources
        .find(|resource| resource.group == group && resource.kind == kind)
        .map_or(kind != "CustomResourceDefinition", |resource| resource.namespaced)
}

/// `apps_v1_deployment_trainer.yaml`
fn file_name(object: &Value) -> String {
    let (group, version) = group_and_version(object);
    let parts = [
        group,
        version,
        text(&object["kind"]),
        text(&object["metadata"]["name"]),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|part| !part.is_empty())
        // A name may have what a path means something by.
        .map(|part| part.to_lowercase().replace('/', "_"))
        .collect();
    format!("{}.yaml", parts.join("_"))
}

fn group_and_version(object: &Value) -> (&str, &str) {
    let api_version = text(&object["apiVersion"]);
    api_version.split_once('/').unwrap_or(("", api_version))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(api_version: &str, kind: &str, namespace: Option<&str>) -> Value {
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "It", "namespace": namespace}})
    }

    #[track_caller]
    fn check(objects: &[Value], expected: &[&str]) {
        let files = files(Path::new("out"), objects);
        let names: Vec<_> = files.keys().map(|path| path.display().to_string()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn files_are_named_after_version_kind_and_name() {
        let deployment = object("apps/v1", "Deployment", Some("a"));
        let role = object("rbac.authorization.k8s.io/v1", "ClusterRole", None);
        check(
            &[deployment, role],
            &[
                "out/apps_v1_deployment_it.yaml",
                "out/rbac.authorization.k8s.io_v1_clusterrole_it.yaml",
            ],
        );
    }

    #[test]
    fn where_there_are_several_namespaces_names_begin_with_them() {
        let [one, other] = [None, Some("b")].map(|namespace| object("v1", "Service", namespace));
        let namespace = object("v1", "Namespace", None);
        let old = object("rbac.authorization.k8s.io/v1beta1", "ClusterRole", None);
        check(
            &[one, other, namespace, old],
            &[
                "out/b_v1_service_it.yaml",
                "out/default_v1_service_it.yaml",
                "out/rbac.authorization.k8s.io_v1beta1_clusterrole_it.yaml",
                "out/v1_namespace_it.yaml",
            ],
        );
    }
}
