//! `create-setter`: a definition, and its marker on the fields that have the value.

use serde_json::{Map, Value};

use crate::{
    Outcome, Package, Problem,
    create::Selection,
    definitions::{Definitions, EXTENSION, SETTER_PREFIX},
    document::Fragment,
    draft::Draft,
    inline,
    outcome::{Change, Reach, on_packages},
    package::Scope,
};

#[derive(Clone, Debug, Default)]
pub struct CreateSetter {
    pub name: String,
    /// Fields with this value; of a list none is given, it is taken from the field.
    pub value: Option<String>,
    /// A field, or the end of a path to it.
    pub field: Option<String>,
    pub kind: Option<String>,
    pub description: Option<String>,
    pub set_by: Option<String>,
    pub required: bool,
    /// Only a part of the field is the value; of setters that are defined in comments only.
    pub partial: bool,
    /// The text of a file with an OpenAPI schema, in JSON.
    pub schema: Option<String>,
    /// Also in the packages below.
    pub recurse: bool,
}

/// The fields of a schema that are kept; a definition has room for no others.
const SCHEMA_FIELDS: &[&str] = &[
    "id",
    "$ref",
    "$schema",
    "description",
    "type",
    "nullable",
    "format",
    "title",
    "default",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "enum",
    "maxProperties",
    "minProperties",
    "required",
    "items",
    "allOf",
    "oneOf",
    "anyOf",
    "not",
    "properties",
    "additionalProperties",
    "patternProperties",
    "dependencies",
    "additionalItems",
    "definitions",
];

const TYPES: &[&str] = &[
    "object", "array", "string", "integer", "number", "boolean", "file", "null",
];

impl CreateSetter {
    pub fn run(&self, package: &Package) -> Outcome {
        let schema = match self.check() {
            Ok(schema) => schema,
            Err(problem) => return Outcome::failed(problem),
        };
        match inline::is_used(package) {
            Ok(false) => {}
            Ok(true) => return inline::create(package, self),
            Err(problem) => return Outcome::failed(problem),
        }
        on_packages(package, Reach::Defined, self.recurse, |scope| {
            self.create(package, scope, &schema)
        })
    }

    /// What can be said before any package is looked at; the schema with the type from either side.
    fn check(&self) -> Result<Map<String, Value>, Problem> {
        let is_list = self.kind.as_deref() == Some("array");
        if self.value.is_none() && !is_list {
            return Err(Problem::new(
                "setter name and value must be provided, value can either be an argument or can be passed as a flag \
                 --value",
            ));
        }
        let schema = self.read_schema()?;
        let kind = schema.get("type").and_then(Value::as_str);
        if kind == Some("array") && self.field.is_none() {
            return Err(Problem::new("field flag must be set for array type setters"));
        }
        Ok(schema)
    }

    fn read_schema(&self) -> Result<Map<String, Value>, Problem> {
        let text = self
            .schema
            .as_deref()
            .filter(|text| !text.is_empty())
            .unwrap_or("{}");
        let unreadable = |error: String| Problem::new(format!("unable to parse schema: {error}"));
        let schema: Value = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        let Value::Object(mut schema) = schema else {
            return Err(unreadable("it is not an object".to_owned()));
        };
        schema.retain(|field, _| SCHEMA_FIELDS.contains(&field.as_str()));
        if let Some(Value::Array(types)) = schema.get("type") {
            match types.as_slice() {
                [one] => drop(schema.insert("type".to_owned(), one.clone())),
                many => {
                    let many: Vec<&str> = many.iter().filter_map(Value::as_str).collect();
                    let many = many.join(", ");
                    return Err(Problem::new(format!("only one type is supported: {many}")));
                }
            }
        }
        match (&self.kind, schema.get("type").and_then(Value::as_str)) {
            (Some(flag), Some(own)) if flag != own => {
                let message =
                    format!("type provided in type flag ({flag}) and in schema ({own}) doesn't match");
                return Err(Problem::new(message));
            }
            (Some(flag), _) if !flag.is_empty() => {
                schema.insert("type".to_owned(), Value::from(flag.as_str()));
            }
            _ => {}
        }
        Ok(schema)
    }

