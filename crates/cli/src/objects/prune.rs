//! What was applied under the name of a package before and is no longer in it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    PACKAGE, Placed,
    delete::remove,
    discovery::{self, Resource},
    is_applied_here, order,
    telling::Telling,
};
use crate::jobs::{
    api::{ApiError, escaped},
    place::Cluster,
};

/// What may be taken away with a package.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Namespaces that the package has objects in.
    used: BTreeSet<String>,
    /// Namespaces that objects stay in.
    occupied: BTreeSet<String>,
    /// Also where the package has no object now.
    everywhere: bool,
}

impl Scope {
    /// Around objects that stay.
    pub(super) fn around(objects: &[Placed], everywhere: bool) -> Self {
        let used = namespaces(objects);
        Self {
            occupied: used.clone(),
            used,
            everywhere,
        }
    }

    /// Around objects that go.
    pub(super) fn after(objects: &[Placed], everywhere: bool) -> Self {
        Self {
            occupied: BTreeSet::new(),
            ..Self::around(objects, everywhere)
        }
    }
}

fn namespaces(objects: &[Placed]) -> BTreeSet<String> {
    let namespaces = objects.iter().filter_map(|placed| namespace(&placed.object));
    namespaces.map(str::to_owned).collect()
}

/// What is to be done with what is no longer in a package.
#[derive(Debug, Default)]
pub(super) struct Decision {
    /// What goes, in its order.
    pub(super) goes: Vec<Placed>,
    /// What stays, and why.
    pub(super) stays: Vec<(Placed, String)>,
}

/// Finds what is no longer in a package and decides what becomes of it.
pub(super) async fn plan(
    cluster: &Cluster,
    package: &str,
    objects: &[Placed],
    scope: &Scope,
) -> Result<Decision, ApiError> {
    let found = find(cluster, package, objects, scope).await?;
    let mut decision = decide(found, scope);
    keep_used_definitions(cluster, &mut decision).await?;
    Ok(decision)
}

/// Carries out a decision and tells of it. Whether the cluster refused something.
pub(super) async fn carry_out(
    cluster: &Cluster,
    decision: &Decision,
    dry_run: bool,
    telling: &mut Telling,
) -> Result<bool, ApiError> {
    let mut is_refused = false;
    for placed in &decision.goes {
        match remove(cluster, placed, dry_run).await {
            Ok(Some(_)) => telling.tell(placed, "pruned"),
            Ok(None) => {}
            Err(error @ ApiError::Refused { .. }) => {
                telling.refuse("", &placed.object, &format!("it is not pruned: {error}"), None);
                is_refused = true;
            }
            Err(error) => return Err(error),
        }
    }
    for (placed, why) in &decision.stays {
        eprintln!("note: {} is not pruned: {why}", placed.shown);
    }
    Ok(is_refused)
}

/// Everything with the label that was applied by us and is none of the objects.
async fn find(
    cluster: &Cluster,
    package: &str,
    objects: &[Placed],
    scope: &Scope,
) -> Result<Vec<Placed>, ApiError> {
    let selector = escaped(&format!("{PACKAGE}={package}"));
    let (resources, mut unseen) = discovery::all(cluster).await?;
    let mut found: Vec<Placed> = Vec::new();
    for resource in resources {
        let listed = match list(cluster, &resource, &selector, scope).await {
            Ok(listed) => listed,
            Err(error @ ApiError::Refused { .. }) => {
                unseen.push(format!("{}: {error}", resource.plural));
                continue;
            }
            Err(error) => return Err(error),
        };
        for object in listed {
            let is_it = |one: &Placed| one.object["metadata"]["uid"] == object["metadata"]["uid"];
            // Some objects are to be had from more than one group.
            if is_applied_here(&object) && !objects.iter().chain(&found).any(is_it) {
                found.push(placed(&resource, object));
            }
        }
    }
    for what in unseen {
        eprintln!("note: the cluster does not say what is to be pruned there: {what}");
    }
    Ok(found)
}

/// The objects of one kind in a package. Who may not ask for those of all namespaces asks for those in the package's.
async fn list(
    cluster: &Cluster,
    resource: &Resource,
    selector: &str,
    scope: &Scope,
) -> Result<Vec<Value>, ApiError> {
    let path = |namespace| format!("{}?labelSelector={selector}", resource.path(namespace, None));
    match cluster.api.list(&path(None)).await {
        Err(error) if error.is_forbidden() && resource.namespaced && !scope.used.is_empty() => {
            let mut all = Vec::new();
            for namespace in &scope.used {
                let listed = cluster.api.list(&path(Some(namespace))).await?;
                all.extend(listed.unwrap_or_default());
            }
            Ok(all)
        }
        listed => Ok(listed?.unwrap_or_default()),
    }
}

fn placed(resource: &Resource, mut object: Value) -> Placed {
    // Lists do not repeat it in their items.
    object["apiVersion"] = resource.api_version.as_str().into();
    object["kind"] = resource.kind.as_str().into();
    let name = name(&object);
    Placed {
        shown: resource.shown(name),
        path: resource.path(namespace(&object), Some(name)),
        object,
    }
}

