//! What a template's author should know: what would fail, be refused, or do something else than it seems to.

use std::collections::BTreeSet;

use manifests::spelling::nearest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    inputs::{Global, Inputs},
    policy::{Allowed, Policy},
    problem::{Code, Problem},
    render::{Rendered, Use, shell, trial, variable},
    schema::Schema,
    template::Template,
};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Tasks will fail.
    Error,
    /// Some tasks will fail, or do what nobody wants.
    Warning,
    /// Good to know.
    Note,
}

/// One thing to say about a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub level: Level,
    /// Stable, for programs: `shell-text`, `not-described`, …
    pub rule: String,
    #[serde(flatten)]
    pub problem: Problem,
}

impl Finding {
    /// What keeps a template from being read at all.
    pub fn unreadable(problem: Problem) -> Self {
        Self {
            level: Level::Error,
            rule: "unreadable".to_owned(),
            problem,
        }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let level = match self.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        };
        write!(f, "{level} [{}] {}", self.rule, self.problem)
    }
}

/// What templates have whatever a definition says.
const GIVEN: [&str; 4] = [
    "global.release",
    "global.taskDef",
    "global.application",
    "global.creator",
];
const CONFIGS: [&str; 3] = ["global", "dataset", "process"];

/// The name that trials are made under; too odd for a template to have it in its text.
const RELEASE: &str = "trial-x7k2p9";

impl Template {
    /// Looks for what will go wrong. With a schema and system values the template is tried with the definition's
    /// example, and both are held against each other; without, with values made up from what it uses.
    /// What it was allowed is not said to need trust.
    pub fn check(&self, schema: Option<&Schema>, system_values: &Value, allowed: &Allowed) -> Vec<Finding> {
        let mut check = Check {
            template: self,
            schema,
            system_values,
            allowed,
            findings: Vec::new(),
        };
        check.variables();
        check.missing_keys();
        let values = schema.map_or_else(|| self.made_up(), |schema| schema.example().clone());
        match trial(self, &check.inputs(values.clone())) {
            Ok((rendered, uses)) => {
                check.policy(&rendered);
                check.shells(&rendered, &uses);
                check.labels(&uses);
                check.programs(&rendered);
                check.without(&values);
            }
            Err(problems) => {
                let (level, rule) = match schema {
                    Some(_) => (Level::Error, "example-fails"),
                    None => (Level::Note, "not-tried"),
                };
                for mut problem in problems {
                    let with = if schema.is_some() {
                        "the definition's example"
                    } else {
                        "made-up values"
                    };
                    problem.message = format!("with {with}: {}", problem.message);
                    check.find(level, rule, problem);
                }
            }
        }
        let mut findings = check.findings;
        findings.sort_by_key(|finding| (finding.level, finding.problem.place.clone()));
        findings.dedup();
        findings
    }

    /// Values for everything the template names.
    fn made_up(&self) -> Value {
        let mut values = json!({});
        for path in self.variables().iter().filter(|path| !is_given(path)) {
            let mut steps: Vec<&str> = path.split('.').collect();
            let is_method = matches!(steps.last(), Some(&("get" | "items" | "keys" | "values")));
            if is_method && steps.len() > 1 {
                steps.pop();
            }
            set(
                &mut values,
                &steps,
                if is_method { json!({}) } else { "1".into() },
            );
        }
        values
    }
}

/// Puts a value at a path, unless there is more than a text already.
fn set(into: &mut Value, steps: &[&str], value: Value) {
    let [step, rest @ ..] = steps else {
        if !into.is_object() {
            *into = value;
        }
        return;
    };
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    if let Some(fields) = into.as_object_mut() {
        set(fields.entry(*step).or_insert(Value::Null), rest, value);
    }
}

fn is_given(path: &str) -> bool {
    GIVEN.contains(&path) || path == "global" || path == "configs" || path.starts_with("configs.")
}

struct Check<'a> {
    template: &'a Template,
    schema: Option<&'a Schema>,
    system_values: &'a Value,
    allowed: &'a Allowed,
    findings: Vec<Finding>,
}

