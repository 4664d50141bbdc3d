//! Who may do what: role-based access control over the stored roles and bindings.
//!
//! The rules are compiled once and again whenever a role or binding changes, so that a decision is a
//! walk over a few small vectors.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use parking_lot::RwLock;
use serde_json::{Value, json};
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
    /// What the role allows or, where there is none, that it is missing.
    rules: Result<Arc<Vec<Rule>>, String>,
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

/// Whether somebody may do something, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allowed(String),
    /// Mostly there is nothing to say but that no role allows it.
    Denied(String),
}

impl Decision {
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    pub fn reason(&self) -> &str {
        let (Self::Allowed(reason) | Self::Denied(reason)) = self;
        reason
    }
}

/// The rules that apply to a user, as a review shows them.
#[derive(Default)]
pub(crate) struct RulesOfUser {
    pub(crate) resources: Vec<Value>,
    pub(crate) paths: Vec<Value>,
    /// Which roles could not be asked.
    pub(crate) error: Option<String>,
}

impl RulesOfUser {
    fn add(&mut self, rule: &Rule) {
        if !rule.paths.is_empty() {
            self.paths
                .push(json!({ "verbs": rule.verbs, "nonResourceURLs": rule.paths }));
            return;
        }
        let mut shown = json!({
            "verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources,
        });
        if !rule.names.is_empty() {
            shown["resourceNames"] = json!(rule.names);
        }
        self.resources.push(shown);
    }
}

impl Compiled {
    /// The bindings that hold for a user in a namespace, and as whom.
    fn of(&self, user: &User, namespace: &str) -> impl Iterator<Item = (&Binding, &Subject)> {
        self.bindings
            .iter()
            .filter(move |binding| binding.namespace.is_empty() || binding.namespace == namespace)
            .filter_map(move |binding| Some((binding, binding.subject(user)?)))
    }
}

/// Several complaints as one, each of them once.
fn together(complaints: &[&String]) -> Option<String> {
    let mut seen = HashSet::new();
    let mut once: Vec<&str> = complaints.iter().map(|complaint| complaint.as_str()).collect();
    once.retain(|complaint| seen.insert(*complaint));
    match once.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        several => Some(format!("[{}]", several.join(", "))),
    }
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

    /// Why the user may do it, or may not.
    pub fn decide(&self, store: &Store, user: &User, attributes: Attributes<'_>) -> Decision {
        if user.is_master() {
            return Decision::Allowed(String::new());
        }
        let compiled = self.compiled(store);
        let namespace = match attributes {
            Attributes::Resource { namespace, .. } => namespace,
            Attributes::Path { .. } => "",
        };
        let mut missing = Vec::new();
        for (binding, subject) in compiled.of(user, namespace) {
            match &binding.rules {
                Ok(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                    let reason = format!("RBAC: allowed by {} to {}", binding.reason, subject.shown);
                    return Decision::Allowed(reason);
                }
                Ok(_) => {}
                Err(role) => missing.push(role),
            }
        }
        Decision::Denied(match together(&missing) {
            Some(missing) => format!("RBAC: {missing}"),
            None => String::new(),
        })
    }

    /// Every rule that applies to the user in a namespace, for `kubectl auth can-i --list`.
    pub(crate) fn rules_for(&self, store: &Store, user: &User, namespace: &str) -> RulesOfUser {
        let compiled = self.compiled(store);
        let mut found = RulesOfUser::default();
        if user.is_master() {
            found
                .resources
                .push(json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }));
            found
                .paths
                .push(json!({ "verbs": ["*"], "nonResourceURLs": ["*"] }));
        }
        let mut missing = Vec::new();
        for (binding, _) in compiled.of(user, namespace) {
            match &binding.rules {
                Ok(rules) => rules.iter().for_each(|rule| found.add(rule)),
                Err(role) => missing.push(role),
            }
        }
        found.error = together(&missing);
        found
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
pub(crate) fn denied(user: &User, attributes: Attributes<'_>, reason: &str) -> ApiError {
    let because = match reason {
        "" => String::new(),
        reason => format!(": {reason}"),
    };
    match attributes {
        Attributes::Path { verb, path } => {
            let why = format!("User \"{}\" cannot {verb} path \"{path}\"{because}", user.name);
            let mut error = ApiError::forbidden(Qualified { group: "", name: "" }, "", &why);
            error.message = format!("forbidden: {why}");
            error.details = Some(json!({}));
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
                "User \"{}\" cannot {verb} resource \"{full}\" in API group \"{group}\" {place}{because}",
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
        bindings.iter().map(read).collect::<Vec<_>>()
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
        .filter_map(|stored| object::readable(stored))
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
    fn read(binding: &Value, kind: &str, roles: &Roles) -> Self {
        let (namespace, name) = (object::namespace(binding), object::name(binding));
        let role = kinds::read::get(binding, "roleRef");
        let (role_kind, role_name) = (kinds::read::text(role, "kind"), kinds::read::text(role, "name"));
        let role_namespace = if role_kind == "ClusterRole" { "" } else { namespace };
        let rules = roles
            .get(role_namespace, role_name)
            .cloned()
            .ok_or_else(|| format!("{}.{GROUP} \"{role_name}\" not found", role_kind.to_lowercase()));
        let subjects = kinds::read::list(binding, "subjects").iter();
        let named = if namespace.is_empty() {
            name.to_owned()
        } else {
            format!("{name}/{namespace}")
        };
        Self {
            subjects: subjects
                .filter_map(|subject| Subject::read(subject, namespace))
                .collect(),
            namespace: namespace.to_owned(),
            rules,
            reason: format!("{kind} \"{named}\" of {role_kind} \"{role_name}\""),
        }
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
    use super::*;

    #[test]
    fn who_is_denied_hears_which_roles_are_missing() {
        let binding = json!({
            "roleRef": {"kind": "ClusterRole", "name": "nosuch"},
            "subjects": [{"kind": "User", "name": "jane"}],
        });
        let binding = Binding::read(&binding, "ClusterRoleBinding", &Roles::read(&[], &[]));
        let missing = binding.rules.unwrap_err();
        assert_eq!(
            missing,
            "clusterrole.rbac.authorization.k8s.io \"nosuch\" not found"
        );
        let other = "other".to_owned();
        assert_eq!(together(&[]), None);
        assert_eq!(together(&[&missing, &missing]), Some(missing.clone()));
        assert_eq!(together(&[&missing, &other]), Some(format!("[{missing}, other]")));
    }

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
