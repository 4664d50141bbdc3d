//! The objects of one resource, and the way they are counted.

use jiff::Timestamp;
use serde_json::Value;

use super::{Usage, pods, resource_claims, scopes, services, volume_claims};
use crate::{
    quantity::Quantity,
    read::{entries, get},
};

/// One resource in one group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Collection<'a> {
    pub(super) group: &'a str,
    pub(super) plural: &'a str,
}

/// How objects are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Pods,
    Services,
    VolumeClaims,
    ResourceClaims,
    /// One each, also under the plain name of the resource.
    Named,
    /// One each.
    Objects,
    /// Not at all: nobody stores them, or they never were.
    Ignored,
}

/// What has a rule of its own. Everything else is counted one by one.
const RULES: [(&str, &str, Rule); 18] = [
    ("", "pods", Rule::Pods),
    ("", "services", Rule::Services),
    ("", "persistentvolumeclaims", Rule::VolumeClaims),
    ("resource.k8s.io", "resourceclaims", Rule::ResourceClaims),
    ("", "configmaps", Rule::Named),
    ("", "secrets", Rule::Named),
    ("", "replicationcontrollers", Rule::Named),
    ("", "resourcequotas", Rule::Named),
    ("", "bindings", Rule::Ignored),
    ("", "componentstatuses", Rule::Ignored),
    ("", "events", Rule::Ignored),
    ("events.k8s.io", "events", Rule::Ignored),
    ("authentication.k8s.io", "tokenreviews", Rule::Ignored),
    ("authentication.k8s.io", "selfsubjectreviews", Rule::Ignored),
    ("authorization.k8s.io", "subjectaccessreviews", Rule::Ignored),
    ("authorization.k8s.io", "selfsubjectaccessreviews", Rule::Ignored),
    ("authorization.k8s.io", "localsubjectaccessreviews", Rule::Ignored),
    ("authorization.k8s.io", "selfsubjectrulesreviews", Rule::Ignored),
];

const ONE: Quantity = Quantity::from_int(1);

impl<'a> Collection<'a> {
    pub(super) fn new(group: &'a str, plural: &'a str) -> Self {
        Self { group, plural }
    }

    /// The collections that a limit of this name is about.
    pub(super) fn limited_by(name: &'a str) -> impl Iterator<Item = Self> {
        let special = RULES.iter().map(|(group, plural, _)| Self::new(group, plural));
        let counted = name.strip_prefix("count/").map(|resource| {
            let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
            Self::new(group, plural)
        });
        let counted = counted.filter(|collection| collection.rule() == Rule::Objects);
        special
            .chain(counted)
            .filter(|collection| collection.tracks(name))
    }

    pub(super) fn rule(self) -> Rule {
        RULES
            .iter()
            .find(|(group, plural, _)| *plural == self.plural && *group == self.group)
            .map_or(Rule::Objects, |(_, _, rule)| *rule)
    }

    /// Whether objects of this collection are counted under a name.
    pub(super) fn tracks(self, name: &str) -> bool {
        match self.rule() {
            Rule::Pods => self.is_count(name) || pods::tracks(name),
            Rule::Services => self.is_count(name) || services::tracks(name),
            Rule::VolumeClaims => self.is_count(name) || volume_claims::tracks(name),
            Rule::ResourceClaims => self.is_count(name) || resource_claims::tracks(name),
            Rule::Named => self.is_count(name) || name == self.plural,
            Rule::Objects => self.is_count(name),
            Rule::Ignored => false,
        }
    }

    /// Whether this is the name under which every object counts one: `count/jobs.batch`.
    fn is_count(self, name: &str) -> bool {
        let rest = name
            .strip_prefix("count/")
            .and_then(|rest| rest.strip_prefix(self.plural));
        match rest {
            Some("") => self.group.is_empty(),
            Some(rest) => !self.group.is_empty() && rest.strip_prefix('.') == Some(self.group),
            None => false,
        }
    }

    fn count_name(self) -> String {
        if self.group.is_empty() {
            format!("count/{}", self.plural)
        } else {
            format!("count/{}.{}", self.plural, self.group)
        }
    }

    pub(super) fn usage(self, object: &Value, now: Timestamp) -> Usage {
        let mut usage = match self.rule() {
            Rule::Pods => pods::usage(object, now),
            Rule::Services => services::usage(object),
            Rule::VolumeClaims => volume_claims::usage(object),
            Rule::ResourceClaims => resource_claims::usage(object),
            Rule::Named => Usage::from([(self.plural.to_owned(), ONE)]),
            Rule::Objects => Usage::new(),
            Rule::Ignored => return Usage::new(),
        };
        usage.insert(self.count_name(), ONE);
        usage
    }

    /// Whether a quota limits something of this object. Only limits that have reached the status count.
    pub(super) fn is_limited_by(self, quota: &Value, object: &Value) -> bool {
        let mut limits = entries(get(quota, "status"), "hard");
        limits.any(|(name, _)| self.tracks(name)) && scopes::all_match(quota, self, object)
    }
}
