//! Values come into the parsed documents: into scalars and keys, never between them.

use std::collections::BTreeMap;

use manifests::yaml::{Content, Documents, Index, Meaning, Node, Scalar, Style, Tree, resolve};
use minijinja::value::ValueKind;
use serde_json::{Map as Object, Value, map::Entry};

use super::{Origin, Rendered, map::Map, shell};
use crate::{
    limits::{OBJECTS, OUTPUT_BYTES, PROBLEMS},
    policy::escaped,
    problem::{Code, Place, Problem},
    python,
    template::Structure,
    tokens::{self, Part},
};

/// Nodes of all documents, counting those that aliases bring again.
const NODES: usize = 100_000;

pub(super) struct Filler<'a> {
    map: &'a Map<'a>,
    written: &'a [minijinja::Value],
    traced: bool,
    /// The names and numbers that lead to the node being filled.
    path: Vec<Step>,
    object: usize,
    nodes: usize,
    bytes: usize,
    /// Texts of the template with texts of users in them.
    mixed: Vec<shell::Mixed>,
    uses: Vec<Use>,
    fields: BTreeMap<String, Place>,
}

/// A value in a scalar.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    /// Which object, counted from zero, and where in it.
    pub(crate) object: usize,
    pub(crate) pointer: String,
    /// Which text of the template printed it, and where.
    pub(crate) source: usize,
    pub(crate) offset: usize,
    /// Whether the scalar is this value and nothing else.
    pub(crate) whole: bool,
}

enum Step {
    Name(String),
    Number(usize),
}

impl<'a> Filler<'a> {
    pub(super) fn new(map: &'a Map<'a>, written: &'a [minijinja::Value], traced: bool) -> Self {
        Self {
            map,
            written,
            traced,
            path: Vec::new(),
            object: 0,
            nodes: 0,
            bytes: 0,
            mixed: Vec::new(),
            uses: Vec::new(),
            fields: BTreeMap::new(),
        }
    }

    /// Every document that is not empty, as an object of Kubernetes; and where tracing is on, every value in them.
    pub(super) fn documents(mut self) -> Result<(Rendered, Vec<Use>), Vec<Problem>> {
        let mut rendered = Rendered::default();
        let mut problems = Vec::new();
        let mut documents = Documents::new(&self.map.text);
        loop {
            let tree = match documents.next() {
                Ok(Some(tree)) => tree,
                Ok(None) => break,
                Err(error) => {
                    problems.push(self.problem(Code::Yaml, error.message, error.line, error.column));
                    break;
                }
            };
            self.object = rendered.objects.len();
            match self.document(&tree) {
                Ok(None) => {}
                Ok(Some((object, origin, found))) => {
                    problems.extend(found);
                    rendered.objects.push(object);
                    rendered.sources.push(origin);
                }
                Err(problem) => problems.push(*problem),
            }
            if rendered.objects.len() > OBJECTS {
                let message = format!("the template makes more than {OBJECTS} objects");
                problems.push(Problem::new(Code::Limit, message));
            }
            // One is enough of those.
            if problems.last().is_some_and(|problem| problem.code == Code::Limit) || problems.len() > PROBLEMS
            {
                break;
            }
        }
        if rendered.objects.is_empty() && problems.is_empty() {
            problems.push(Problem::new(
                Code::Object,
                "the template makes no objects with these values",
            ));
        }
        if problems.is_empty() {
            Ok((rendered, self.uses))
        } else {
            Err(problems)
        }
    }

