//! From templates, definitions and values to objects, and what is wrong with them, in the words of the service.
//! All of it is done by processes with limits (`render-worker`), as templates and schemas come from people.

use std::{collections::BTreeMap, path::PathBuf};

use reconcile::Cached as _;
use render_worker::{CheckRequest, OwnedDefinition, Pool, RenderRequest, SchemaReply, SchemaRequest};
use serde_json::{Map, Value, json};
use templates::{Allowed, Finding, Global, Inputs, Level, Policy};

use crate::{
    index::Index,
    problem::{Code, Mistake, Outcome, Problem},
    rows::{TemplateForm, put, text},
};

/// Renders templates, and judges them and what they are filled with.
pub(crate) struct Renderer {
    pool: Pool,
    /// Templates may include each other.
    templates: Index<TemplateForm>,
}

/// What a template is to be tried with.
pub(crate) struct Preview<'a> {
    /// The object.
    pub(crate) template: &'a Value,
    pub(crate) system_values: Value,
    pub(crate) values: Value,
    pub(crate) definition: &'a str,
    pub(crate) application: &'a str,
    pub(crate) creator: &'a str,
    pub(crate) release: &'a str,
    pub(crate) namespace: &'a str,
}

/// Whose mistake it is when something cannot be rendered.
#[derive(Clone, Copy)]
enum Blame<'a> {
    /// What was sent; this is the field with the text.
    Field(&'a str),
    /// Each text of a definition is a field of what was sent.
    Definition,
}

impl Renderer {
    pub(crate) fn new(program: PathBuf, templates: Index<TemplateForm>) -> Self {
        Self {
            pool: Pool::new(program),
            templates,
        }
    }

    /// Refuses values that are wrong for a definition, and says what is odd about others.
    pub(crate) async fn validate(&self, spec: &Value, values: &Value) -> Outcome<Vec<Value>> {
        let request = SchemaRequest {
            definition: definition(spec),
            values: Some(values.clone()),
            verdict_only: true,
        };
        let reply = self.pool.schema(request).await;
        let reply = reply.map_err(|problems| Problem {
            detail: "the definition cannot be used; it has to be registered anew".to_owned(),
            ..explained(problems, Blame::Field("/taskDef"))
        })?;
        let verdict = reply.verdict.unwrap_or_default();
        if !verdict.is_fine() {
            return Err(Problem::invalid(verdict.errors.into_iter().map(fault).collect()));
        }
        let warnings = verdict.warnings.into_iter().map(|warning| {
            let mut shown = json!({"pointer": warning.pointer, "detail": warning.message});
            put(&mut shown, "hint", warning.hint);
            shown
        });
        Ok(warnings.collect())
    }

    /// The objects that a template makes of values.
    pub(crate) async fn preview(&self, preview: Preview<'_>) -> Outcome<Vec<Value>> {
        let name = text(&preview.template["metadata"], "name");
        let spec = &preview.template["spec"];
        let request = RenderRequest {
            template: name.to_owned(),
            text: text(spec, "template").to_owned(),
            includes: self.includes(name, text(spec, "template")),
            inputs: Inputs {
                values: preview.values,
                system_values: preview.system_values,
                global: Global {
                    release: preview.release.to_owned(),
                    task_def: preview.definition.to_owned(),
                    application: preview.application.to_owned(),
                    creator: preview.creator.to_owned(),
                },
            },
            policy: Some(Policy::of_template(
                preview.namespace,
                preview.release,
                &allowed(spec, "allowedKinds"),
            )),
            traced: false,
        };
        let rendered = self.pool.render(request).await;
        rendered
            .map(|rendered| rendered.objects)
            .map_err(|problems| explained(problems, Blame::Field("")))
    }

    /// Whether a template can be published, and what is odd about it.
    pub(crate) async fn inspect(&self, sent: &Value) -> Outcome<Vec<Value>> {
        let findings = self.pool.check(self.check_of(sent)).await;
        let findings = findings.map_err(|problems| explained(problems, Blame::Field("/template")))?;
        Ok(warnings(findings))
    }

