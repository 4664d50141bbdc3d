//! `list-setters`: what can be set, what it is set to, and how many fields it is for.

use serde_json::Value;

use crate::{
    Outcome, Package, Problem,
    definitions::{Definitions, EXTENSION, SETTER_PREFIX, SUBSTITUTION_PREFIX},
    inline, kpt,
    outcome::{Reach, scopes},
    package::Scope,
    set::{count_fields, marked},
    table::{Frame, render},
};

#[derive(Clone, Debug)]
pub struct ListSetters {
    /// Only this one.
    pub name: Option<String>,
    pub markdown: bool,
    pub include_substitutions: bool,
    /// Also of the packages below.
    pub recurse: bool,
}

impl Default for ListSetters {
    fn default() -> Self {
        Self {
            name: None,
            markdown: false,
            include_substitutions: false,
            recurse: true,
        }
    }
}

/// A setter as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    /// Of a list `[a,b]`.
    pub value: String,
    pub set_by: String,
    pub description: String,
    /// How many fields have it.
    pub count: usize,
    pub required: bool,
    pub is_set: bool,
}

impl ListSetters {
    pub fn run(&self, package: &Package) -> Outcome {
        match inline::is_used(package) {
            Err(problem) => return Outcome::failed(problem),
            Ok(true) => return inline::list(package, self.name.as_deref()),
            Ok(false) => {}
        }
        let scopes = match scopes(package, Reach::Defined, self.recurse) {
            Ok(scopes) => scopes,
            Err(problem) => return Outcome::failed(problem),
        };
        let mut outcome = Outcome::default();
        let mut parts = Vec::new();
        for scope in &scopes {
            let folder = format!("{}/\n", package.shown(&scope.folder));
            match self.tables(package, scope) {
                Ok((tables, is_empty)) => {
                    outcome.is_nothing_found |= is_empty;
                    parts.push(folder + &tables);
                }
                Err(problem) => {
                    parts.push(folder);
                    outcome.problem = Some(problem);
                    break;
                }
            }
        }
        outcome.output = parts.join("\n");
        outcome
    }

    fn tables(&self, package: &Package, scope: &Scope) -> Result<(String, bool), Problem> {
        let setters = setters(package, scope, self.name.as_deref())?;
        let rows: Vec<Vec<String>> = setters.iter().map(Listed::row).collect();
        let header = ["NAME", "VALUE", "SET BY", "DESCRIPTION", "COUNT", "REQUIRED"];
        let frame = if self.markdown {
            Frame::Markdown
        } else {
            Frame::Plain
        };
        let mut tables = render(&header, &rows, frame);
        if self.include_substitutions && !rows.is_empty() {
            tables += &self.substitutions(package, scope)?;
        }
        Ok((tables, rows.is_empty()))
    }

    fn substitutions(&self, package: &Package, scope: &Scope) -> Result<String, Problem> {
        let definitions = read_definitions(package, scope)?;
        let mut rows = Vec::new();
        for (name, definition) in definitions.with_prefix(SUBSTITUTION_PREFIX) {
            let key = format!("{SUBSTITUTION_PREFIX}{name}");
            let substitution = &definition[EXTENSION]["substitution"];
            if substitution.is_null() {
                return Err(missing(&definitions, &key, "substitution"));
            }
            let references = substitution["values"].as_array().into_iter().flatten();
            let references: Vec<String> = references
                .map(|value| reference_name(&shown(&value["ref"])))
                .collect();
            rows.push(vec![
                shown(&substitution["name"]),
                shown(&substitution["pattern"]),
                format!("[{}]", references.join(",")),
            ]);
        }
        rows.retain(|row| self.name.as_ref().is_none_or(|name| *name == row[0]));
        rows.sort_by(|a, b| a[0].cmp(&b[0]));
        if rows.is_empty() {
            return Ok(String::new());
        }
        let header = ["SUBSTITUTION", "PATTERN", "REFERENCES"];
        let is_markdown = self.markdown;
        Ok(render(&header, &rows, Frame::Ruled { is_markdown }))
    }
}

impl Listed {
    fn row(&self) -> Vec<String> {
        let required = if self.required { "Yes" } else { "No" };
        vec![
            self.name.clone(),
            self.value.clone(),
            self.set_by.clone(),
            self.description.clone(),
            self.count.to_string(),
            required.to_owned(),
        ]
    }
}

/// The setters of each package, for those who print them in their own way.
pub fn listed_setters(package: &Package, recurse: bool) -> Result<Vec<(String, Vec<Listed>)>, Problem> {
    let scopes = scopes(package, Reach::Defined, recurse)?;
    let listed = scopes
        .iter()
        .map(|scope| Ok((package.shown(&scope.folder), setters(package, scope, None)?)));
    listed.collect()
}

/// By name.
fn setters(package: &Package, scope: &Scope, only: Option<&str>) -> Result<Vec<Listed>, Problem> {
    let definitions = read_definitions(package, scope)?;
    let files = marked(package, scope)?;
    let mut setters = Vec::new();
    for (key_name, definition) in definitions.with_prefix(SETTER_PREFIX) {
        let setter = &definition[EXTENSION]["setter"];
        if setter.is_null() {
            return Err(missing(
                &definitions,
                &format!("{SETTER_PREFIX}{key_name}"),
                "setter",
            ));
        }
        let name = shown(&setter["name"]);
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let list = setter["listValues"].as_array().filter(|list| !list.is_empty());
        let list = list.map(|list| list.iter().map(shown).collect::<Vec<_>>().join(","));
        setters.push(Listed {
            value: list.map_or_else(|| shown(&setter["value"]), |list| format!("[{list}]")),
            set_by: shown(&setter["setBy"]),
            description: shown(&definition["description"]),
            count: count_fields(&files, &definitions, &name)?,
            required: setter["required"] == true,
            is_set: setter["isSet"] == true,
            name,
        });
    }
    setters.extend(kpt::setters(package, scope, only)?);
    setters.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(setters)
}

fn read_definitions(package: &Package, scope: &Scope) -> Result<Definitions, Problem> {
    let file = scope.definitions.as_deref().unwrap_or_default();
    Definitions::read(file, package.text(file).unwrap_or_default())
}

fn missing(definitions: &Definitions, key: &str, what: &str) -> Problem {
    let message = format!("missing x-k8s-cli.{what} for {key}");
    definitions.problem(&["openAPI", "definitions", key], message)
}

fn reference_name(reference: &str) -> String {
    let key = reference.strip_prefix("#/definitions/").unwrap_or(reference);
    let name = key
        .strip_prefix(SETTER_PREFIX)
        .or_else(|| key.strip_prefix(SUBSTITUTION_PREFIX));
    name.unwrap_or(reference).to_owned()
}

/// A value as a cell: texts as they are, nothing as nothing.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