    #[expect(
        clippy::type_complexity,
        reason = "an object, where it is from, and what is wrong in it"
    )]
    fn document(&mut self, tree: &Tree<'_>) -> Result<Option<(Value, Origin, Vec<Problem>)>, Box<Problem>> {
        self.mixed.clear();
        self.path.clear();
        let object = self.value(tree, tree.root)?;
        if object.is_null() {
            return Ok(None);
        }
        let start = tree.nodes[tree.root].place;
        let wrong = wrong_object(&object);
        let mut problems: Vec<Problem> = wrong
            .map(|message| self.problem(Code::Object, message, start.line, start.column))
            .into_iter()
            .collect();
        problems.extend(shell::problems(&object, &self.mixed));
        let origin = Origin {
            place: self.map.place(start.line, start.column),
            fields: std::mem::take(&mut self.fields),
        };
        Ok(Some((object, origin, problems)))
    }

    fn problem(&self, code: Code, message: impl Into<String>, line: u64, column: u64) -> Problem {
        let (source, offset) = self.map.origin(line, column);
        Problem::new(code, message).at(&source.name, &source.text, offset)
    }

    fn fault(&self, code: Code, message: impl Into<String>, node: &Node<'_>) -> Box<Problem> {
        Box::new(self.problem(code, message, node.place.line, node.place.column))
    }

    fn value(&mut self, tree: &Tree<'_>, index: Index) -> Result<Value, Box<Problem>> {
        let node = self.enter(tree, index)?;
        match &node.content {
            Content::Scalar(scalar) => self.scalar(scalar, node),
            Content::Sequence(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (number, item) in items.iter().enumerate() {
                    self.path.push(Step::Number(number));
                    list.push(self.value(tree, *item)?);
                    self.path.pop();
                }
                Ok(Value::Array(list))
            }
            Content::Mapping(pairs) => self.mapping(tree, pairs).map(Value::Object),
            Content::Alias(target) => self.value(tree, *target),
        }
    }

    fn mapping(
        &mut self,
        tree: &Tree<'_>,
        pairs: &[(Index, Index)],
    ) -> Result<Object<String, Value>, Box<Problem>> {
        let mut object = Object::new();
        let mut merged = Vec::new();
        for (key, value) in pairs {
            let node = &tree.nodes[*key];
            // Decided by what the template wrote: a value is never a merge.
            if matches!(&node.content, Content::Scalar(scalar) if scalar.is_merge()) {
                merged.push(*value);
                continue;
            }
            let name = self.key(tree, *key)?;
            self.path.push(Step::Name(name.clone()));
            if self.traced {
                let pointer = self.pointer();
                self.fields
                    .insert(pointer, self.map.place(node.place.line, node.place.column));
            }
            let value = self.value(tree, *value)?;
            self.path.pop();
            match object.entry(name) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(_) => {
                    return Err(self.fault(Code::Yaml, "a mapping has the same key twice", node));
                }
            }
        }
        for index in merged {
            self.merge(tree, index, &mut object)?;
        }
        Ok(object)
    }

    /// `<<`: entries that are not there yet, of one mapping or of several.
    fn merge(
        &mut self,
        tree: &Tree<'_>,
        index: Index,
        object: &mut Object<String, Value>,
    ) -> Result<(), Box<Problem>> {
        let node = self.enter(tree, index)?;
        match &node.content {
            Content::Mapping(pairs) => {
                for (name, value) in self.mapping(tree, pairs)? {
                    object.entry(name).or_insert(value);
                }
                Ok(())
            }
            Content::Sequence(items) => items.iter().try_for_each(|item| self.merge(tree, *item, object)),
            Content::Alias(target) => self.merge(tree, *target, object),
            Content::Scalar(_) => Err(self.fault(Code::Yaml, "only mappings can be merged with `<<`", node)),
        }
    }

    fn key(&mut self, tree: &Tree<'_>, index: Index) -> Result<String, Box<Problem>> {
        let node = self.enter(tree, index)?;
        let scalar = match &node.content {
            Content::Scalar(scalar) => scalar,
            Content::Alias(target) => return self.key(tree, *target),
            _ => return Err(self.fault(Code::Yaml, "a list or mapping cannot be a key", node)),
        };
        if tokens::find(&scalar.text).is_some() {
            return self.filled(&scalar.text, node).map(|filled| filled.text);
        }
        let meaning = scalar
            .meaning()
            .map_err(|message| self.fault(Code::Yaml, message, node))?;
        meaning
            .into_key()
            .map_err(|_| self.fault(Code::Yaml, "a key must be a text, a number or a boolean", node))
    }

    fn enter<'n>(&mut self, tree: &'n Tree<'n>, index: Index) -> Result<&'n Node<'n>, Box<Problem>> {
        let node = &tree.nodes[index];
        self.nodes += 1;
        if self.nodes > NODES || self.path.len() > 2 * manifests::yaml::MAX_DEPTH {
            return Err(self.fault(
                Code::Limit,
                "what the template makes is too large or too deep",
                node,
            ));
        }
        Ok(node)
    }

    fn scalar(&mut self, scalar: &Scalar<'_>, node: &Node<'_>) -> Result<Value, Box<Problem>> {
        self.count(scalar.text.len(), node)?;
        if tokens::find(&scalar.text).is_none() {
            let meaning = scalar.meaning().and_then(Meaning::into_value);
            return meaning.map_err(|message| self.fault(Code::Yaml, message, node));
        }
        if self.traced {
            self.note(&scalar.text);
        }
        let is_bare = scalar.style == Style::Plain && scalar.tag.is_none();
        if is_bare && let Some(value) = self.whole(&scalar.text) {
            return self.typed(&value, node);
        }
        let filled = self.filled(&scalar.text, node)?;
        if scalar.tag.is_some() {
            let scalar = Scalar {
                text: filled.text.into(),
                style: scalar.style,
                tag: scalar.tag.clone(),
            };
            let meaning = scalar.meaning().and_then(Meaning::into_value);
            return meaning
                .map_err(|_| self.fault(Code::Yaml, "the value does not fit the tag before it", node));
        }
        // Digits of numbers may join to a number; the text of a user is text.
        if is_bare && !filled.has_text {
            let meaning = resolve(&filled.text).into_value();
            return meaning.map_err(|message| self.fault(Code::Yaml, message, node));
        }
        if let Some(number) = filled.active {
            let tag = self.map.tag(number);
            let (source, offset) = tag.unwrap_or_else(|| self.map.origin(node.place.line, node.place.column));
            self.mixed.push(shell::Mixed {
                pointer: self.pointer(),
                place: (source.name.clone(), source.text.clone(), offset),
            });
        }
        Ok(Value::String(filled.text))
    }

    /// Remembers which values come into a text.
    fn note(&mut self, text: &str) {
        let parts: Vec<Part<'_>> = tokens::parts(text).collect();
        for part in &parts {
            if let Part::Value(number) = part
                && let Some((source, offset)) = self.map.tag(*number)
            {
                self.uses.push(Use {
                    object: self.object,
                    pointer: self.pointer(),
                    source: source.number,
                    offset,
                    whole: parts.len() == 1,
                });
            }
        }
    }

    /// The value of a text that is one token and nothing else.
    fn whole(&self, text: &str) -> Option<minijinja::Value> {
        let mut parts = tokens::parts(text);
        match (parts.next()?, parts.next()) {
            (Part::Value(number), None) => self.written.get(number).cloned(),
            _ => None,
        }
    }

    /// A value that keeps its type.
    fn typed(&mut self, value: &minijinja::Value, node: &Node<'_>) -> Result<Value, Box<Problem>> {
        match value.kind() {
            ValueKind::Undefined | ValueKind::None => Ok(Value::Null),
            ValueKind::Bool => Ok(value.is_true().into()),
            ValueKind::Number => self.json(value, node),
            _ => match value.downcast_object_ref::<Structure>() {
                Some(structure) => self.json(&structure.value, node),
                None => self.text_of(value, usize::MAX, node).map(Value::String),
            },
        }
    }

    fn json(&mut self, value: &minijinja::Value, node: &Node<'_>) -> Result<Value, Box<Problem>> {
        let mut json = serde_json::to_value(value)
            .map_err(|_| self.fault(Code::Evaluation, "the value cannot be written as JSON", node))?;
        self.show(&mut json, node)?;
        Ok(json)
    }

    /// Undoes what hides our characters, in everything a value has.
    fn show(&mut self, value: &mut Value, node: &Node<'_>) -> Result<(), Box<Problem>> {
        match value {
            Value::String(text) => {
                *text = self.expanded(text, usize::MAX, node)?;
                self.count(text.len(), node)
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.show(item, node)),
            Value::Object(fields) => {
                if fields.keys().any(|name| tokens::find(name).is_some()) {
                    let renamed = std::mem::take(fields).into_iter();
                    *fields = renamed
                        .map(|(name, field)| (tokens::shown(&name), field))
                        .collect();
                }
                fields.values_mut().try_for_each(|field| self.show(field, node))
            }
            _ => self.count(8, node),
        }
    }

    /// A text with its tokens replaced.
    fn filled(&mut self, text: &str, node: &Node<'_>) -> Result<Filled, Box<Problem>> {
        let mut filled = Filled::default();
        for part in tokens::parts(text) {
            match part {
                Part::Text(part) => filled.text.push_str(part),
                Part::Site(_) => {}
                Part::Value(number) => {
                    let Some(value) = self.written.get(number) else {
                        return Err(self.fault(Code::Evaluation, "the template makes up a value", node));
                    };
                    let text = self.text_of(value, number, node)?;
                    if !matches!(
                        value.kind(),
                        ValueKind::Number | ValueKind::Bool | ValueKind::Undefined
                    ) {
                        filled.has_text = true;
                        if value.kind() != ValueKind::Plain && !shell::is_inert(&text) {
                            filled.active = filled.active.or(Some(number));
                        }
                    }
                    filled.text.push_str(&text);
                }
            }
        }
        Ok(filled)
    }

    /// A value as a part of a text; mappings and lists are JSON.
    fn text_of(
        &mut self,
        value: &minijinja::Value,
        number: usize,
        node: &Node<'_>,
    ) -> Result<String, Box<Problem>> {
        let text = match value.kind() {
            ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => {
                let json = self.json(value, node)?;
                return Ok(python::json(&json, false));
            }
            ValueKind::String => self.expanded(value.as_str().unwrap_or_default(), number, node)?,
            ValueKind::Plain => self.expanded(&value.to_string(), number, node)?,
            _ => python::text(value),
        };
        self.count(text.len(), node)?;
        Ok(text)
    }

    /// A text that templates made of rendered text may have tokens itself, of values that were printed before it.
    fn expanded(&mut self, text: &str, before: usize, node: &Node<'_>) -> Result<String, Box<Problem>> {
        if tokens::find(text).is_none() {
            return Ok(text.to_owned());
        }
        let mut expanded = String::new();
        for part in tokens::parts(text) {
            match part {
                Part::Text(part) => expanded.push_str(&tokens::shown(part)),
                Part::Site(_) => {}
                Part::Value(number) => {
                    let value = self.written.get(number).filter(|_| number < before);
                    let Some(value) = value.cloned() else {
                        return Err(self.fault(Code::Evaluation, "the template makes up a value", node));
                    };
                    expanded.push_str(&self.text_of(&value, number, node)?);
                }
            }
        }
        Ok(expanded)
    }

    /// A small template must not make large objects of one value.
    fn count(&mut self, bytes: usize, node: &Node<'_>) -> Result<(), Box<Problem>> {
        self.bytes += bytes;
        if self.bytes > OUTPUT_BYTES {
            let message = format!("what the template makes has more than {OUTPUT_BYTES} bytes");
            return Err(self.fault(Code::Limit, message, node));
        }
        Ok(())
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.path {
            pointer.push('/');
            match step {
                Step::Name(name) => pointer.push_str(&escaped(name)),
                Step::Number(number) => pointer.push_str(&number.to_string()),
            }
        }
        pointer
    }
}

#[derive(Default)]
struct Filled {
    text: String,
    /// Whether any of the values is more than a number.
    has_text: bool,
    /// The first that has characters that mean something to shells.
    active: Option<usize>,
}

/// What is missing for an object of Kubernetes.
fn wrong_object(object: &Value) -> Option<String> {
    let Value::Object(_) = object else {
        return Some("a document of the template is not a mapping".to_owned());
    };
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    if object.get("items").is_some_and(Value::is_array)
        && text("/kind").is_some_and(|kind| kind.ends_with("List"))
    {
        return Some(
            "a List is not an object: write its items as documents, with `---` between them".to_owned(),
        );
    }
    let wanted = [
        ("/apiVersion", "apiVersion"),
        ("/kind", "kind"),
        ("/metadata/name", "metadata.name"),
    ];
    let missing = wanted.iter().find(|(pointer, _)| text(pointer).is_none())?;
    Some(format!("an object needs a text as its `{}`", missing.1))
}
