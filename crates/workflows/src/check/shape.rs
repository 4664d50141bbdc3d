//! Whether a template is one: its name, its one type, and the fields that type must have.

use std::collections::BTreeSet;

use manifests::names as kubernetes_names;
use serde_json::Value;

use super::{Check, Place};
use crate::{
    depends, duration,
    model::{Number, RetryStrategy, Spec, Template, TemplateType},
    tags,
};

/// Names that mean something else in variables.
const RESERVED: [&str; 2] = ["inputs", "outputs"];

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

    fn name(&mut self, name: &str, field: &str, is_kubernetes: bool) {
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
        match types[0] {
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
            "containerSet" => self.container_set(&read, field),
            "resource" => self.resource(&read, &format!("{field}.resource")),
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
            "dag" => self.dag(&read, &format!("{field}.dag")),
            "steps" => self.steps(&read, &format!("{field}.steps")),
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

    fn container(&mut self, container: &Value, field: &str) {
        if container["image"].as_str().is_none_or(str::is_empty) {
            self.problem(
                format!("{field}.image"),
                "a container needs an image; `host` is this machine itself",
            );
        }
        let mut paths = BTreeSet::new();
        for (index, mount) in container["volumeMounts"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            if let Some(path) = mount["mountPath"].as_str()
                && !paths.insert((path, mount["subPath"].as_str()))
            {
                self.problem(
                    format!("{field}.volumeMounts[{index}].mountPath"),
                    format!("'{path}' is mounted twice"),
                );
            }
        }
    }

    fn container_set(&mut self, template: &Template, field: &str) {
        let set = template.container_set.clone().unwrap_or_default();
        let field = format!("{field}.containerSet");
        if set.containers.is_empty() {
            self.problem(format!("{field}.containers"), "at least one container is needed");
        }
        let names: Vec<&str> = set
            .containers
            .iter()
            .map(|container| container.get("name").and_then(Value::as_str).unwrap_or_default())
            .collect();
        for (index, container) in set.containers.iter().enumerate() {
            let at = format!("{field}.containers[{index}]");
            self.container(&Value::Object(container.clone()), &at);
            if names[index].is_empty() || names[..index].contains(&names[index]) {
                self.problem(
                    format!("{at}.name"),
                    "containers of a set need names of their own",
                );
            }
            if container
                .get("command")
                .and_then(Value::as_array)
                .is_none_or(Vec::is_empty)
            {
                self.problem(
                    format!("{at}.command"),
                    "containers of a set need a command, as they are started one after the other",
                );
            }
            let dependencies = container.get("dependencies").and_then(Value::as_array);
            for dependency in dependencies.into_iter().flatten().filter_map(Value::as_str) {
                if !names.contains(&dependency) {
                    self.problem(
                        format!("{at}.dependencies"),
                        format!("there is no container '{dependency}'"),
                    );
                }
            }
        }
        let edges = |name: &str| {
            let container = set
                .containers
                .iter()
                .find(|container| container.get("name").and_then(Value::as_str) == Some(name));
            let dependencies =
                container.and_then(|container| container.get("dependencies")?.as_array().cloned());
            let texts = dependencies.unwrap_or_default();
            texts
                .iter()
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect()
        };
        if let Some(cycle) = find_cycle(&names, &edges) {
            self.problem(
                format!("{field}.containers"),
                format!("containers wait for each other: {cycle}"),
            );
        }
    }

    fn resource(&mut self, template: &Template, field: &str) {
        let Some(resource) = &template.resource else {
            return;
        };
        let actions = ["get", "create", "apply", "delete", "replace", "patch"];
        if !actions.contains(&resource.action.as_str()) && !tags::has_tags(&resource.action) {
            self.problem(
                format!("{field}.action"),
                format!(
                    "action must be one of: {}; '{}' is none of them",
                    actions.join(", "),
                    resource.action
                ),
            );
        }
        if !resource.manifest_from.is_null() {
            self.problem(
                format!("{field}.manifestFrom"),
                "manifestFrom is not supported; write the manifest itself",
            );
        } else if resource.manifest.is_empty() && resource.flags.is_empty() {
            self.problem(
                format!("{field}.manifest"),
                "either flags or manifest must be given",
            );
        }
        if !resource.manifest.is_empty() && !tags::has_tags(&resource.manifest) {
            let parsed = manifests::yaml::parse(resource.manifest.as_bytes());
            match parsed {
                Err(error) => self.problem(format!("{field}.manifest"), format!("it is no YAML: {error}")),
                Ok(parsed)
                    if resource.action != "patch"
                        && resource.action != "delete"
                        && parsed.value["kind"].is_null() =>
                {
                    self.problem(format!("{field}.manifest"), "the manifest has no kind");
                }
                Ok(_) => {}
            }
        }
    }

    fn inputs(&mut self, template: &Template, field: &str) {
        let mut names = BTreeSet::new();
        for (index, parameter) in template.inputs.parameters.iter().enumerate() {
            let at = format!("{field}.inputs.parameters[{index}].name");
            if parameter.name.is_empty() {
                self.problem(at.clone(), "name is required");
            }
            if !names.insert(parameter.name.as_str()) {
                self.problem(at, format!("name '{}' is not unique", parameter.name));
            }
        }
        let mut names = BTreeSet::new();
        for (index, artifact) in template.inputs.artifacts.iter().enumerate() {
            let at = format!("{field}.inputs.artifacts[{index}]");
            let name = artifact["name"].as_str().unwrap_or_default();
            if name.is_empty() || !names.insert(name) {
                self.problem(format!("{at}.name"), "artifacts need names of their own");
            }
            let is_pod = template.kind().is_some_and(TemplateType::is_pod);
            if is_pod && artifact["path"].as_str().is_none_or(str::is_empty) {
                self.problem(
                    format!("{at}.path"),
                    format!("inputs.artifacts.{name}.path is required"),
                );
            }
        }
    }

    fn outputs(&mut self, template: &Template, field: &str) {
        let kind = template.kind();
        let is_pod = kind.is_some_and(TemplateType::is_pod);
        let mut names = BTreeSet::new();
        for (index, parameter) in template.outputs.parameters.iter().enumerate() {
            let at = format!("{field}.outputs.parameters[{index}]");
            if parameter.name.is_empty() || !names.insert(parameter.name.as_str()) {
                self.problem(format!("{at}.name"), "output parameters need names of their own");
            }
            let Some(source) = &parameter.value_from else {
                if parameter.value.is_none() {
                    self.problem(
                        format!("{at}.valueFrom"),
                        format!(
                            "outputs.parameters.{} does not have valueFrom or value specified",
                            parameter.name
                        ),
                    );
                }
                continue;
            };
            let is_fine = match kind {
                Some(TemplateType::Suspend) => source.supplied.is_some(),
                Some(TemplateType::Resource) => !source.json_path.is_empty() || !source.jq_filter.is_empty(),
                Some(TemplateType::Steps | TemplateType::Dag) => {
                    !source.parameter.is_empty() || !source.expression.is_empty()
                }
                _ => !source.path.is_empty(),
            };
            if !is_fine {
                let wanted = match kind {
                    Some(TemplateType::Suspend) => "supplied",
                    Some(TemplateType::Resource) => "jsonPath or jqFilter",
                    Some(TemplateType::Steps | TemplateType::Dag) => "parameter or expression",
                    _ => "path",
                };
                self.problem(
                    format!("{at}.valueFrom"),
                    format!(
                        "outputs.parameters.{}.valueFrom needs {wanted} in a template of this type",
                        parameter.name
                    ),
                );
            }
            if !source.expression.is_empty()
                && let Err(error) = crate::expression::read(&source.expression)
            {
                self.problem(format!("{at}.valueFrom.expression"), error.to_string());
            }
        }
        for (index, artifact) in template.outputs.artifacts.iter().enumerate() {
            let at = format!("{field}.outputs.artifacts[{index}]");
            let name = artifact["name"].as_str().unwrap_or_default();
            if name.is_empty() {
                self.problem(format!("{at}.name"), "name is required");
            }
            let has_path = artifact["path"].as_str().is_some_and(|path| !path.is_empty());
            let has_from = !artifact["from"].is_null() || !artifact["fromExpression"].is_null();
            if is_pod && !has_path {
                self.problem(
                    format!("{at}.path"),
                    format!("outputs.artifacts.{name}.path is required"),
                );
            }
            if !is_pod && !has_from {
                self.problem(
                    format!("{at}.from"),
                    format!("outputs.artifacts.{name}.from is required"),
                );
            }
            if !artifact["archive"]["zip"].is_null() {
                self.problem(
                    format!("{at}.archive.zip"),
                    "archives are made by tar, or not at all: write tar or none",
                );
            }
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

    fn steps(&mut self, template: &Template, field: &str) {
        let mut names = BTreeSet::new();
        for (group_index, group) in template.steps.iter().flatten().enumerate() {
            for (index, step) in group.0.iter().enumerate() {
                let at = format!("{field}[{group_index}][{index}]");
                if step.name.is_empty() {
                    self.problem(format!("{at}.name"), "name is required");
                    continue;
                }
                if !names.insert(step.name.clone()) {
                    self.problem(
                        format!("{at}.name"),
                        format!("name '{}' is not unique", step.name),
                    );
                }
                self.name(&step.name, &format!("{at}.name"), false);
                self.loops(step, &at);
            }
        }
    }

    fn loops(&mut self, step: &crate::model::Step, field: &str) {
        let given = [
            ("withItems", step.with_items.is_some()),
            ("withParam", !step.with_param.is_empty()),
            ("withSequence", step.with_sequence.is_some()),
        ];
        let given: Vec<&str> = given
            .iter()
            .filter(|(_, is_given)| *is_given)
            .map(|(name, _)| *name)
            .collect();
        if given.len() > 1 {
            self.problem(field, format!("only one of {} may be given", given.join(", ")));
        }
        if let Some(sequence) = &step.with_sequence {
            match (&sequence.count, &sequence.end) {
                (None, None) => {
                    self.problem(format!("{field}.withSequence"), "must have one of count or end");
                }
                (Some(_), Some(_)) => {
                    self.problem(
                        format!("{field}.withSequence"),
                        "only one of count or end can be defined",
                    );
                }
                _ => {}
            }
        }
        if !step.with_param.is_empty()
            && !tags::has_tags(&step.with_param)
            && !matches!(serde_json::from_str(&step.with_param), Ok(Value::Array(_)))
        {
            self.problem(
                format!("{field}.withParam"),
                "withParam must be a JSON list, or a variable that holds one",
            );
        }
        if !tags::has_tags(&step.when)
            && let Err(error) = crate::when::holds(&step.when)
        {
            self.problem(format!("{field}.when"), error.to_string());
        }
    }

    fn dag(&mut self, template: &Template, field: &str) {
        let Some(dag) = &template.dag else { return };
        let tasks = &dag.tasks;
        if tasks.is_empty() {
            return self.problem(format!("{field}.tasks"), "a DAG needs at least one task");
        }
        let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        let uses_depends = tasks.iter().any(|task| !task.depends.is_empty());
        let mut has_cycle_edges = true;
        for (index, task) in tasks.iter().enumerate() {
            let at = format!("{field}.tasks[{index}]");
            if task.name.is_empty() {
                self.problem(format!("{at}.name"), "name is required");
                continue;
            }
            if names[..index].contains(&task.name.as_str()) {
                self.problem(
                    format!("{at}.name"),
                    format!("name '{}' is not unique", task.name),
                );
            }
            self.name(&task.name, &format!("{at}.name"), false);
            if uses_depends && task.name.starts_with(|letter: char| letter.is_ascii_digit()) {
                self.problem(
                    format!("{at}.name"),
                    format!(
                        "task name '{}' cannot begin with a digit when using 'depends'",
                        task.name
                    ),
                );
            }
            if RESERVED.contains(&task.name.as_str()) {
                self.problem(format!("{at}.name"), format!("name '{}' is reserved", task.name));
            }
            if !task.depends.is_empty() && !task.dependencies.is_empty() {
                self.problem(at.clone(), "a task cannot have both 'depends' and 'dependencies'");
            } else if uses_depends && !task.dependencies.is_empty() {
                self.problem(
                    format!("{at}.dependencies"),
                    "templates cannot use both 'depends' and 'dependencies' in the same DAG template",
                );
            }
            if uses_depends && task.continue_on.is_some() {
                self.problem(
                    format!("{at}.continueOn"),
                    "cannot use 'continueOn' when using 'depends'; use 'depends: X.Failed' instead",
                );
            }
            self.loops(task, &at);
            match depends::of_task(task, tasks) {
                Err(message) => {
                    has_cycle_edges = false;
                    self.problem(format!("{at}.depends"), message);
                }
                Ok(condition) => {
                    let at = if task.depends.is_empty() {
                        format!("{at}.dependencies")
                    } else {
                        format!("{at}.depends")
                    };
                    for dependency in condition.tasks() {
                        if dependency == task.name {
                            self.problem(at.clone(), format!("task '{dependency}' depends on itself"));
                        } else if !names.contains(&dependency) {
                            let meant = super::meant(dependency, names.iter().copied());
                            let hint =
                                meant.map_or_else(String::new, |meant| format!("; did you mean '{meant}'?"));
                            self.problem(at.clone(), format!("dependency '{dependency}' not defined{hint}"));
                        }
                    }
                }
            }
        }
        for target in dag
            .target
            .split_whitespace()
            .filter(|target| !tags::has_tags(target))
        {
            if !names.contains(&target) && !dag.target.contains("{{") {
                self.problem(
                    format!("{field}.target"),
                    format!("target '{target}' is not defined"),
                );
            }
        }
        if !has_cycle_edges {
            return;
        }
        let edges = |name: &str| {
            let task = tasks.iter().find(|task| task.name == name);
            let condition = task.and_then(|task| depends::of_task(task, tasks).ok());
            let names = condition
                .as_ref()
                .map(|condition| condition.tasks())
                .unwrap_or_default();
            names.into_iter().map(str::to_owned).collect()
        };
        if let Some(cycle) = find_cycle(&names, &edges) {
            self.problem(
                format!("{field}.tasks"),
                format!("dependency cycle detected: {cycle}"),
            );
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

/// Names that lead back to where they began: `A -> B -> A`.
fn find_cycle(names: &[&str], edges: &impl Fn(&str) -> Vec<String>) -> Option<String> {
    fn visit(
        name: &str,
        edges: &impl Fn(&str) -> Vec<String>,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<String> {
        if let Some(at) = path.iter().position(|known| known == name) {
            let mut cycle = path[at..].to_vec();
            cycle.push(name.to_owned());
            return Some(cycle.join(" -> "));
        }
        if !done.insert(name.to_owned()) {
            return None;
        }
        path.push(name.to_owned());
        let found = edges(name).iter().find_map(|next| visit(next, edges, path, done));
        path.pop();
        found
    }
    let mut done = BTreeSet::new();
    names
        .iter()
        .find_map(|name| visit(name, edges, &mut Vec::new(), &mut done))
}
