//! What a task may be made of. Looks at finished objects, so it does not matter how a template came to them.

mod pods;

pub(crate) use pods::escaped;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A kind of objects that tasks may have, in any version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindRule {
    /// Empty for the core group.
    pub group: String,
    pub kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// Where the task is, and everything it is made of.
    pub namespace: String,
    /// Objects are called by this name or begin with it and a dash: another task's objects are out of reach.
    pub release: String,
    /// The template's author may do what pods of users may not: privileges, paths of the host, service accounts, names
    /// of its own. Kinds and the namespace are forced all the same.
    #[serde(default)]
    pub trusted: bool,
    pub kinds: Vec<KindRule>,
}

/// What an administrator has allowed a template, beside what every template may.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Allowed {
    /// See [`Policy::trusted`].
    pub trusted: bool,
    /// Kinds instead of the usual ones: `Job`, `batch/Job` or `batch/v1/Job`.
    pub kinds: Vec<String>,
}

impl Allowed {
    /// The kinds among them that a template may not make unless it was allowed them.
    pub fn unusual(&self) -> Vec<&str> {
        let usual = Policy::of_task("", "");
        let is_unusual = |kind: &&str| {
            let rule = kind_rule(kind, &usual.kinds);
            !usual.allows(&rule.group, &rule.kind)
        };
        self.kinds.iter().map(String::as_str).filter(is_unusual).collect()
    }
}

/// Why an object may not be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Which of the objects, counted from zero.
    pub object: usize,
    /// `Job/countdown-x7k2p9`
    pub name: String,
    /// Where in the object, as a JSON pointer.
    pub pointer: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.name, self.pointer, self.message)
    }
}

/// Kinds that tasks may have unless somebody decides otherwise: what runs, and what it needs to run.
const KINDS: &[(&str, &str)] = &[
    ("", "ConfigMap"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("", "Service"),
    ("argoproj.io", "Workflow"),
    ("batch", "Job"),
    ("kubeflow.org", "JAXJob"),
    ("kubeflow.org", "MPIJob"),
    ("kubeflow.org", "MXJob"),
    ("kubeflow.org", "PaddleJob"),
    ("kubeflow.org", "PyTorchJob"),
    ("kubeflow.org", "TFJob"),
    ("kubeflow.org", "XGBoostJob"),
    ("mlkube.io", "MxJob"),
    ("mxnet.mlkube.io", "MxJob"),
];

impl Policy {
    /// The policy of a task whose template is not trusted.
    pub fn of_task(namespace: impl Into<String>, release: impl Into<String>) -> Self {
        let rule = |(group, kind): &(&str, &str)| KindRule {
            group: (*group).to_owned(),
            kind: (*kind).to_owned(),
        };
        Self {
            namespace: namespace.into(),
            release: release.into(),
            trusted: false,
            kinds: KINDS.iter().map(rule).collect(),
        }
    }

    /// The policy of a task whose template was allowed something.
    pub fn of_template(namespace: impl Into<String>, release: impl Into<String>, allowed: &Allowed) -> Self {
        let mut policy = Self::of_task(namespace, release);
        policy.trusted = allowed.trusted;
        if !allowed.kinds.is_empty() {
            let rules = allowed.kinds.iter().map(|kind| kind_rule(kind, &policy.kinds));
            policy.kinds = rules.collect();
        }
        policy
    }

    /// Everything that is not allowed, in the order of the objects.
    pub fn judge(&self, objects: &[Value]) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (index, object) in objects.iter().enumerate() {
            let mut judge = Judge {
                policy: self,
                index,
                name: shown(object),
                violations: &mut violations,
            };
            judge.kind(object);
            judge.place(object);
            judge.twins(objects);
            if !self.trusted {
                judge.name(object);
                judge.service(object);
                judge.pods(object, "");
            }
        }
        violations
    }

    /// Puts the objects into the task's namespace. Call it on what was judged.
    pub fn place(&self, objects: &mut [Value]) {
        for object in objects {
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("namespace".to_owned(), self.namespace.clone().into());
            }
        }
    }

    fn allows(&self, group: &str, kind: &str) -> bool {
        self.kinds
            .iter()
            .any(|rule| rule.group == group && rule.kind == kind)
    }
}

/// A kind without a group is that of the usual ones, or of the core group.
fn kind_rule(rule: &str, usual: &[KindRule]) -> KindRule {
    let parts: Vec<&str> = rule.split('/').collect();
    let (group, kind) = match parts[..] {
        ["v1", kind] => ("", kind),
        [group, _, kind] | [group, kind] => (group, kind),
        _ => {
            let known = usual.iter().find(|known| known.kind == rule);
            (known.map_or("", |known| &known.group), rule)
        }
    };
    KindRule {
        group: group.to_owned(),
        kind: kind.to_owned(),
    }
}

/// Looks at one object.
struct Judge<'a> {
    policy: &'a Policy,
    index: usize,
    name: String,
    violations: &'a mut Vec<Violation>,
}

impl Judge<'_> {
    fn refuse(&mut self, pointer: &str, message: impl Into<String>, hint: Option<&str>) {
        self.violations.push(Violation {
            object: self.index,
            name: self.name.clone(),
            pointer: pointer.to_owned(),
            message: message.into(),
            hint: hint.map(str::to_owned),
        });
    }

    fn kind(&mut self, object: &Value) {
        let group = group(object);
        let kind = text(object, "/kind");
        if !self.policy.allows(group, kind) {
            let group = if group.is_empty() { "the core group" } else { group };
            self.refuse(
                "/kind",
                format!("tasks may not have a `{kind}` of {group}"),
                Some("an administrator can allow the kind for the template"),
            );
        }
    }

    fn place(&mut self, object: &Value) {
        let namespace = text(object, "/metadata/namespace");
        if !namespace.is_empty() && namespace != self.policy.namespace {
            self.refuse(
                "/metadata/namespace",
                "a template does not choose the namespace: everything of a task is in the task's own",
                Some("leave `metadata.namespace` out"),
            );
        }
    }

    /// Two objects of one name would be one object, made twice.
    fn twins(&mut self, objects: &[Value]) {
        let identity = |object: &Value| {
            let parts = [
                group(object),
                text(object, "/kind"),
                text(object, "/metadata/name"),
            ];
            parts.map(str::to_owned)
        };
        let own = identity(&objects[self.index]);
        if !own[2].is_empty() && objects[..self.index].iter().any(|object| identity(object) == own) {
            self.refuse(
                "/metadata/name",
                "an object before it has the same kind and name",
                Some("add to one of the names"),
            );
        }
    }

    fn name(&mut self, object: &Value) {
        let name = text(object, "/metadata/name");
        let release = self.policy.release.as_str();
        let rest = name.strip_prefix(release);
        if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')) {
            self.refuse(
                "/metadata/name",
                format!("the name must be the task's, `{release}`, or begin with `{release}-`"),
                Some("write `{{ global.release }}` into it"),
            );
        }
    }

    fn service(&mut self, object: &Value) {
        if text(object, "/kind") == "Service" && object.pointer("/spec/externalIPs").is_some() {
            self.refuse(
                "/spec/externalIPs",
                "a task may not take over addresses outside of the cluster",
                None,
            );
        }
    }
}

fn group(object: &Value) -> &str {
    let version = text(object, "/apiVersion");
    version.split_once('/').map_or("", |(group, _)| group)
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// How an object is called in messages.
pub(crate) fn shown(object: &Value) -> String {
    format!("{}/{}", text(object, "/kind"), text(object, "/metadata/name"))
}

#[cfg(test)]
mod tests;
