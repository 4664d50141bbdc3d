//! The pod under inspection, and the ways the checks look at it.

use serde_json::Value;

use super::{policy::Version, wording};
use crate::read::{at, get, list, text};

/// A pod or the template of one, and the version of the standards it is held to.
pub(super) struct Subject<'a> {
    pub(super) metadata: &'a Value,
    pub(super) spec: &'a Value,
    pub(super) version: Version,
}

impl<'a> Subject<'a> {
    /// All containers: those that run before, beside and after the main ones included.
    pub(super) fn containers(&self) -> impl Iterator<Item = &'a Value> {
        ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(|key| list(self.spec, key))
    }

    /// The names of the containers about which something holds.
    pub(super) fn containers_where(&self, holds: impl Fn(&Value) -> bool) -> Vec<&'a str> {
        self.containers()
            .filter(|container| holds(container))
            .map(|container| text(container, "name"))
            .collect()
    }

    /// Who sets a field of its security context to something that is not fine: the pod, containers.
    pub(super) fn setters(&self, path: &[&str], is_bad: impl Fn(&Value) -> bool) -> Vec<String> {
        let bad = |holder: &Value| is_bad(in_context(holder, path));
        let pod = bad(self.spec).then(|| "pod".to_owned());
        let containers = self.containers_where(bad);
        pod.into_iter()
            .chain((!containers.is_empty()).then(|| wording::containers(&containers)))
            .collect()
    }

    /// What the pod and its containers have in a field of their security contexts.
    pub(super) fn values(&self, path: &[&str]) -> impl Iterator<Item = &'a Value> {
        std::iter::once(self.spec)
            .chain(self.containers())
            .map(move |holder| in_context(holder, path))
    }

    pub(super) fn is_windows(&self) -> bool {
        at(self.spec, &["os", "name"]) == "windows"
    }

    /// Since 1.25 some rules leave pods alone that say they are for Windows.
    pub(super) fn is_exempt_windows(&self) -> bool {
        self.version >= Version::Minor(25) && self.is_windows()
    }
}

/// A field of the security context of a pod or container.
pub(super) fn in_context<'a>(holder: &'a Value, path: &[&str]) -> &'a Value {
    at(get(holder, "securityContext"), path)
}