/// What goes and what stays. Two teams may have given their packages one name: objects in namespaces that this one
/// does not use may be the other's, and then so may be those in no namespace.
fn decide(found: Vec<Placed>, scope: &Scope) -> Decision {
    let elsewhere: BTreeSet<String> = namespaces(&found).difference(&scope.used).cloned().collect();
    let mut decision = Decision::default();
    for placed in found {
        match reason_to_stay(&placed.object, scope, &elsewhere) {
            Some(why) => decision.stays.push((placed, why)),
            None => decision.goes.push(placed),
        }
    }
    // What others need goes last.
    decision
        .goes
        .sort_by_key(|placed| std::cmp::Reverse(order::rank(&placed.object)));
    decision
}

fn reason_to_stay(object: &Value, scope: &Scope, elsewhere: &BTreeSet<String>) -> Option<String> {
    if object["kind"] == "Namespace" && scope.occupied.contains(name(object)) {
        return Some("objects of the package are in it".to_owned());
    }
    if scope.everywhere {
        return None;
    }
    let other = match namespace(object) {
        Some(namespace) => elsewhere.get(namespace),
        None => elsewhere.first(),
    }?;
    Some(format!(
        "a package of this name has objects in namespace `{other}`, where this one has none; `--all-namespaces` prunes there too"
    ))
}

/// With a definition go all objects of its kind, whoever has made them.
async fn keep_used_definitions(cluster: &Cluster, decision: &mut Decision) -> Result<(), ApiError> {
    let goes = std::mem::take(&mut decision.goes);
    let uids: BTreeSet<String> = goes.iter().map(|placed| uid(&placed.object)).collect();
    for placed in goes {
        let user = match collection(&placed.object) {
            None => None,
            Some(path) => {
                let objects = cluster.api.list(&path).await?.unwrap_or_default();
                let is_going = |object: &&Value| {
                    uids.contains(&uid(object)) || object["metadata"]["deletionTimestamp"].is_string()
                };
                let user = objects.iter().find(|object| !is_going(object));
                user.map(|object| name(object).to_owned())
            }
        };
        match user {
            Some(user) => {
                let why = format!("there are objects of its kind, such as `{user}`");
                decision.stays.push((placed, why));
            }
            None => decision.goes.push(placed),
        }
    }
    Ok(())
}

/// Where the objects of a definition are; none of what is no definition.
fn collection(object: &Value) -> Option<String> {
    let spec = &object["spec"];
    let mut versions = spec["versions"].as_array()?.iter();
    let served = versions.find(|version| version["served"] == true)?;
    (object["kind"] == "CustomResourceDefinition").then_some(())?;
    Some(format!(
        "/apis/{}/{}/{}",
        escaped(spec["group"].as_str()?),
        escaped(served["name"].as_str()?),
        escaped(spec["names"]["plural"].as_str()?)
    ))
}

fn namespace(object: &Value) -> Option<&str> {
    object["metadata"]["namespace"].as_str()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: &str, namespace: Option<&str>, name: &str) -> Placed {
        Placed {
            shown: format!("{}/{name}", kind.to_lowercase()),
            path: String::new(),
            object: json!({"kind": kind, "metadata": {"name": name, "namespace": namespace}}),
        }
    }

    fn shown(decision: &Decision) -> (String, String) {
        let goes = decision.goes.iter().map(|placed| placed.shown.clone());
        let stays = decision.stays.iter().map(|(placed, _)| placed.shown.clone());
        (
            goes.collect::<Vec<_>>().join(" "),
            stays.collect::<Vec<_>>().join(" "),
        )
    }

    #[test]
    fn what_others_need_is_pruned_last() {
        let found = vec![
            object("Namespace", None, "old"),
            object("ConfigMap", Some("lab"), "settings"),
            object("Deployment", Some("lab"), "trainer"),
        ];
        let scope = Scope::around(&[object("Service", Some("lab"), "kept")], false);
        let (goes, stays) = shown(&decide(found, &scope));
        assert_eq!(goes, "deployment/trainer configmap/settings namespace/old");
        assert_eq!(stays, "");
    }

    #[test]
    fn a_namespace_that_the_package_is_in_stays() {
        let kept = [object("Service", Some("lab"), "kept")];
        let found = || vec![object("Namespace", None, "lab")];
        for everywhere in [false, true] {
            let (goes, stays) = shown(&decide(found(), &Scope::around(&kept, everywhere)));
            assert_eq!((goes.as_str(), stays.as_str()), ("", "namespace/lab"));
            let (goes, _) = shown(&decide(found(), &Scope::after(&kept, everywhere)));
            assert_eq!(goes, "namespace/lab", "with the package it goes");
        }
    }

    #[test]
    fn another_package_of_the_same_name_is_left_alone() {
        let found = || {
            vec![
                object("ConfigMap", Some("team-a"), "theirs"),
                object("ConfigMap", Some("team-b"), "ours"),
                object("ClusterRole", None, "whose"),
            ]
        };
        let kept = [object("Service", Some("team-b"), "kept")];
        let (goes, stays) = shown(&decide(found(), &Scope::around(&kept, false)));
        assert_eq!(goes, "configmap/ours");
        assert_eq!(stays, "configmap/theirs clusterrole/whose");
        let (goes, _) = shown(&decide(found(), &Scope::around(&kept, true)));
        assert_eq!(goes, "configmap/theirs configmap/ours clusterrole/whose");
    }
}
