//! `grep`: prints the resources with a field that matches.

use std::cmp::Ordering;

use kinds::quantity::Quantity;
use regex::Regex;

use crate::{
    Outcome, Package, Problem,
    document::{Document, Fragment, Id},
    draft::Draft,
    outcome::{Reach, scopes},
    package::Scope,
    path::{Step, expression, parts, steps},
    resources::{PATH, Resource, all, read_scope},
};

#[derive(Clone, Debug)]
pub struct Grep {
    /// `PATH=REGEX`, or `PATH` and one of `<`, `<=`, `>`, `>=` and a quantity.
    pub query: String,
    /// Those that do not match.
    pub invert: bool,
    /// With annotations that say where they are from.
    pub annotate: bool,
    /// Also in the packages below.
    pub recurse: bool,
}

struct Query {
    steps: Vec<Step>,
    test: Test,
}

enum Test {
    Matches(Regex),
    Compares(fn(Ordering) -> bool, String),
}

impl Grep {
    pub fn run(&self, package: &Package) -> Outcome {
        match self.output(package) {
            Ok(output) => Outcome {
                output,
                ..Outcome::default()
            },
            Err(problem) => Outcome::failed(problem),
        }
    }

    fn output(&self, package: &Package) -> Result<String, Problem> {
        let query = Query::parse(&self.query)?;
        let mut packages = Vec::new();
        for scope in scopes(package, Reach::Any, self.recurse)? {
            let found = self.find(package, &scope, &query)?;
            if !found.is_empty() {
                packages.push(found.join("---\n"));
            }
        }
        Ok(packages.join("---\n"))
    }

    fn find(&self, package: &Package, scope: &Scope, query: &Query) -> Result<Vec<String>, Problem> {
        let files = read_scope(package, scope)?;
        let mut found = Vec::new();
        for resource in all(&files) {
            if query.is_met(resource)? != self.invert {
                found.push(self.print(scope, resource)?);
            }
        }
        Ok(found)
    }

    /// A resource as it is in its file.
    fn print(&self, scope: &Scope, resource: Resource<'_>) -> Result<String, Problem> {
        if !resource.is_document() {
            return Ok(resource.document().item_text(resource.root()));
        }
        let text = resource.document().document_text(resource.index).to_owned();
        let mut draft = Draft::new(&resource.file.path, &text)?;
        if self.annotate && draft.root().is_some_and(|root| draft.document().is_mapping(root)) {
            for (name, value) in origin(scope, resource) {
                draft.put(&["metadata", "annotations", name], Fragment::text(value))?;
            }
        }
        let text = draft.text();
        Ok(if text.ends_with('\n') { text } else { text + "\n" })
    }
}

/// Where a resource is from, as annotations. Of a stream only its place in it is known.
fn origin(scope: &Scope, resource: Resource<'_>) -> Vec<(&'static str, String)> {
    let mut origin = vec![("config.kubernetes.io/index", resource.index.to_string())];
    if !resource.file.is_stream {
        let path = &resource.file.path;
        let path = path.strip_prefix(&scope.folder).unwrap_or(path);
        origin.push((PATH, path.trim_start_matches('/').to_owned()));
    }
    origin
}

/// A sign and what it asks of two values.
type Comparison = (&'static str, fn(Ordering) -> bool);

impl Query {
    fn parse(query: &str) -> Result<Self, Problem> {
        let mut parts = parts(query)?;
        let last = parts.pop().unwrap_or_default();
        let tests: [Comparison; 4] = [
            (">=", Ordering::is_ge),
            ("<=", Ordering::is_le),
            (">", Ordering::is_gt),
            ("<", Ordering::is_lt),
        ];
        let is_element = last.starts_with('[');
        let compared = tests
            .into_iter()
            .find(|(sign, _)| last.contains(sign) && !is_element);
        let sign = compared.map_or("=", |(sign, _)| sign);
        let pieces: Vec<&str> = if is_element {
            vec![&last]
        } else {
            last.split(sign).collect()
        };
        let (name, value) = match pieces.as_slice() {
            [name] => (*name, ""),
            [name, value] => (*name, *value),
            _ => {
                let message = format!(
                    "ambiguous match -- multiple of ['<', '>', '<=', '>=', '=' in final path element: {last}"
                );
                return Err(Problem::new(message));
            }
        };
        parts.push(name.to_owned());
        let test = match compared {
            Some((_, test)) => Test::Compares(test, value.to_owned()),
            None => Test::Matches(expression(value)?),
        };
        Ok(Self {
            steps: steps(&parts)?,
            test,
        })
    }

    fn is_met(&self, resource: Resource<'_>) -> Result<bool, Problem> {
        let document = resource.document();
        for found in document.matches(resource.root(), &self.steps) {
            let is_met = match &self.test {
                Test::Matches(pattern) => pattern.is_match(document.flow(found.id).replace('"', "").trim()),
                Test::Compares(test, bound) => {
                    match document.value(found.id).filter(|value| !value.is_empty()) {
                        Some(value) => test(compare(value, bound)?),
                        None => false,
                    }
                }
            };
            if is_met {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn compare(value: &str, bound: &str) -> Result<Ordering, Problem> {
    let quantity =
        |text: &str| Quantity::parse(text).map_err(|error| Problem::new(format!("{text}: {error}")));
    Ok(quantity(value)?.cmp(&quantity(bound)?))
}

impl Document {
    /// The lines of an item of a list, as they would be without the list.
    fn item_text(&self, item: Id) -> String {
        let span = &self.node(item).span;
        let margin = self.column(span.start);
        let is_in_margin = |(index, sign): &(usize, char)| *index < margin && *sign == ' ';
        let lines = self.text()[span.start..span.end].trim_end().split('\n');
        let lines = lines.enumerate().map(|(index, line)| {
            let spaces = line.char_indices().take_while(is_in_margin).count();
            let line = if index == 0 { line } else { &line[spaces..] };
            format!("{line}\n")
        });
        lines.collect()
    }

    /// The lines of a document, by its place among those that are not empty: from behind the `---` above it to the
    /// next.
    pub(crate) fn document_text(&self, index: usize) -> &str {
        let root = self.node(self.roots()[index]);
        let text = self.text();
        let is_separator =
            |line: &str| line == "---" || line.starts_with("--- ") || line.starts_with("---\t");
        let (mut start, mut end, mut at) = (0, text.len(), 0);
        for line in text.split_inclusive('\n') {
            if is_separator(line.trim_end()) {
                if at >= root.span.end {
                    end = at;
                    break;
                }
                if at < root.start {
                    start = at + line.len();
                }
            }
            at += line.len();
        }
        &text[start.min(end)..end]
    }
}
