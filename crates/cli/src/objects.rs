//! `trainyard apply`, `delete` and `diff`: objects of packages and files, on any cluster.

mod apply;
mod delete;
mod diff;
mod discovery;
mod order;
mod prune;
mod readiness;
mod sources;
mod telling;
mod wait;

pub(crate) use apply::{Arguments as ApplyArguments, run as apply};
pub(crate) use delete::{Arguments as DeleteArguments, run as delete};
pub(crate) use diff::{Arguments as DiffArguments, run as diff};

use anyhow::Result;
use serde_json::Value;

use crate::{
    advised,
    jobs::{
        api::ApiError,
        place::{Cluster, Place},
    },
};
use discovery::Discovery;
use sources::Object;

/// Who the fields belong to that are applied here.
const MANAGER: &str = "trainyard";

/// How often an object is looked at once more, because somebody has changed it since it was looked at: their change is
/// not to be told as ours.
const TRIES: usize = 4;
/// Which package an object was applied with.
const PACKAGE: &str = "trainyard.dev/package";

/// An object, and where it is on the cluster.
#[derive(Clone, Debug)]
struct Placed {
    /// `deployment.apps/trainer`
    shown: String,
    path: String,
    object: Value,
}

/// The option that says which package objects belong to.
#[derive(Clone, Debug, clap::Args)]
struct Label {
    /// The name of the package, which its objects get as a label
    #[arg(long, value_name = "NAME", value_parser = label_value)]
    package: Option<String>,
}

impl Label {
    /// Puts the label on an object. One that is applied without a name stays in the package it is in, which would
    /// otherwise never know that it is to be pruned.
    fn put_on(&self, object: &mut Value, live: Option<&Value>) {
        let package = match &self.package {
            Some(package) => Some(package.as_str()),
            None if object["metadata"]["labels"][PACKAGE].is_string() => None,
            None => live.and_then(package_of),
        };
        let Some(package) = package else {
            return;
        };
        let labels = &mut object["metadata"]["labels"];
        // Labels that are none are for the cluster to refuse.
        if labels.is_null() || labels.is_object() {
            labels[PACKAGE] = package.into();
        }
    }

    /// The other package that an object belongs to.
    fn rival<'o>(&self, live: &'o Value) -> Option<&'o str> {
        let package = self.package.as_deref()?;
        package_of(live).filter(|other| *other != package)
    }
}

/// An object is applied to what was seen of it, or not at all. Which version it is for may be said by itself already.
fn pin(object: &mut Value, seen: &Value) {
    if !is_for_one_version(object)
        && let Some(version) = seen["metadata"]["resourceVersion"].as_str()
    {
        object["metadata"]["resourceVersion"] = version.into();
    }
}

/// How often an object may be looked at once more. Whoever says which version they mean wants to know that it is
/// another by now.
fn tries(object: &Value) -> usize {
    if is_for_one_version(object) { 0 } else { TRIES }
}

fn is_for_one_version(object: &Value) -> bool {
    !object["metadata"]["resourceVersion"].is_null()
}

/// The package that an object was applied with.
fn package_of(object: &Value) -> Option<&str> {
    let package = object["metadata"]["labels"][PACKAGE].as_str();
    package.filter(|_| is_applied_here(object))
}

/// Controllers copy labels from one object to others; those nobody has applied.
fn is_applied_here(object: &Value) -> bool {
    let managers = object["metadata"]["managedFields"].as_array();
    let mut managers = managers.into_iter().flatten();
    managers.any(|entry| entry["manager"] == MANAGER && entry["operation"] == "Apply")
}

fn label_value(text: &str) -> Result<String, String> {
    let errors = manifests::names::label_value(text);
    match text {
        "" => Err("it is empty".to_owned()),
        _ if errors.is_empty() => Ok(text.to_owned()),
        _ => Err(errors.join("; ")),
    }
}

/// The options that say how long to wait.
#[derive(Clone, Copy, Debug, clap::Args)]
struct Patience {
    /// The longest to wait, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300, requires = "wait")]
    timeout: u64,
}

/// Where an object is. Not there yet is a kind whose definition is applied first.
async fn place(
    cluster: &Cluster,
    discovery: &mut Discovery,
    object: &Object,
) -> Result<Option<Placed>, ApiError> {
    let Some(resource) = discovery.of(cluster, &object.value).await? else {
        return Ok(None);
    };
    let mut value = object.value.clone();
    let own = value["metadata"]["namespace"].as_str().map(str::to_owned);
    let namespace = resource
        .namespaced
        .then(|| own.unwrap_or_else(|| cluster.namespace.clone()));
    if let Some(metadata) = value["metadata"].as_object_mut() {
        // Whoever exported an object means what it says, not who owned its fields.
        metadata.remove("managedFields");
    }
    if let Some(namespace) = &namespace {
        value["metadata"]["namespace"] = namespace.as_str().into();
    }
    let name = value["metadata"]["name"].as_str().unwrap_or_default();
    Ok(Some(Placed {
        shown: resource.shown(name),
        path: resource.path(namespace.as_deref(), Some(name)),
        object: value,
    }))
}

/// Whoever names a namespace does not mean objects of others.
fn check_namespace(place: &Place, objects: &[Object]) -> Result<()> {
    let Some(wanted) = place.named_namespace() else {
        return Ok(());
    };
    for object in objects {
        if let Some(own) = object.value["metadata"]["namespace"].as_str()
            && own != wanted
        {
            return Err(advised(
                format!(
                    "{}: {} is in namespace `{own}`, not in `{wanted}`",
                    object.source,
                    object.named()
                ),
                "leave `-n` out, or `trainyard pkg edit set namespace` changes that of a package",
            ));
        }
    }
    Ok(())
}

/// Whether the definition of an object's kind is among the objects.
fn has_definition(objects: &[Object], object: &Object) -> bool {
    let version = object.value["apiVersion"].as_str().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    objects.iter().any(|other| {
        other.value["kind"] == "CustomResourceDefinition"
            && other.value["spec"]["group"] == group
            && other.value["spec"]["names"]["kind"] == object.value["kind"]
    })
}

/// Whether the namespace of an object is among the objects.
fn has_namespace(objects: &[Object], object: &Value) -> bool {
    let namespace = &object["metadata"]["namespace"];
    objects
        .iter()
        .any(|other| other.value["kind"] == "Namespace" && other.value["metadata"]["name"] == *namespace)
}

/// What kubectl says of a kind that the cluster does not know.
fn unknown_kind(object: &Object) -> String {
    let (kind, version) = (&object.value["kind"], &object.value["apiVersion"]);
    format!("no matches for kind {kind} in version {version}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_for_the_version_that_was_seen_or_for_the_one_it_names() {
        let seen = json!({"metadata": {"resourceVersion": "7"}});
        for unnamed in [json!({}), json!({"metadata": {"resourceVersion": null}})] {
            let mut object = unnamed;
            assert_eq!(tries(&object), TRIES);
            pin(&mut object, &seen);
            assert_eq!(object, seen);
        }
        let named = json!({"metadata": {"resourceVersion": "5"}});
        let mut object = named.clone();
        assert_eq!(tries(&object), 0);
        pin(&mut object, &seen);
        assert_eq!(object, named);
    }
}
