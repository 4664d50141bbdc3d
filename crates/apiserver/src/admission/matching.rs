//! Which requests a webhook or policy looks at: rules, selectors, and other versions of the resource.

mod namespace;
mod rule;

use std::sync::{Arc, OnceLock};

use manifests::labels::Selector;
use serde_json::Value;

pub(crate) use self::{namespace::namespace_of, rule::Rule};
use super::attributes::Attributes;
use crate::{
    error::{ApiError, Result},
    kind::Kind,
};
use rule::Asked;

/// What a webhook, a policy or the binding of a policy says about the requests it is for.
#[derive(Debug)]
pub(crate) struct Criteria {
    /// `None` where every request is meant.
    pub rules: Option<Vec<Rule>>,
    pub excluded: Vec<Rule>,
    /// Whether other versions of a resource count as the resource.
    pub equivalent: bool,
    /// What is wrong with a selector shows when it is used.
    pub namespaces: Result<Selector, String>,
    pub objects: Result<Selector, String>,
}

/// The objects of a request; a deletion has no new one, a creation no old one.
#[derive(Clone, Copy)]
pub(crate) struct Objects<'o> {
    pub new: Option<&'o Value>,
    pub old: Option<&'o Value>,
}

/// One request, and what was found out about it while it was matched.
pub(crate) struct Matcher<'a> {
    attributes: &'a Attributes<'a>,
    equivalents: OnceLock<Vec<Arc<Kind>>>,
    namespace_labels: OnceLock<Result<Value>>,
}

impl Criteria {
    /// Of a webhook, which is never called when it has no rules.
    pub(crate) fn of_webhook(webhook: &Value) -> Self {
        Self::read(webhook, Some(rules(webhook, "rules")))
    }

    /// Of a policy or a binding, which without rules is for everything.
    pub(crate) fn of_resources(resources: &Value) -> Self {
        let rules = rules(resources, "resourceRules");
        Self::read(resources, (!rules.is_empty()).then_some(rules))
    }

    fn read(value: &Value, own_rules: Option<Vec<Rule>>) -> Self {
        let selector = |field: &str| match value.get(field) {
            Some(selector) => Selector::from_object(selector).map_err(|error| error.to_string()),
            None => Ok(Selector::everything()),
        };
        Self {
            rules: own_rules,
            excluded: rules(value, "excludeResourceRules"),
            equivalent: kinds::read::text(value, "matchPolicy") == "Equivalent",
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
        }
    }
}

fn rules(value: &Value, field: &str) -> Vec<Rule> {
    kinds::read::list(value, field).iter().map(Rule::read).collect()
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(attributes: &'a Attributes<'a>) -> Self {
        Self {
            attributes,
            equivalents: OnceLock::new(),
            namespace_labels: OnceLock::new(),
        }
    }

    /// The resource as which the request meets the criteria, if it does. Trouble with a selector is
    /// an error only when everything else matches.
    pub(crate) fn find(&self, criteria: &Criteria, objects: Objects<'_>) -> Result<Option<Arc<Kind>>> {
        let in_namespace = self.matches_namespace(&criteria.namespaces, objects);
        if matches!(in_namespace, Ok(false)) {
            return Ok(None);
        }
        let has_labels = matches_labels(&criteria.objects, objects);
        if matches!(has_labels, Ok(false))
            || self.find_rule(&criteria.excluded, criteria.equivalent).is_some()
        {
            return Ok(None);
        }
        let found = match &criteria.rules {
            Some(rules) => self.find_rule(rules, criteria.equivalent),
            None => Some(self.attributes.call.kind.clone()),
        };
        if found.is_some() {
            in_namespace?;
            has_labels?;
        }
        Ok(found)
    }

    /// As the request was made first, then as other versions of its resource, by the order of rules.
    fn find_rule(&self, rules: &[Rule], equivalent: bool) -> Option<Arc<Kind>> {
        let asked = self.asked(&self.attributes.call.kind);
        if rules.iter().any(|rule| rule.matches(&asked)) {
            return Some(self.attributes.call.kind.clone());
        }
        if !equivalent || rules.is_empty() {
            return None;
        }
        let equivalents = self.equivalents();
        let of_rule = |rule: &Rule| equivalents.iter().find(|kind| rule.matches(&self.asked(kind)));
        rules.iter().find_map(of_rule).cloned()
    }

    fn asked<'k>(&'k self, kind: &'k Kind) -> Asked<'k> {
        Asked {
            operation: self.attributes.operation.name(),
            group: &kind.group,
            version: &kind.version,
            resource: &kind.plural,
            subresource: self.attributes.subresource(),
            namespace: &self.attributes.namespace,
            name: &self.attributes.name,
        }
    }

    /// Other resources and versions that show the same stored objects.
    fn equivalents(&self) -> &[Arc<Kind>] {
        self.equivalents.get_or_init(|| {
            let own = &self.attributes.call.kind;
            let subresource = self.attributes.subresource();
            let snapshot = self.attributes.call.api.registry.snapshot();
            let served = snapshot
                .groups
                .iter()
                .flat_map(|group| &group.versions)
                .flat_map(|version| &version.kinds);
            served
                .filter(|kind| kind.collection == own.collection && kind.api_version != own.api_version)
                .filter(|kind| subresource.is_empty() || kind.subresource(subresource).is_some())
                .cloned()
                .collect()
        })
    }

    /// Requests outside of namespaces are never exempted by a namespace selector.
    fn matches_namespace(&self, selector: &Result<Selector, String>, objects: Objects<'_>) -> Result<bool> {
        if self.attributes.namespace.is_empty() && self.attributes.call.kind.plural != "namespaces" {
            return Ok(true);
        }
        let selector = selector.as_ref().map_err(ApiError::internal)?;
        if selector.is_everything() {
            return Ok(true);
        }
        // A namespace that is written has the labels it is going to have.
        if self.attributes.call.kind.plural == "namespaces"
            && self.attributes.subresource().is_empty()
            && let Some(new) = objects.new
        {
            return Ok(selector.matches(labels(new)));
        }
        let labels = self.namespace_labels.get_or_init(|| {
            let namespace = namespace_of(self.attributes.call, &self.attributes.namespace)?;
            Ok(namespace.pointer("/metadata/labels").cloned().unwrap_or_default())
        });
        labels
            .as_ref()
            .map(|labels| selector.matches(labels.as_object()))
            .map_err(Clone::clone)
    }
}

fn matches_labels(selector: &Result<Selector, String>, objects: Objects<'_>) -> Result<bool> {
    let selector = selector.as_ref().map_err(ApiError::internal)?;
    let matches = |object: Option<&Value>| object.is_some_and(|object| selector.matches(labels(object)));
    Ok(selector.is_everything() || matches(objects.new) || matches(objects.old))
}

fn labels(object: &Value) -> Option<&serde_json::Map<String, Value>> {
    object.get("metadata")?.get("labels")?.as_object()
}
