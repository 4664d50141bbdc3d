//! Who may do what: role-based access control over the stored roles and bindings.
//!
//! The rules are compiled once and again whenever a role or binding changes, so that a decision is a
//! walk over a few small vectors.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use serde_json::Value;
use store::{Collection, Store};

use crate::{
    authentication::User,
    error::{ApiError, Qualified},
    object,
    request_info::{RequestInfo, ResourceRequest},
    tokens,
};

const GROUP: &str = "rbac.authorization.k8s.io";

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Attributes<'a> {
    Resource {
        verb: &'a str,
        group: &'a str,
        resource: &'a str,
        subresource: &'a str,
        namespace: &'a str,
        name: &'a str,
    },
    Path {
        verb: &'a str,
        path: &'a str,
    },
}

impl<'a> From<&'a RequestInfo> for Attributes<'a> {
    fn from(info: &'a RequestInfo) -> Self {
        match info {
            RequestInfo::Resource(request) => Self::from(request),
            RequestInfo::NonResource { path, verb } => Self::Path { verb, path },
        }
    }
}

impl<'a> From<&'a ResourceRequest> for Attributes<'a> {
    fn from(request: &'a ResourceRequest) -> Self {
        Self::Resource {
            verb: request.verb,
            group: &request.group,
            resource: &request.resource,
            subresource: &request.subresource,
            namespace: &request.namespace,
            name: request.only_name(),
        }
    }
}

/// Evaluates roles; owned by the API, rebuilt from the store when it has changed.
pub struct Authorizer {
    collections: [Collection; 4],
    compiled: RwLock<Arc<Compiled>>,
}

#[derive(Default)]
struct Compiled {
    /// The newest revision of the collections this was made from.
    revision: u64,
    bindings: Vec<Binding>,
}

struct Binding {
    subjects: Vec<Subject>,
    /// Empty for cluster-wide bindings.
    namespace: String,
    rules: Arc<Vec<Rule>>,
    /// How the binding is named when a review explains its answer.
    reason: String,
}

/// Somebody who has the rights of a binding.
struct Subject {
    who: Who,
    /// How the subject is named when a review explains its answer.
    shown: String,
}

enum Who {
    User(String),
    Group(String),
}

/// What a role allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) names: Vec<String>,
    pub(crate) paths: Vec<String>,
}

impl Authorizer {
    pub fn new() -> Self {
        let collections = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"]
            .map(|plural| Collection::new(GROUP, plural));
        Self {
            collections,
            compiled: RwLock::default(),
        }
    }

    /// Why the user may do it, if they may.
    pub fn allowed(&self, store: &Store, user: &User, attributes: Attributes<'_>) -> Option<String> {
        if user.is_master() {
            return Some(String::new());
        }
        let compiled = self.compiled(store);
        let namespace = match attributes {
            Attributes::Resource { namespace, .. } => namespace,
            Attributes::Path { .. } => "",
        };
        compiled
            .bindings
            .iter()
            .filter(|binding| binding.namespace.is_empty() || binding.namespace == namespace)
            .filter_map(|binding| Some((binding, binding.subject(user)?)))
            .find(|(binding, _)| binding.rules.iter().any(|rule| rule.allows(attributes)))
            .map(|(binding, subject)| format!("RBAC: allowed by {} to {}", binding.reason, subject.shown))
    }

