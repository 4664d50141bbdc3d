//! Which group, version and kind a published type is: `x-kubernetes-group-version-kind`.

use serde_json::{Value, json};

use super::KindDoc;
use crate::{resources::RESOURCES, types::Struct};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The kinds a struct is, if it is one: an object, a list, or one of the types all groups share.
pub(super) fn of_struct(described: &Struct) -> Option<Value> {
    let name = described.full_name();
    let (package, kind) = name.rsplit_once('.')?;
    if package == META {
        return of_shared(kind);
    }
    let is_kind = ["apiVersion", "kind", "metadata"]
        .iter()
        .all(|field| described.field(field).is_some());
    let (group, version) = is_kind.then(|| group_version(package))??;
    Some(json!([KindDoc { group, version, kind }.to_value()]))
}

impl KindDoc<'_> {
    pub(super) fn to_value(self) -> Value {
        json!({"group": self.group, "version": self.version, "kind": self.kind})
    }
}

/// The group version whose types are in a package.
fn group_version(package: &str) -> Option<(&'static str, &'static str)> {
    let is_here = |name: &str| name.rsplit_once('.').is_some_and(|(it, _)| it == package);
    RESOURCES.iter().find_map(|resource| {
        let own = is_here(resource.type_name).then_some((resource.group, resource.version));
        own.or_else(|| {
            let part = resource
                .subresources
                .iter()
                .find(|part| is_here(part.type_name))?;
            Some((part.group, part.version))
        })
    })
}

/// The kinds of the package of shared types.
fn of_shared(kind: &str) -> Option<Value> {
    match kind {
        "Status" | "APIGroup" | "APIGroupList" | "APIResourceList" | "APIVersions" => {
            Some(json!([KindDoc {
                group: "",
                version: "v1",
                kind
            }
            .to_value()]))
        }
        // A kind of every group version, since any of them may be deleted from.
        "DeleteOptions" => Some(of_every_group_version(kind)),
        _ => None,
    }
}

fn of_every_group_version(kind: &str) -> Value {
    let mut group_versions: Vec<_> = RESOURCES.iter().map(|it| (it.group, it.version)).collect();
    group_versions.sort_unstable();
    group_versions.dedup();
    group_versions
        .into_iter()
        .map(|(group, version)| KindDoc { group, version, kind }.to_value())
        .collect()
}