impl Check<'_> {
    fn find(&mut self, level: Level, rule: &str, problem: Problem) {
        self.findings.push(Finding {
            level,
            rule: rule.to_owned(),
            problem,
        });
    }

    fn at(&self, message: String, source: usize, offset: usize) -> Problem {
        let source = &self.template.sources()[source];
        Problem::new(Code::Syntax, message).at(&source.name, &source.text, offset)
    }

    /// Where a name is first used.
    fn first_use(&self, message: String, path: &str) -> Problem {
        let sources = self.template.sources();
        let found = sources.iter().find_map(|source| {
            let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
            let found = source.text.match_indices(path).find(|(at, _)| {
                let before = source.text[..*at].chars().next_back();
                let after = source.text[at + path.len()..].chars().next();
                !before.is_some_and(is_path) && !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
            });
            found.map(|(at, _)| (source.number, at))
        });
        match found {
            Some((source, offset)) => self.at(message, source, offset),
            None => Problem::new(Code::Syntax, message),
        }
    }

    fn inputs(&self, values: Value) -> Inputs {
        Inputs {
            values,
            system_values: self.system_values.clone(),
            global: Global {
                release: RELEASE.to_owned(),
                task_def: "trial".to_owned(),
                application: "trial".to_owned(),
                creator: "trial".to_owned(),
            },
        }
    }

    /// Names that nobody gives a value.
    fn variables(&mut self) {
        let template = self.template;
        for path in template.variables() {
            if let Some(name) = path.strip_prefix("global.") {
                if !is_given(path) {
                    let problem = self.first_use(format!("there is no `{path}`"), path);
                    let hint = nearest(name, ["release", "taskDef", "application", "creator"]);
                    let problem = match hint {
                        Some(near) => problem.hint(format!("did you mean `global.{near}`?")),
                        None => problem,
                    };
                    self.find(Level::Error, "unknown-global", problem);
                }
                continue;
            }
            let Some(schema) = self.schema.filter(|_| !is_given(path)) else {
                continue;
            };
            let steps: Vec<&str> = path.split('.').collect();
            let of_system = steps
                .iter()
                .try_fold(self.system_values, |value, step| value.get(step))
                .is_some()
                || steps
                    .first()
                    .is_some_and(|step| self.system_values.get(step).is_some());
            if !of_system && !is_described(schema, &steps) {
                let message =
                    format!("the template uses `{path}`, which the definition neither describes nor sets");
                let problem = self.first_use(message, path);
                self.find(
                    Level::Warning,
                    "not-described",
                    problem.hint("describe it, or add it to the system values"),
                );
            }
        }
    }

    /// `configs.get('modle')` prints `None`.
    fn missing_keys(&mut self) {
        for number in 0..self.template.sources().len() {
            let text = self.template.sources()[number].text.clone();
            let of_system = self.system_values.get("configs").cloned().unwrap_or_default();
            for (at, call) in text.match_indices("configs.get(") {
                let argument = text[at + call.len()..].trim_start();
                let quote = argument.chars().next().filter(|c| matches!(c, '"' | '\''));
                let Some(key) = quote.and_then(|quote| argument[1..].split(quote).next()) else {
                    continue;
                };
                if !CONFIGS.contains(&key) && of_system.get(key).is_none() {
                    let message = format!("there is no `{key}` in `configs`; `None` will be written");
                    let problem = self
                        .at(message, number, at)
                        .hint("it has `global`, `dataset` and `process`");
                    self.find(Level::Warning, "prints-none", problem);
                }
            }
        }
    }

    /// What would be refused.
    fn policy(&mut self, rendered: &Rendered) {
        let policy = Policy::of_template("trial", RELEASE, self.allowed);
        for violation in policy.judge(&rendered.objects) {
            let place = rendered.sources[violation.object].of(&violation.pointer).clone();
            let message = format!("{}: {}", violation.pointer, violation.message);
            let mut problem = self.template.problem_at(Code::Policy, message, &place);
            problem.hint = violation.hint;
            self.find(Level::Warning, "needs-trust", problem);
        }
    }

    /// Values in the text of programs.
    fn shells(&mut self, rendered: &Rendered, uses: &[Use]) {
        for found in uses {
            if !shell::is_program(&rendered.objects[found.object], &found.pointer) {
                continue;
            }
            let tag = self.template.sources()[found.source].text[found.offset..].to_owned();
            let inside = tag.split("}}").next().unwrap_or_default();
            let path = variable(&tag).unwrap_or_default();
            let is_ours = path == "global.release";
            let is_quoted = inside.contains("| quote") || inside.contains("|quote") || inside.contains("int");
            let is_number = self
                .schema
                .and_then(|schema| schema.field(path))
                .is_some_and(|field| !field.may_be_text());
            if is_ours || is_quoted || is_number {
                continue;
            }
            if found.whole {
                let message = format!("`{path}` is run as a program");
                let problem = self
                    .at(message, found.source, found.offset)
                    .hint("fine where users bring their own program");
                self.find(Level::Note, "runs-value", problem);
            } else {
                let message = format!(
                    "`{path}` comes into a text that a shell reads: `{}`",
                    found.pointer
                );
                let problem = self.at(message, found.source, found.offset).hint(
                    "pass it as a variable of the environment, write `{{ value | quote }}`, or let the definition say that it is a number",
                );
                self.find(Level::Warning, "shell-text", problem);
            }
        }
    }

    /// Labels are short and have few characters; only those in `global` are made to fit.
    fn labels(&mut self, uses: &[Use]) {
        for found in uses {
            let is_label = found
                .pointer
                .rsplit('/')
                .nth(1)
                .is_some_and(|field| matches!(field, "labels" | "matchLabels"));
            let tag = self.template.sources()[found.source].text[found.offset..].to_owned();
            let path = variable(&tag).unwrap_or_default();
            if is_label && !path.starts_with("global.") {
                let message = format!("`{path}` is used as a label; not every text can be one");
                let problem = self
                    .at(message, found.source, found.offset)
                    .hint("use an annotation");
                self.find(Level::Warning, "label-text", problem);
            }
        }
    }

    /// `bin/bash` depends on the directory that an image begins in.
    fn programs(&mut self, rendered: &Rendered) {
        for (object, origin) in rendered.objects.iter().zip(&rendered.sources) {
            let mut relative = Vec::new();
            commands(object, "", &mut relative);
            for (pointer, program) in relative {
                let message =
                    format!("the program `{program}` is looked for in the image's working directory");
                let problem = self
                    .template
                    .problem_at(Code::Policy, message, origin.of(&pointer))
                    .hint(format!("write `/{program}`"));
                self.find(Level::Note, "relative-program", problem);
            }
        }
    }

    /// What happens when something is left out, or is null.
    fn without(&mut self, values: &Value) {
        let names: BTreeSet<&str> = self
            .template
            .variables()
            .iter()
            .filter(|path| !is_given(path))
            .filter_map(|path| path.split('.').next())
            .collect();
        for name in names {
            if self.system_values.get(name).is_some() {
                continue;
            }
            let required = self
                .schema
                .and_then(|schema| schema.field(name))
                .is_some_and(|field| field.required);
            let mut changed = values.clone();
            changed[name] = Value::Null;
            if let Err(problems) = trial(self.template, &self.inputs(changed.clone()))
                && let Some(mut problem) = problems
                    .into_iter()
                    .find(|problem| problem.code == Code::Evaluation)
            {
                problem.message = format!("fails when `{name}` is null: {}", problem.message);
                self.find(Level::Warning, "fails-with-null", problem);
            }
            if let (false, Some(fields)) = (required || self.schema.is_none(), changed.as_object_mut()) {
                fields.remove(name);
                if let Err(problems) = trial(self.template, &self.inputs(changed))
                    && let Some(mut problem) = problems.into_iter().next()
                {
                    problem.message = format!(
                        "the definition says that `{name}` is optional, but without it: {}",
                        problem.message
                    );
                    self.find(Level::Warning, "not-optional", problem);
                }
            }
        }
    }
}

fn is_described(schema: &Schema, steps: &[&str]) -> bool {
    let mut field = schema.root();
    for step in steps {
        match field.child(step) {
            Some(child) => field = child,
            // Methods, and what is inside of values that may be anything.
            None => {
                return !std::ptr::eq(field, schema.root()) && (field.fields().is_empty() || is_method(step));
            }
        }
    }
    true
}

fn is_method(name: &str) -> bool {
    matches!(name, "get" | "items" | "keys" | "values")
}

/// Programs with a relative path, and where they are.
fn commands<'v>(value: &'v Value, pointer: &str, found: &mut Vec<(String, &'v str)>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let pointer = format!("{pointer}/{}", crate::policy::escaped(name));
                let program = field.get(0).and_then(Value::as_str).filter(|_| name == "command");
                found.extend(
                    program
                        .filter(|program| program.contains('/') && !program.starts_with(['/', '.', '$']))
                        .map(|program| (pointer.clone(), program)),
                );
                commands(field, &pointer, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                commands(item, &format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