    /// Everything there is to say about a template.
    pub(crate) async fn report(&self, sent: &Value) -> Outcome<Value> {
        let findings = match self.pool.check(self.check_of(sent)).await {
            Ok(findings) => findings,
            Err(problems) if is_unavailable(&problems) => return Err(explained(problems, Blame::Field(""))),
            Err(problems) => problems.into_iter().map(Finding::unreadable).collect(),
        };
        Ok(json!({"findings": findings.into_iter().map(shown).collect::<Vec<_>>()}))
    }

    /// A template as it was sent.
    fn check_of(&self, sent: &Value) -> CheckRequest {
        CheckRequest {
            allowed: allowed(sent, "allowed_kinds"),
            ..self.check(text(sent, "name"), text(sent, "template"))
        }
    }

    fn check(&self, name: &str, text: &str) -> CheckRequest {
        CheckRequest {
            template: name.to_owned(),
            text: text.to_owned(),
            includes: self.includes(name, text),
            ..CheckRequest::default()
        }
    }

    /// Whether a definition can be registered, and what is odd about it beside its template.
    pub(crate) async fn inspect_definition(&self, spec: &Value, template: &Value) -> Outcome<Vec<Value>> {
        let system_values = system_values(spec).map_err(|problems| explained(problems, Blame::Definition))?;
        let request = SchemaRequest {
            definition: definition(spec),
            values: None,
            verdict_only: true,
        };
        let reply = self.pool.schema(request).await;
        reply.map_err(|problems| explained(problems, Blame::Definition))?;
        let (name, text) = (
            text(&template["metadata"], "name"),
            text(&template["spec"], "template"),
        );
        let request = CheckRequest {
            definition: Some(definition(spec)),
            system_values,
            allowed: allowed(&template["spec"], "allowedKinds"),
            ..self.check(name, text)
        };
        let findings = self.pool.check(request).await;
        let findings =
            findings.map_err(|problems| explained(problems, Blame::Field("/task_template_name")))?;
        Ok(warnings(findings))
    }

    pub(crate) async fn schema(&self, spec: &Value) -> Outcome<SchemaReply> {
        let request = SchemaRequest {
            definition: definition(spec),
            values: None,
            verdict_only: false,
        };
        let reply = self.pool.schema(request).await;
        reply.map_err(|problems| explained(problems, Blame::Field("")))
    }

    /// The templates whose names a template has in quotes, and those that they have.
    fn includes(&self, name: &str, text: &str) -> BTreeMap<String, String> {
        let all = self.templates.all(None, |_| true);
        let names: Vec<String> = all.iter().map(|row| row.name().to_owned()).collect();
        let text_of = |name: &str| {
            all.iter()
                .find(|row| row.name() == name)
                .map(|row| row.form.template())
        };
        templates::includes(name, text, &names, text_of)
    }
}

/// The values a definition fills in itself.
pub(crate) fn system_values(spec: &Value) -> Result<Value, Vec<templates::Problem>> {
    let values = templates::yaml("system_values", text(spec, "system_values"))?;
    Ok(if values.is_null() { json!({}) } else { values })
}

/// The same for one that was registered.
pub(crate) fn known_system_values(spec: &Value) -> Outcome<Value> {
    system_values(spec).map_err(|problems| explained(problems, Blame::Field("/taskDef")))
}

/// What a template was allowed, as the object or the service calls it.
pub(crate) fn allowed(spec: &Value, kinds: &str) -> Allowed {
    let kinds = spec[kinds].as_array().map(Vec::as_slice).unwrap_or_default();
    Allowed {
        trusted: spec["trusted"] == true,
        kinds: kinds
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    }
}

fn definition(spec: &Value) -> OwnedDefinition {
    OwnedDefinition {
        description: text(spec, "user_values_description").to_owned(),
        example: text(spec, "user_values_example").to_owned(),
        schema: spec
            .get("values_schema")
            .filter(|schema| schema.is_object())
            .cloned(),
    }
}

