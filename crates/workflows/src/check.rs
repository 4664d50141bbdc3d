//! What is wrong with a workflow, before it runs: at which field, and why.

mod calls;
mod graphs;
mod leaves;
mod shape;
mod values;
mod variables;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    rc::Rc,
};

use serde_json::Value;

use crate::{
    model::{Arguments, Hook, Spec, Step, TemplateType},
    observed::TemplateSource,
    plan::Unknown,
};
use variables::Known;

/// Something that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// `spec.templates[0].steps[1][0].template`
    pub field: String,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.message)
    }
}

type Templates = BTreeMap<TemplateSource, Option<Value>>;

/// Checks an object of any kind of pipelines; nothing is said of other kinds. Of a workflow that names a template for
/// all of it, that template must be known.
pub fn object(
    object: &Value,
    templates: &Templates,
    unknown: &mut BTreeSet<Unknown>,
) -> Option<Vec<Problem>> {
    Some(match object["kind"].as_str().unwrap_or_default() {
        "Workflow" => match executed(object, templates) {
            Executed::Spec(spec) => workflow(object, &spec, templates, unknown),
            Executed::Missing(source) => vec![Problem {
                field: "spec.workflowTemplateRef.name".to_owned(),
                message: format!("there is no workflow template `{}`", source.name),
            }],
            Executed::Unknown(source) => {
                unknown.insert(Unknown::Template(source));
                Vec::new()
            }
        },
        "WorkflowTemplate" | "ClusterWorkflowTemplate" => template(object, templates, unknown),
        "CronWorkflow" => cron_workflow(object, templates, unknown),
        _ => return None,
    })
}

/// What a workflow runs.
enum Executed {
    /// Its own specification, over that of the template it names.
    Spec(Value),
    /// It names a template that is not there.
    Missing(TemplateSource),
    /// Nobody has looked for the template it names.
    Unknown(TemplateSource),
}

fn executed(object: &Value, templates: &Templates) -> Executed {
    let reference = &object["spec"]["workflowTemplateRef"];
    let Some(name) = reference["name"].as_str() else {
        return Executed::Spec(object["spec"].clone());
    };
    let source = TemplateSource {
        name: name.to_owned(),
        is_cluster: reference["clusterScope"] == true,
    };
    match templates.get(&source) {
        Some(Some(template)) => Executed::Spec(crate::over(&template["spec"], &object["spec"])),
        Some(None) => Executed::Missing(source),
        None => Executed::Unknown(source),
    }
}

/// Checks a workflow whose executed specification is `spec`. Templates of other objects that are not known
/// are noted, and the check has to be made again.
pub fn workflow(
    object: &Value,
    spec: &Value,
    templates: &Templates,
    unknown: &mut BTreeSet<Unknown>,
) -> Vec<Problem> {
    let mut check = Check::new(templates, unknown);
    let Some(read) = check.read_spec(spec) else {
        return check.problems;
    };
    if read.entrypoint.is_empty() {
        check.problem("spec.entrypoint", "spec.entrypoint is required");
        return check.problems;
    }
    check.metadata(object);
    check.spec(spec, &read, true);
    check.problems
}

/// Checks a WorkflowTemplate or ClusterWorkflowTemplate, which need not say how it begins.
pub fn template(object: &Value, templates: &Templates, unknown: &mut BTreeSet<Unknown>) -> Vec<Problem> {
    let mut check = Check::new(templates, unknown);
    let spec = &object["spec"];
    if let Some(read) = check.read_spec(spec) {
        let has_beginning = !read.entrypoint.is_empty();
        check.spec(spec, &read, has_beginning);
    }
    check.problems
}

/// Checks a CronWorkflow.
pub fn cron_workflow(object: &Value, templates: &Templates, unknown: &mut BTreeSet<Unknown>) -> Vec<Problem> {
    let spec = &object["spec"];
    let mut problems = Vec::new();
    if let Err(error) = crate::cron::Cron::read(object) {
        problems.push(Problem {
            field: format!("spec.{}", error.field),
            message: error.message,
        });
    }
    let inner = &spec["workflowSpec"];
    if inner["workflowTemplateRef"].is_null() {
        let found = workflow(&Value::Null, inner, templates, unknown);
        problems.extend(found.into_iter().map(|problem| Problem {
            field: problem.field.replacen("spec", "spec.workflowSpec", 1),
            message: problem.message,
        }));
    }
    problems
}