    /// Every rule that applies to the user in a namespace, for `kubectl auth can-i --list`.
    pub fn rules_for(&self, store: &Store, user: &User, namespace: &str) -> (Vec<Value>, Vec<Value>) {
        let compiled = self.compiled(store);
        let mut resource_rules = Vec::new();
        let mut path_rules = Vec::new();
        if user.is_master() {
            resource_rules
                .push(serde_json::json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }));
            path_rules.push(serde_json::json!({ "verbs": ["*"], "nonResourceURLs": ["*"] }));
        }
        for binding in &compiled.bindings {
            if !(binding.namespace.is_empty() || binding.namespace == namespace)
                || binding.subject(user).is_none()
            {
                continue;
            }
            for rule in binding.rules.iter() {
                if rule.paths.is_empty() {
                    let mut shown = serde_json::json!({
                        "verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources,
                    });
                    if !rule.names.is_empty() {
                        shown["resourceNames"] = serde_json::json!(rule.names);
                    }
                    resource_rules.push(shown);
                } else {
                    path_rules
                        .push(serde_json::json!({ "verbs": rule.verbs, "nonResourceURLs": rule.paths }));
                }
            }
        }
        (resource_rules, path_rules)
    }

    fn compiled(&self, store: &Store) -> Arc<Compiled> {
        let revision = self
            .collections
            .iter()
            .map(|c| store.last_change(c))
            .max()
            .unwrap_or_default();
        {
            let compiled = self.compiled.read();
            if compiled.revision >= revision && revision > 0 {
                return compiled.clone();
            }
        }
        let fresh = Arc::new(compile(store, &self.collections, revision));
        *self.compiled.write() = fresh.clone();
        fresh
    }
}

impl Default for Authorizer {
    fn default() -> Self {
        Self::new()
    }
}

/// The error of a denied request, in the real server's words.
pub(crate) fn denied(user: &User, attributes: Attributes<'_>) -> ApiError {
    match attributes {
        Attributes::Path { verb, path } => {
            let why = format!("User \"{}\" cannot {verb} path \"{path}\"", user.name);
            let mut error = ApiError::forbidden(Qualified { group: "", name: "" }, "", &why);
            error.message = format!("forbidden: {why}");
            error.details = Some(serde_json::json!({}));
            error
        }
        Attributes::Resource {
            verb,
            group,
            resource,
            subresource,
            namespace,
            name,
        } => {
            let full = if subresource.is_empty() {
                resource.to_owned()
            } else {
                format!("{resource}/{subresource}")
            };
            let place = if namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace \"{namespace}\"")
            };
            let why = format!(
                "User \"{}\" cannot {verb} resource \"{full}\" in API group \"{group}\" {place}",
                user.name
            );
            ApiError::forbidden(
                Qualified {
                    group,
                    name: resource,
                },
                name,
                &why,
            )
        }
    }
}

fn compile(store: &Store, collections: &[Collection; 4], revision: u64) -> Compiled {
    let [cluster_roles, cluster_bindings, roles, bindings] = collections;
    let roles = Roles::read(&all(store, cluster_roles), &all(store, roles));
    let of_kind = |collection, kind| {
        let bindings = all(store, collection);
        let read = |binding| Binding::read(binding, kind, &roles);
        bindings.iter().filter_map(read).collect::<Vec<_>>()
    };
    let mut compiled = of_kind(cluster_bindings, "ClusterRoleBinding");
    compiled.extend(of_kind(bindings, "RoleBinding"));
    Compiled {
        revision,
        bindings: compiled,
    }
}

fn all(store: &Store, collection: &Collection) -> Vec<Value> {
    let objects = store.list(collection, None, None, None).items;
    objects
        .iter()
        .filter_map(|object| serde_json::from_slice(object.json()).ok())
        .collect()
}

/// What every role allows, by namespace and name. Cluster roles are in none.
struct Roles(HashMap<(String, String), Arc<Vec<Rule>>>);

impl Roles {
    fn read(cluster_roles: &[Value], roles: &[Value]) -> Self {
        let named = |role: &Value| {
            let name = (object::namespace(role).to_owned(), object::name(role).to_owned());
            let rules = kinds::read::list(role, "rules").iter().map(Rule::read);
            (name, Arc::new(rules.collect()))
        };
        Self(cluster_roles.iter().chain(roles).map(named).collect())
    }

    fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Vec<Rule>>> {
        self.0.get(&(namespace.to_owned(), name.to_owned()))
    }
}

