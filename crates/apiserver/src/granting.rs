//! Whether some rules allow everything that others allow, and what is missing.

use std::collections::{BTreeMap, BTreeSet};

use crate::authorization::Rule;

/// What of `wanted` nothing in `held` allows: one line a resource, sorted.
pub(crate) fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<String> {
    let parts = wanted.iter().flat_map(parts);
    let missing = parts.filter(|part| !held.iter().any(|rule| covers(rule, part)));
    let lines: BTreeSet<String> = joined(missing).iter().map(shown).collect();
    lines.into_iter().collect()
}

/// Texts in Go's quotes: `["a" "b"]`.
pub(crate) fn quoted(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", texts.join(" "))
}

/// A rule taken apart: one verb on one resource, object or path each.
fn parts(rule: &Rule) -> Vec<Rule> {
    let one = |text: &String| vec![text.clone()];
    let mut parts = Vec::new();
    for (group, resource) in pairs(&rule.groups, &rule.resources) {
        for verb in &rule.verbs {
            let part = Rule {
                verbs: one(verb),
                groups: one(group),
                resources: one(resource),
                ..Rule::default()
            };
            if rule.names.is_empty() {
                parts.push(part);
            } else {
                parts.extend(rule.names.iter().map(|name| Rule {
                    names: one(name),
                    ..part.clone()
                }));
            }
        }
    }
    for (path, verb) in pairs(&rule.paths, &rule.verbs) {
        parts.push(Rule {
            verbs: one(verb),
            paths: one(path),
            ..Rule::default()
        });
    }
    parts
}

fn pairs<'a>(left: &'a [String], right: &'a [String]) -> impl Iterator<Item = (&'a String, &'a String)> {
    left.iter()
        .flat_map(move |left| right.iter().map(move |right| (left, right)))
}

/// Whether a rule allows all of a part.
fn covers(rule: &Rule, part: &Rule) -> bool {
    let all = |held: &[String], wanted: &[String]| wanted.iter().all(|item| held.contains(item));
    let any = |held: &[String]| held.iter().any(|item| item == "*");
    (any(&rule.verbs) || all(&rule.verbs, &part.verbs))
        && (any(&rule.groups) || all(&rule.groups, &part.groups))
        && part
            .resources
            .iter()
            .all(|resource| covers_resource(&rule.resources, resource))
        && (rule.names.is_empty() || (!part.names.is_empty() && all(&rule.names, &part.names)))
        && part
            .paths
            .iter()
            .all(|path| rule.paths.iter().any(|held| covers_path(held, path)))
}

fn covers_resource(held: &[String], resource: &str) -> bool {
    let subresource = resource
        .split_once('/')
        .map(|(_, subresource)| format!("*/{subresource}"));
    held.iter()
        .any(|item| item == "*" || item == resource || Some(item) == subresource.as_ref())
}

fn covers_path(held: &str, path: &str) -> bool {
    held == path || held.ends_with('*') && path.starts_with(held.trim_end_matches('*'))
}

/// Parts about the same resource put together again, with all their verbs.
fn joined(parts: impl Iterator<Item = Rule>) -> Vec<Rule> {
    let mut simple: BTreeMap<[Vec<String>; 3], Rule> = BTreeMap::new();
    let mut joined = Vec::new();
    for part in parts {
        if !part.paths.is_empty() {
            joined.push(part);
            continue;
        }
        let key = [part.groups.clone(), part.resources.clone(), part.names.clone()];
        match simple.get_mut(&key) {
            Some(rule) => rule.verbs.extend(part.verbs),
            None => drop(simple.insert(key, part)),
        }
    }
    joined.extend(simple.into_values());
    joined
}

fn shown(rule: &Rule) -> String {
    let fields = [
        ("APIGroups", &rule.groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.paths),
        ("ResourceNames", &rule.names),
        ("Verbs", &rule.verbs),
    ];
    let shown: Vec<String> = fields
        .iter()
        .filter(|(_, texts)| !texts.is_empty())
        .map(|(name, texts)| format!("{name}:{}", quoted(texts)))
        .collect();
    format!("{{{}}}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(held: &Value, wanted: &Value, expected: &[&str]) {
        assert_eq!(missing(&[Rule::read(held)], &[Rule::read(wanted)]), expected);
    }

    #[test]
    fn what_is_held_may_be_given() {
        let all = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
        let pods = json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/log"]});
        check(&all, &pods, &[]);
        check(&pods, &pods, &[]);
        let logs = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["*/log"]});
        check(
            &logs,
            &json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods/log"]}),
            &[],
        );
        let paths = json!({"verbs": ["get"], "nonResourceURLs": ["/health*"]});
        check(
            &paths,
            &json!({"verbs": ["get"], "nonResourceURLs": ["/healthz"]}),
            &[],
        );
    }

    #[test]
    fn what_is_not_held_is_named() {
        let pods =
            json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]});
        check(
            &pods,
            &json!({"verbs": ["get", "list"], "apiGroups": ["", "apps"], "resources": ["pods"]}),
            &[
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}"#,
                r#"{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}"#,
            ],
        );
        check(
            &pods,
            &json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a", "b"]}),
            &[r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}"#],
        );
        check(
            &pods,
            &json!({"verbs": ["get"], "nonResourceURLs": ["/metrics"]}),
            &[r#"{NonResourceURLs:["/metrics"], Verbs:["get"]}"#],
        );
    }
}