fn fault(fault: templates::Fault) -> Mistake {
    let mut more = Map::new();
    more.extend(
        fault
            .description
            .map(|text| ("description".to_owned(), json!(text))),
    );
    more.extend(fault.example.map(|example| ("example".to_owned(), example)));
    Mistake {
        pointer: fault.pointer,
        detail: fault.message,
        hint: fault.hint,
        more,
    }
}

fn is_unavailable(problems: &[templates::Problem]) -> bool {
    problems
        .iter()
        .any(|problem| problem.code == templates::Code::Worker)
}

/// What is wrong with a template or a definition, each with its place.
fn explained(problems: Vec<templates::Problem>, blame: Blame<'_>) -> Problem {
    if is_unavailable(&problems) {
        let why: Vec<String> = problems.iter().map(ToString::to_string).collect();
        tracing::warn!(why = why.join("; "), "a template could not be rendered");
        return Problem {
            retry_after: Some(1),
            ..Problem::new(
                Code::Unavailable,
                "nothing can be rendered at the moment; try again",
            )
        };
    }
    let code = match blame {
        Blame::Field(_) => Code::Unrenderable,
        Blame::Definition => Code::Invalid,
    };
    let mistakes = problems.into_iter().map(|problem| mistake(problem, blame));
    Problem {
        code,
        ..Problem::invalid(mistakes.collect())
    }
}

fn mistake(problem: templates::Problem, blame: Blame<'_>) -> Mistake {
    const TEXTS: [&str; 4] = [
        "user_values_description",
        "user_values_example",
        "system_values",
        "values_schema",
    ];
    let pointer = match (&problem.pointer, blame) {
        (Some(pointer), _) => pointer.clone(),
        (None, Blame::Field(field)) => field.to_owned(),
        (None, Blame::Definition) => {
            let place = problem.place.as_ref().map(|place| place.template.as_str());
            let named = TEXTS.into_iter().find(|name| problem.message.starts_with(name));
            let named = place.filter(|place| TEXTS.contains(place)).or(named);
            named.map(|name| format!("/{name}")).unwrap_or_default()
        }
    };
    let mut more = place(&problem);
    if let Some(snippet) = problem.snippet {
        more.insert("snippet".to_owned(), json!(snippet));
    }
    Mistake {
        pointer,
        detail: problem.message,
        hint: problem.hint,
        more,
    }
}

fn place(problem: &templates::Problem) -> Map<String, Value> {
    let mut members = Map::new();
    if let Some(place) = &problem.place {
        members.insert("template".to_owned(), json!(place.template));
        members.insert("line".to_owned(), json!(place.line));
        members.insert("column".to_owned(), json!(place.column));
    }
    members
}

fn warnings(findings: Vec<Finding>) -> Vec<Value> {
    let told = findings
        .into_iter()
        .filter(|finding| finding.level != Level::Note);
    told.map(|finding| {
        let pointer = finding.problem.pointer.clone();
        let mut warning = shown(finding);
        put(&mut warning, "pointer", pointer);
        warning
    })
    .collect()
}

fn shown(finding: Finding) -> Value {
    let mut shown = Value::Object(place(&finding.problem));
    shown["severity"] = json!(finding.level);
    shown["rule"] = json!(finding.rule);
    shown["detail"] = json!(finding.problem.message);
    put(&mut shown, "snippet", finding.problem.snippet);
    put(&mut shown, "hint", finding.problem.hint);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_definition_that_are_wrong_are_named() {
        let problems = system_values(&json!({"system_values": "x: [\n"})).unwrap_err();
        let problem = explained(problems, Blame::Definition);
        assert_eq!(
            (problem.code, problem.errors[0].pointer.as_str()),
            (Code::Invalid, "/system_values")
        );
    }

    #[test]
    fn a_worker_that_is_away_is_nobodys_mistake() {
        let problem = templates::Problem::new(templates::Code::Worker, "cannot start");
        let problem = explained(vec![problem], Blame::Field(""));
        assert_eq!((problem.code, problem.retry_after), (Code::Unavailable, Some(1)));
    }
}
