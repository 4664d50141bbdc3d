//! What a cache goes by.

use kube::{Resource, ResourceExt as _};

/// An object that can be kept in a cache. Objects of Kubernetes can; engines that need little of them keep
/// smaller ones of their own.
pub trait Cached {
    /// Empty for what belongs to the whole cluster.
    fn namespace(&self) -> &str;

    fn name(&self) -> &str;

    fn uid(&self) -> &str;

    /// Versions of one kind grow; that is what a watch is ordered by.
    fn version(&self) -> u64;

    fn controller(&self) -> Option<Controller<'_>>;

    /// Lets go of what nobody who plans reads.
    fn trim(&mut self);
}

/// The object that controls another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controller<'a> {
    pub kind: &'a str,
    pub name: &'a str,
    pub uid: &'a str,
}

impl<K: Resource> Cached for K {
    fn namespace(&self) -> &str {
        self.meta().namespace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        let meta = self.meta();
        let name = meta.name.as_deref().or(meta.generate_name.as_deref());
        name.unwrap_or_default()
    }

    fn uid(&self) -> &str {
        self.meta().uid.as_deref().unwrap_or_default()
    }

    fn version(&self) -> u64 {
        let version = self.meta().resource_version.as_deref();
        version
            .and_then(|version| version.parse().ok())
            .unwrap_or_default()
    }

    fn controller(&self) -> Option<Controller<'_>> {
        let owners = self.meta().owner_references.as_ref()?;
        let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
        Some(Controller {
            kind: &owner.kind,
            name: &owner.name,
            uid: &owner.uid,
        })
    }

    /// The fields each writer owns are half of an object.
    fn trim(&mut self) {
        self.managed_fields_mut().clear();
    }
}
