//! The objects a selector is for. Names, kinds and namespaces are regular expressions that must match the
//! whole; what an object was called first counts as well as what it is called now.

use manifests::labels;
use regex::Regex;
use serde_json::{Map, Value};

use crate::build::{
    expression::expression,
    kustomization::Selector,
    problem::{Outcome, Problem},
    resource::Resource,
    resources::Resources,
};

pub(super) struct Matcher {
    group: Option<Regex>,
    version: Option<Regex>,
    kind: Option<Regex>,
    name: Option<Regex>,
    namespace: Option<Regex>,
    pub(super) texts: Texts,
}

/// Labels and annotations.
pub(super) struct Texts {
    labels: Option<labels::Selector>,
    annotations: Option<labels::Selector>,
}

impl Matcher {
    pub(super) fn new(selector: &Selector) -> Outcome<Self> {
        let matching = |text: &str| {
            if text.is_empty() {
                return Ok(None);
            }
            expression(&format!("^(?:{text})$")).map(Some).map_err(|told| {
                Problem::new(format!("`{text}` is not a regular expression: {told}"))
                    .at(selector.at)
                    .help("use `.*` for anything, and a backslash before a sign that means itself")
            })
        };
        let exact = &selector.exact;
        Ok(Self {
            group: matching(&exact.gvk.group)?,
            version: matching(&exact.gvk.version)?,
            kind: matching(&exact.gvk.kind)?,
            name: matching(&exact.name)?,
            namespace: matching(&exact.namespace)?,
            texts: Texts::new(selector)?,
        })
    }

    pub(super) fn select(&self, resources: &Resources) -> Vec<usize> {
        let selected = resources.iter().enumerate();
        let selected = selected.filter(|(_, resource)| self.matches(resource));
        selected.map(|(index, _)| index).collect()
    }

    fn matches(&self, resource: &Resource) -> bool {
        let is = |expression: &Option<Regex>, text: &str| {
            expression
                .as_ref()
                .is_none_or(|expression| expression.is_match(text))
        };
        let (id, original) = (resource.id(), resource.original_id());
        let is_either =
            |expression: &Option<Regex>, one: &str, other: &str| is(expression, one) || is(expression, other);
        is_either(
            &self.namespace,
            original.effective_namespace(),
            id.effective_namespace(),
        ) && is_either(&self.name, original.name, id.name)
            && is(&self.group, id.group)
            && is(&self.version, id.version)
            && is(&self.kind, id.kind)
            && self.texts.match_resource(resource)
    }
}

impl Texts {
    pub(super) fn new(selector: &Selector) -> Outcome<Self> {
        let parse = |text: &str| {
            if text.is_empty() {
                return Ok(None);
            }
            labels::Selector::parse(text).map(Some).map_err(|error| {
                Problem::new(format!("`{text}` is not a selector: {error}"))
                    .at(selector.at)
                    .help("selectors are like `app=web,tier!=cache,env in (a,b),debug,!old`")
            })
        };
        Ok(Self {
            labels: parse(&selector.label_selector)?,
            annotations: parse(&selector.annotation_selector)?,
        })
    }

    pub(super) fn match_resource(&self, resource: &Resource) -> bool {
        let matches = |selector: &Option<labels::Selector>, field: &str| {
            selector.as_ref().is_none_or(|selector| {
                let texts = resource.texts(field);
                let texts: Map<String, Value> =
                    texts.map(|(name, text)| (name.to_owned(), text.into())).collect();
                selector.matches(Some(&texts))
            })
        };
        matches(&self.labels, "labels") && matches(&self.annotations, "annotations")
    }
}
