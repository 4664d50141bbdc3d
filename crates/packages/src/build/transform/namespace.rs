//! Puts every object that may have one into a namespace, and gives Namespaces that name.

use std::collections::HashMap;

use super::Transformer;
use crate::build::{
    field_spec::{Create, FieldSpec, set_scalar},
    identity::Gvk,
    node::{Content, Node, Scalar, Tag},
    problem::{Outcome, Problem},
    resource::Resource,
    resources::Resources,
    session::Session,
};

pub(in super::super) struct Namespace {
    pub(in super::super) namespace: String,
    pub(in super::super) field_specs: Vec<FieldSpec>,
    /// Leaves what has a namespace where it is.
    pub(in super::super) unset_only: bool,
    pub(in super::super) subjects: Subjects,
}

/// Which subjects of role bindings get the namespace too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Subjects {
    /// Those named `default`; others follow the names of their accounts.
    #[default]
    Default,
    ServiceAccounts,
    None,
}

type Key = (String, String, String, String, String);

impl Transformer for Namespace {
    fn transform(&self, resources: &mut Resources, session: &Session<'_>) -> Outcome {
        if self.namespace.is_empty() {
            return Ok(());
        }
        let resources = resources.rename();
        let mut counts: HashMap<Key, usize> = HashMap::new();
        for resource in resources.iter() {
            *counts.entry(key(resource)).or_default() += 1;
        }
        for resource in resources {
            if let Some(count) = counts.get_mut(&key(resource)) {
                *count -= 1;
            }
            resource.store_id();
            self.apply(resource)?;
            resource.look_up_scope(&mut session.schemas());
            let count = counts.entry(key(resource)).or_default();
            *count += 1;
            if *count != 1 {
                return Err(Problem::new(format!(
                    "in the namespace `{}` there would be two of {}",
                    self.namespace,
                    resource.id()
                ))
                .at(resource.node.at)
                .help("rename one of them"));
            }
        }
        Ok(())
    }
}

fn key(resource: &Resource) -> Key {
    let id = resource.id();
    let texts = [id.group, id.version, id.kind, id.name, id.effective_namespace()];
    let [group, version, kind, name, namespace] = texts.map(str::to_owned);
    (group, version, kind, name, namespace)
}

impl Namespace {
    pub(super) fn apply(&self, resource: &mut Resource) -> Outcome {
        let api_version = resource.api_version().to_owned();
        if !resource.is_cluster_scoped {
            let spec = FieldSpec::new(Gvk::default(), "metadata/namespace", true);
            spec.apply(&mut resource.node, Create::Scalar, &mut |node| self.set(node))?;
        }
        let is_binding = matches!(resource.kind(), "RoleBinding" | "ClusterRoleBinding");
        if is_binding {
            self.set_subjects(&mut resource.node)?;
        }
        for spec in &self.field_specs {
            let is_done = spec.path == "metadata/namespace"
                || (spec.path == "metadata/name" && api_version != "v1")
                || (is_binding
                    && spec.path == "subjects/namespace"
                    && matches!(spec.gvk.kind.as_str(), "RoleBinding" | "ClusterRoleBinding"));
            if !is_done {
                spec.apply(&mut resource.node, Create::Scalar, &mut |node| self.set(node))?;
            }
        }
        Ok(())
    }

    fn set(&self, node: &mut Node) -> Outcome {
        if self.unset_only && !node.value_text().is_empty() {
            return Ok(());
        }
        set_scalar(node, Scalar::new(&self.namespace, Tag::Text))
    }

    fn set_subjects(&self, node: &mut Node) -> Outcome {
        let (field, wanted) = match self.subjects {
            Subjects::None => return Ok(()),
            Subjects::Default => ("name", "default"),
            Subjects::ServiceAccounts => ("kind", "ServiceAccount"),
        };
        let Some(subjects) = node.get_mut("subjects").filter(|subjects| !subjects.is_null()) else {
            return Ok(());
        };
        let (at, shape) = (subjects.at, subjects.shape());
        let Content::List(subjects) = &mut subjects.content else {
            return Err(Problem::new(format!("the subjects are {shape}, not a list")).at(at));
        };
        for subject in subjects {
            let (at, shape, is_null) = (subject.at, subject.shape(), subject.is_null());
            let Some(map) = subject.as_map_mut() else {
                if is_null {
                    continue;
                }
                return Err(Problem::new(format!("a subject is {shape}, not a map")).at(at));
            };
            if map.get(field).is_some_and(|node| node.value_text() == wanted) {
                self.set(map.get_or_insert("namespace", || Node::bare("")))?;
            }
        }
        Ok(())
    }
}