impl Binding {
    /// A binding of a role that is there.
    fn read(binding: &Value, kind: &str, roles: &Roles) -> Option<Self> {
        let (namespace, name) = (object::namespace(binding), object::name(binding));
        let role = kinds::read::get(binding, "roleRef");
        let (role_kind, role_name) = (kinds::read::text(role, "kind"), kinds::read::text(role, "name"));
        let role_namespace = if role_kind == "ClusterRole" { "" } else { namespace };
        let rules = roles.get(role_namespace, role_name)?;
        let subjects = kinds::read::list(binding, "subjects").iter();
        let named = if namespace.is_empty() {
            name.to_owned()
        } else {
            format!("{name}/{namespace}")
        };
        Some(Self {
            subjects: subjects
                .filter_map(|subject| Subject::read(subject, namespace))
                .collect(),
            namespace: namespace.to_owned(),
            rules: rules.clone(),
            reason: format!("{kind} \"{named}\" of {role_kind} \"{role_name}\""),
        })
    }

    /// As whom the user has the rights of this binding.
    fn subject(&self, user: &User) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.who.is(user))
    }
}

impl Subject {
    fn read(subject: &Value, binding_namespace: &str) -> Option<Self> {
        let (kind, name) = (
            kinds::read::text(subject, "kind"),
            kinds::read::text(subject, "name"),
        );
        let mut shown = format!("{kind} \"{name}\"");
        let who = match kind {
            "User" => Who::User(name.to_owned()),
            "Group" => Who::Group(name.to_owned()),
            "ServiceAccount" => {
                let namespace = kinds::read::text(subject, "namespace");
                let namespace = if namespace.is_empty() {
                    binding_namespace
                } else {
                    namespace
                };
                shown = format!("{kind} \"{name}/{namespace}\"");
                Who::User(tokens::username(namespace, name))
            }
            _ => return None,
        };
        Some(Self { who, shown })
    }
}

impl Who {
    fn is(&self, user: &User) -> bool {
        match self {
            Self::User(name) => *name == user.name,
            Self::Group(name) => user.groups.contains(name),
        }
    }
}

impl Rule {
    pub(crate) fn read(rule: &Value) -> Self {
        let texts = |field: &str| {
            kinds::read::list(rule, field)
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        Self {
            verbs: texts("verbs"),
            groups: texts("apiGroups"),
            resources: texts("resources"),
            names: texts("resourceNames"),
            paths: texts("nonResourceURLs"),
        }
    }

    fn allows(&self, attributes: Attributes<'_>) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|item| item == "*" || item == wanted);
        match attributes {
            Attributes::Resource {
                verb,
                group,
                resource,
                subresource,
                name,
                ..
            } => {
                has(&self.verbs, verb)
                    && has(&self.groups, group)
                    && self.allows_resource(resource, subresource)
                    && (self.names.is_empty() || self.names.iter().any(|allowed| allowed == name))
            }
            Attributes::Path { verb, path } => {
                has(&self.verbs, verb)
                    && self.paths.iter().any(|allowed| {
                        allowed == "*"
                            || allowed == path
                            || allowed
                                .strip_suffix('*')
                                .is_some_and(|prefix| path.starts_with(prefix))
                    })
            }
        }
    }

    fn allows_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources
            .iter()
            .any(|allowed| match allowed.split_once('/') {
                None if allowed == "*" => true,
                None => subresource.is_empty() && allowed == resource,
                Some(("*", allowed_sub)) => allowed_sub == subresource,
                Some((allowed_resource, allowed_sub)) => {
                    allowed_resource == resource && allowed_sub == subresource && !subresource.is_empty()
                }
            })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_review_names_the_subject_that_has_the_right() {
        let shown = |subject: Value| Subject::read(&subject, "ns").map(|subject| subject.shown);
        assert_eq!(
            shown(json!({"kind": "Group", "name": "readers"})).as_deref(),
            Some("Group \"readers\"")
        );
        assert_eq!(
            shown(json!({"kind": "ServiceAccount", "name": "a"})).as_deref(),
            Some("ServiceAccount \"a/ns\"")
        );
        assert!(shown(json!({"kind": "Robot", "name": "a"})).is_none());
    }
}
