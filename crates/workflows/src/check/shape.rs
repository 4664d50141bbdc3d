//! Whether a template is one: its name, its one type, and the fields that type must have.

use std::collections::BTreeSet;

use manifests::names as kubernetes_names;
use serde_json::Value;

use super::{Check, Place};
use crate::{
    duration,
    model::{Number, RetryStrategy, Spec, Template, TemplateType},
    tags,
};

impl Check<'_> {
    pub(super) fn shapes(&mut self, place: &Place) {
        let mut names = BTreeSet::new();
        for (index, template) in place.templates.iter().enumerate() {
            let field = format!("{}[{index}]", place.prefix);
            let Some(name) = template["name"].as_str().filter(|name| !name.is_empty()) else {
                self.problem(format!("{field}.name"), "name is required");
                continue;
            };
            if !names.insert(name) {
                self.problem(
                    format!("{field}.name"),
                    format!("template name '{name}' is not unique"),
                );
            }
            self.name(name, &format!("{field}.name"), true);
            self.shape(template, &field);
        }
    }

    pub(super) fn name(&mut self, name: &str, field: &str, is_kubernetes: bool) {
        if is_kubernetes && tags::has_tags(name) {
            return;
        }
        let is_fine = name.chars().all(|letter| {
            letter.is_ascii_alphanumeric() || letter == '-' || (!is_kubernetes && letter == '_')
        });
        if !is_fine || name.len() > 128 {
            self.problem(
                field,
                format!("name '{name}' is invalid: it must be made of letters, digits and `-`, and have at most 128 of them"),
            );
        }
    }

    /// A template as it is written, without what it refers to.
    pub(super) fn shape(&mut self, template: &Value, field: &str) {
        let types: Vec<&str> = TemplateType::ALL
            .iter()
            .filter(|(name, _)| !template[*name].is_null())
            .map(|(name, _)| *name)
            .collect();
        let name = template["name"].as_str().unwrap_or_default();
        match types.as_slice() {
            [] => {
                let all: Vec<&str> = TemplateType::ALL.iter().map(|(name, _)| *name).collect();
                return self.problem(
                    field,
                    format!(
                        "template '{name}' does nothing: give it one of {}",
                        all.join(", ")
                    ),
                );
            }
            [_] => {}
            several => {
                return self.problem(
                    field,
                    format!(
                        "template '{name}' has several types ({}), and must have one",
                        several.join(", ")
                    ),
                );
            }
        }
        let read: Template = match serde_json::from_value(template.clone()) {
            Ok(read) => read,
            Err(error) => return self.problem(field, error.to_string()),
        };
        self.inputs(&read, field);
        self.outputs(&read, field);
        if let Some(strategy) = &read.retry_strategy {
            self.retry(strategy, &format!("{field}.retryStrategy"));
        }
        if !read.timeout.is_empty()
            && !tags::has_tags(&read.timeout)
            && let Err(error) = duration::parse(&read.timeout)
        {
            self.problem(format!("{field}.timeout"), error);
        }
        self.positive(
            read.active_deadline_seconds.as_ref(),
            &format!("{field}.activeDeadlineSeconds"),
        );
        self.positive(read.parallelism.as_ref(), &format!("{field}.parallelism"));
        let is_leaf = !matches!(types[0], "steps" | "dag");
        if !is_leaf && read.active_deadline_seconds.is_some() {
            self.problem(
                format!("{field}.activeDeadlineSeconds"),
                "activeDeadlineSeconds is for templates with pods; give the workflow one, or the templates inside",
            );
        }
        if !is_leaf && !read.timeout.is_empty() {
            self.problem(
                format!("{field}.timeout"),
                "timeout is for templates that do something themselves; give the templates inside one",
            );
        }
        self.of_type(types[0], template, &read, field);
    }

    /// What only templates of one type have.
    fn of_type(&mut self, kind: &str, template: &Value, read: &Template, field: &str) {
        match kind {
            "container" => self.container(&template["container"], &format!("{field}.container")),
            "script" => {
                self.container(&template["script"], &format!("{field}.script"));
                if template["script"]["source"].as_str().is_none_or(str::is_empty) {
                    self.problem(format!("{field}.script.source"), "a script needs a source");
                }
                if template["script"]["command"].as_array().is_none_or(Vec::is_empty) {
                    self.problem(
                        format!("{field}.script.command"),
                        "a script needs a command that runs it, such as [sh] or [python3]",
                    );
                }
            }
            "containerSet" => self.container_set(read, field),
            "resource" => self.resource(read, &format!("{field}.resource")),
            "http" => {
                if read.http.as_ref().is_none_or(|http| http.url.is_empty()) {
                    self.problem(format!("{field}.http.url"), "a request needs a url");
                }
            }
            "suspend" => {
                let text = read
                    .suspend
                    .as_ref()
                    .map(|suspend| suspend.duration.0.as_str())
                    .unwrap_or_default();
                if !text.is_empty()
                    && !tags::has_tags(text)
                    && let Err(error) = duration::parse(text)
                {
                    self.problem(format!("{field}.suspend.duration"), error);
                }
            }
            "dag" => self.dag(read, &format!("{field}.dag")),
            "steps" => self.steps(read, &format!("{field}.steps")),
            kind => self.problem(
                format!("{field}.{kind}"),
                format!("templates of type {kind} are not supported"),
            ),
        }
    }

    fn positive(&mut self, number: Option<&Number>, field: &str) {
        let Some(number) = number else { return };
        if matches!(number, Number::Text(text) if tags::has_tags(text)) {
            return;
        }
        match number.integer() {
            Some(value) if value > 0 => {}
            _ => self.problem(field, format!("`{number}` must be a positive number")),
        }
    }

    fn retry(&mut self, strategy: &RetryStrategy, field: &str) {
        let policies = ["", "Always", "OnFailure", "OnError", "OnTransientError"];
        if !policies.contains(&strategy.retry_policy.as_str()) && !tags::has_tags(&strategy.retry_policy) {
            self.problem(
                format!("{field}.retryPolicy"),
                format!("{} is not a valid RetryPolicy: there are Always, OnFailure, OnError and OnTransientError", strategy.retry_policy),
            );
        }
        if let Some(limit) = &strategy.limit
            && limit.integer().is_none()
            && !matches!(limit, Number::Text(text) if tags::has_tags(text))
        {
            self.problem(format!("{field}.limit"), format!("`{limit}` is no number"));
        }
        if let Some(backoff) = &strategy.backoff {
            for (name, text) in [
                ("duration", &backoff.duration.0),
                ("maxDuration", &backoff.max_duration.0),
                ("cap", &backoff.cap.0),
            ] {
                if !text.is_empty()
                    && !tags::has_tags(text)
                    && let Err(error) = duration::parse(text)
                {
                    self.problem(format!("{field}.backoff.{name}"), error);
                }
            }
        }
        if !strategy.expression.is_empty()
            && let Err(error) = crate::expression::read(&strategy.expression)
        {
            self.problem(format!("{field}.expression"), error.to_string());
        }
    }

    pub(super) fn spec_fields(&mut self, spec: &Spec) {
        self.positive(
            spec.active_deadline_seconds.as_ref(),
            "spec.activeDeadlineSeconds",
        );
        self.positive(spec.parallelism.as_ref(), "spec.parallelism");
        if let Some(strategy) = &spec.retry_strategy {
            self.retry(strategy, "spec.retryStrategy");
        }
        if let Some(policy) = &spec.pod_gc {
            let known = [
                "",
                "OnPodCompletion",
                "OnPodSuccess",
                "OnWorkflowCompletion",
                "OnWorkflowSuccess",
            ];
            if !known.contains(&policy.strategy.as_str()) {
                self.problem(
                    "spec.podGC.strategy",
                    format!("podGC.strategy unknown strategy '{}'", policy.strategy),
                );
            }
        }
        for (index, claim) in spec.volume_claim_templates.iter().enumerate() {
            let name = claim["metadata"]["name"].as_str().unwrap_or_default();
            if name.is_empty() || !kubernetes_names::dns_label(name).is_empty() {
                self.problem(
                    format!("spec.volumeClaimTemplates[{index}].metadata.name"),
                    "a claim needs a name, of lower case letters, digits and `-`",
                );
            }
        }
        if !["", "Stop", "Terminate"].contains(&spec.shutdown.as_str()) {
            self.problem(
                "spec.shutdown",
                format!("'{}' is neither Stop nor Terminate", spec.shutdown),
            );
        }
    }
}
