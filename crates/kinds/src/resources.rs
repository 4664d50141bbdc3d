//! The built-in resources: how each kind is named, where it lives and what may be done with it.
//!
//! Read once from the committed table `tables/resources.txt`, in the order of discovery.

mod table;

use std::sync::LazyLock;

use crate::types::{self, TypeRef};

/// Every built-in resource, group by group. The first version of a group is the preferred one.
pub static RESOURCES: LazyLock<&'static [Resource]> = LazyLock::new(|| {
    let resources = table::read(table::TEXT).expect("the committed table of resources is well formed");
    Vec::leak(resources)
});

/// A version of a group that is served, and how discovery ranks it.
#[derive(Clone, Copy, Debug)]
pub struct GroupVersion {
    /// Empty for the core group.
    pub group: &'static str,
    pub version: &'static str,
    pub rank: Rank,
}

/// Groups and their versions are listed by rank, the highest first.
#[derive(Clone, Copy, Debug)]
pub struct Rank {
    pub group: i64,
    pub version: i64,
}

/// Every built-in version of a group but that of the APIServices themselves, which have no rank.
pub fn ranked_versions() -> impl Iterator<Item = GroupVersion> {
    table::ranked(table::TEXT)
}

/// One resource of one version of a group.
#[derive(Debug)]
pub struct Resource {
    /// Empty for the core group.
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    pub singular: &'static str,
    pub namespaced: bool,
    pub short_names: &'static [&'static str],
    pub categories: &'static [&'static str],
    pub verbs: &'static [&'static str],
    /// The OpenAPI name of the kind's type, for [`crate::types::by_name`].
    pub type_name: &'static str,
    /// An update need not name the version it was made from.
    pub allow_unconditional_update: bool,
    /// An update of a missing object creates it.
    pub allow_create_on_update: bool,
    pub subresources: &'static [Subresource],
}

/// A part of a resource with its own path.
#[derive(Debug)]
pub struct Subresource {
    pub name: &'static str,
    /// The kind of the bodies, which may be of another group than the parent.
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub verbs: &'static [&'static str],
    /// The OpenAPI name of the body's type; kinds that are only query parameters have no type.
    pub type_name: &'static str,
}

/// The resource at a path: `("apps", "v1", "deployments")`.
pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    RESOURCES
        .iter()
        .find(|it| it.plural == plural && it.group == group && it.version == version)
}

/// The resource that holds objects of a kind.
pub fn of_kind(group: &str, version: &str, kind: &str) -> Option<&'static Resource> {
    RESOURCES
        .iter()
        .find(|it| it.kind == kind && it.group == group && it.version == version)
}

/// The type of a kind that may be a request's body: `("apps/v1", "Deployment")`. Kinds that every
/// group shares (`DeleteOptions`, `Status`, ...) are found under any version.
pub fn type_of(api_version: &str, kind: &str) -> Option<TypeRef> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let sibling = RESOURCES
        .iter()
        .find(|it| it.group == group && it.version == version);
    let package = sibling.and_then(|it| it.type_name.strip_suffix(it.kind));
    package
        .and_then(|package| types::by_name(&format!("{package}{kind}")))
        .or_else(|| types::by_name(&format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}")))
}

impl Resource {
    pub fn subresource(&self, name: &str) -> Option<&'static Subresource> {
        self.subresources.iter().find(|it| it.name == name)
    }

    /// `v1`, `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            return self.version.to_owned();
        }
        format!("{}/{}", self.group, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stored_kind_has_a_type() {
        for resource in *RESOURCES {
            assert!(
                types::by_name(resource.type_name).is_some(),
                "{}",
                resource.type_name
            );
            for part in resource
                .subresources
                .iter()
                .filter(|part| !part.kind.ends_with("Options"))
            {
                assert!(types::by_name(part.type_name).is_some(), "{}", part.type_name);
            }
        }
    }

    #[test]
    fn the_rank_of_a_group_is_that_of_its_discovery() {
        let ranks: Vec<i64> = ranked_versions().map(|version| version.rank.group).collect();
        assert_eq!(ranks.len(), 21);
        assert_eq!(ranks.first(), Some(&18000));
        assert_eq!(ranks.iter().min(), Some(&16100));
    }

    #[test]
    fn a_resource_is_found_by_its_path_and_by_its_kind() {
        let deployments = find("apps", "v1", "deployments").unwrap();
        assert_eq!(deployments.singular, "deployment");
        assert_eq!(deployments.short_names, ["deploy"]);
        assert_eq!(deployments.categories, ["all"]);
        assert!(deployments.namespaced && deployments.allow_unconditional_update);
        assert_eq!(deployments.verbs.len(), 8);
        let scale = deployments.subresource("scale").unwrap();
        assert_eq!(
            (scale.group, scale.version, scale.kind),
            ("autoscaling", "v1", "Scale")
        );
        assert_eq!(scale.verbs, ["get", "patch", "update"]);
        assert_eq!(of_kind("", "v1", "Endpoints").unwrap().plural, "endpoints");
        assert!(find("apps", "v1", "pods").is_none());
    }

    #[test]
    fn eviction_and_tokens_are_kinds_of_other_groups() {
        let eviction = find("", "v1", "pods").unwrap().subresource("eviction").unwrap();
        assert_eq!(eviction.type_name, "io.k8s.api.policy.v1.Eviction");
        let token = find("", "v1", "serviceaccounts")
            .unwrap()
            .subresource("token")
            .unwrap();
        assert_eq!(token.type_name, "io.k8s.api.authentication.v1.TokenRequest");
    }
}