struct Check<'a> {
    templates: &'a Templates,
    unknown: &'a mut BTreeSet<Unknown>,
    problems: Vec<Problem>,
    /// Templates whose inside has been looked at, by where they are.
    visited: BTreeSet<String>,
    /// Objects with templates that were opened before.
    places: BTreeMap<TemplateSource, Place>,
}

/// Where a name of a template is looked up, and how its fields are told of.
#[derive(Clone)]
struct Place {
    source: Option<TemplateSource>,
    /// Shared: a place is handed on with every step.
    templates: Rc<[Value]>,
    /// Where in `templates` a name is.
    numbers: Rc<HashMap<String, usize>>,
    /// Before the number of a template: `spec.templates`, or the name of another object.
    prefix: String,
}

impl Place {
    fn new(source: Option<TemplateSource>, templates: &[Value], prefix: String) -> Self {
        let mut numbers = HashMap::new();
        for (number, template) in templates.iter().enumerate() {
            if let Some(name) = template["name"].as_str() {
                numbers.entry(name.to_owned()).or_insert(number);
            }
        }
        Self {
            source,
            templates: templates.into(),
            numbers: Rc::new(numbers),
            prefix,
        }
    }
}

impl<'a> Check<'a> {
    fn new(templates: &'a Templates, unknown: &'a mut BTreeSet<Unknown>) -> Self {
        Self {
            templates,
            unknown,
            problems: Vec::new(),
            visited: BTreeSet::new(),
            places: BTreeMap::new(),
        }
    }