    fn create(
        &self,
        package: &Package,
        scope: &Scope,
        schema: &Map<String, Value>,
    ) -> Result<Change, Problem> {
        let file = scope.definitions.as_deref().unwrap_or_default();
        let text = package.text(file).unwrap_or_default();
        let definitions = Definitions::read(file, text)?;
        self.check_name(&definitions)?;
        check_types(&Value::Object(schema.clone())).map_err(|problem| Problem {
            message: format!("invalid schema: {}", problem.message),
            ..problem
        })?;
        let kind = schema.get("type").and_then(Value::as_str);
        let selection = Selection {
            name: &self.name,
            field: self.field.as_deref().unwrap_or_default(),
            value: self.value.as_deref().unwrap_or_default(),
            lists_only: kind == Some("array"),
        };
        // Alone among the commands it also marks fields of the packages below.
        let marked = selection.mark(package, &package.all_resources(scope))?;
        let mut message = String::new();
        if marked.count == 0 {
            message = format!(
                "setter {:?} doesn't match any field in resource configs, but creating setter definition\n",
                self.name
            );
        }
        message += &format!("created setter {:?}\n", self.name);
        let mut draft = Draft::new(file, text)?;
        draft.put(
            &["openAPI", "definitions", &format!("{SETTER_PREFIX}{}", self.name)],
            self.definition(schema, &marked.list_values),
        )?;
        let mut edits = marked.edits;
        edits.insert(file.to_owned(), draft.text());
        Ok(Change { message, edits })
    }

    fn check_name(&self, definitions: &Definitions) -> Result<(), Problem> {
        let name = &self.name;
        let message = if definitions.contains_substitution(name) {
            format!(
                "substitution with name {name:?} already exists, substitution and setter can't have same name"
            )
        } else if definitions.contains_setter(name) {
            format!(
                "setter with name {name:?} already exists, if you want to modify it, please delete the existing \
                 setter and recreate it"
            )
        } else {
            return Ok(());
        };
        let key = definitions
            .key_of(&crate::marker::Marker::Named(name.clone()))
            .unwrap_or_default();
        Err(definitions.problem(&["openAPI", "definitions", &key], message))
    }

    fn definition(&self, schema: &Map<String, Value>, list_values: &[String]) -> Fragment {
        let text = |text: &Option<String>| text.as_ref().filter(|text| !text.is_empty()).map(Fragment::text);
        let is_list = !list_values.is_empty();
        let value = if is_list {
            String::new()
        } else {
            self.value.clone().unwrap_or_default()
        };
        let setter = Fragment::map([
            ("name", Some(Fragment::text(&self.name))),
            ("value", Some(Fragment::text(value))),
            ("listValues", is_list.then(|| Fragment::texts(list_values))),
            ("setBy", text(&self.set_by)),
            (
                "required",
                self.required.then(|| Fragment::Plain("true".to_owned())),
            ),
        ]);
        let mut fields: Vec<(String, Fragment)> = Vec::new();
        let described = |field: &&String| self.description.is_none() || *field != "description";
        for field in schema.keys().filter(described) {
            fields.push((field.clone(), Fragment::from(&schema[field])));
        }
        if let Some(description) = text(&self.description) {
            fields.insert(0, ("description".to_owned(), description));
        }
        fields.push((
            EXTENSION.to_owned(),
            Fragment::Map(vec![("setter".to_owned(), setter)]),
        ));
        Fragment::Map(fields)
    }
}

/// Whether a schema has only types there are.
fn check_types(schema: &Value) -> Result<(), Problem> {
    if let Some(name) = schema["type"].as_str()
        && !TYPES.contains(&name)
    {
        let known = TYPES.join(", ");
        return Err(Problem::new(format!(
            "type {name:?} is not supported. Must be one of: {known}"
        )));
    }
    match &schema["items"] {
        Value::Array(items) => items.iter().try_for_each(check_types),
        items @ Value::Object(_) => check_types(items),
        _ => Ok(()),
    }
}