    fn problem(&mut self, field: impl Into<String>, message: impl Into<String>) {
        let problem = Problem {
            field: field.into(),
            message: message.into(),
        };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn read_spec(&mut self, spec: &Value) -> Option<Spec> {
        if spec.is_null() {
            self.problem("spec", "spec is required");
            return None;
        }
        match Spec::deserialize_at(spec) {
            Ok(read) => Some(read),
            Err((field, message)) => {
                let field = if field.is_empty() {
                    "spec".to_owned()
                } else {
                    format!("spec.{field}")
                };
                self.problem(field, message);
                None
            }
        }
    }

    fn metadata(&mut self, object: &Value) {
        let name = object["metadata"]["name"].as_str();
        if let Some(name) = name.filter(|name| name.len() > 63) {
            self.problem(
                "metadata.name",
                format!(
                    "workflow name {name:?} must not be more than 63 characters long (currently {})",
                    name.len()
                ),
            );
        }
    }

    fn spec(&mut self, spec: &Value, read: &Spec, has_beginning: bool) {
        let place = Place::new(None, &read.templates, "spec.templates".to_owned());
        self.shapes(&place);
        self.spec_fields(read);
        if !self.problems.is_empty() {
            // What is no template cannot be asked what it needs.
            return;
        }
        let known = Known::of_workflow(spec, read);
        self.arguments_of_workflow(&read.arguments, &known, has_beginning);
        if !read.entrypoint.is_empty() {
            let entry = Step {
                template: read.entrypoint.clone(),
                ..Step::default()
            };
            self.call(
                &entry,
                &place,
                &read.arguments,
                "spec.entrypoint",
                "spec.arguments",
                &known,
            );
        }
        let mut hooks: Vec<(String, Hook)> = read
            .hooks
            .iter()
            .map(|(name, hook)| (format!("spec.hooks.{name}"), hook.clone()))
            .collect();
        if !read.on_exit.is_empty() {
            let hook = Hook {
                template: read.on_exit.clone(),
                arguments: read.arguments.clone(),
                ..Hook::default()
            };
            hooks.push(("spec.onExit".to_owned(), hook));
        }
        for (field, hook) in hooks {
            self.hook(&hook, &place, &field, &known.at_the_end());
        }
        // What nobody calls is not executed, but its parts can still be looked at.
        for (index, written) in read.templates.iter().enumerate() {
            self.inside(written, &place, &format!("spec.templates[{index}]"), &known);
        }
    }

    fn arguments_of_workflow(&mut self, arguments: &Arguments, known: &Known, must_have_values: bool) {
        for (index, parameter) in arguments.parameters.iter().enumerate() {
            let field = format!("spec.arguments.parameters[{index}]");
            if parameter.name.is_empty() {
                self.problem(format!("{field}.name"), "name is required");
            }
            let has_source = parameter
                .value_from
                .as_ref()
                .is_some_and(|source| source.config_map_key_ref.is_some() || source.supplied.is_some());
            let has_value = parameter.value.is_some() || parameter.default.is_some() || has_source;
            if must_have_values && !has_value {
                self.problem(
                    format!("{field}.value"),
                    format!(
                        "spec.arguments.{}.value or spec.arguments.{}.valueFrom is required",
                        parameter.name, parameter.name
                    ),
                );
            }
            if let (Some(value), Some(allowed)) = (&parameter.value, &parameter.r#enum)
                && !crate::tags::has_tags(&value.0)
                && !allowed.contains(value)
            {
                self.problem(
                    format!("{field}.value"),
                    format!(
                        "spec.arguments.{}.value should be present in spec.arguments.{}.enum list",
                        parameter.name, parameter.name
                    ),
                );
            }
            if let Some(value) = &parameter.value {
                self.text(&value.0, &format!("{field}.value"), known);
            }
        }
    }

    /// The template a step or hook refers to, where names in it are looked up, and where it is written.
    fn resolve(&mut self, step: &Step, place: &Place, field: &str) -> Option<(Place, Value, String)> {
        if !step.inline.is_null() {
            return Some((place.clone(), step.inline.clone(), format!("{field}.inline")));
        }
        let (place, name, field_of_name) = match &step.template_ref {
            None => (place.clone(), &step.template, format!("{field}.template")),
            Some(reference) => {
                let source = TemplateSource {
                    name: reference.name.clone(),
                    is_cluster: reference.cluster_scope,
                };
                let place = self.open(&source, &format!("{field}.templateRef.name"))?;
                (
                    place,
                    &reference.template,
                    format!("{field}.templateRef.template"),
                )
            }
        };
        let field_of_name = if field == "spec.entrypoint" || field == "spec.onExit" {
            field.to_owned()
        } else {
            field_of_name
        };
        if name.is_empty() {
            self.problem(field, "one of template, templateRef and inline is required");
            return None;
        }
        if crate::tags::has_tags(name) {
            // Which it is shows when it runs.
            return None;
        }
        let Some(index) = place.numbers.get(name).copied() else {
            let names = place
                .templates
                .iter()
                .filter_map(|template| template["name"].as_str());
            let hint =
                meant(name, names).map_or_else(String::new, |meant| format!("; did you mean '{meant}'?"));
            self.problem(field_of_name, format!("template name '{name}' undefined{hint}"));
            return None;
        };
        let written = place.templates[index].clone();
        let at = format!("{}[{index}]", place.prefix);
        Some((place, written, at))
    }

    fn open(&mut self, source: &TemplateSource, field: &str) -> Option<Place> {
        match self.templates.get(source) {
            None => {
                self.unknown.insert(Unknown::Template(source.clone()));
                None
            }
            Some(None) => {
                let kind = if source.is_cluster {
                    "cluster workflow template"
                } else {
                    "workflow template"
                };
                self.problem(field, format!("{kind} '{}' not found", source.name));
                None
            }
            Some(Some(found)) => {
                let place = self.places.entry(source.clone()).or_insert_with(|| {
                    let templates = found["spec"]["templates"].as_array();
                    let templates = templates.map(Vec::as_slice).unwrap_or_default();
                    let prefix = format!("{}: spec.templates", source.name);
                    Place::new(Some(source.clone()), templates, prefix)
                });
                Some(place.clone())
            }
        }
    }

    fn hook(&mut self, hook: &Hook, place: &Place, field: &str, known: &Known) {
        if !hook.expression.is_empty()
            && let Err(error) = crate::expression::read(&hook.expression)
        {
            self.problem(format!("{field}.expression"), error.to_string());
        }
        let step = Step {
            template: hook.template.clone(),
            template_ref: hook.template_ref.clone(),
            ..Step::default()
        };
        let arguments = format!("{field}.arguments");
        self.call(&step, place, &hook.arguments, field, &arguments, known);
    }
}

impl Spec {
    /// Reads a specification; an error names the field it is about as well as can be.
    fn deserialize_at(spec: &Value) -> Result<Self, (String, String)> {
        match serde_json::from_value(spec.clone()) {
            Ok(read) => Ok(read),
            Err(error) => {
                // The field is found by leaving out each in turn.
                let fields = spec.as_object().cloned().unwrap_or_default();
                let guilty = fields.keys().find(|name| {
                    let mut without = fields.clone();
                    without.remove(*name);
                    serde_json::from_value::<Self>(Value::Object(without)).is_ok()
                });
                Err((guilty.cloned().unwrap_or_default(), error.to_string()))
            }
        }
    }
}

/// A name that is almost the one that was written; of very short ones every other is.
fn meant<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    manifests::spelling::nearest(written, names).filter(|_| written.len() > 2)
}

fn kind_of(template: &Value) -> Option<TemplateType> {
    TemplateType::of(template)
}
