//! A template that has been read: its texts, what it includes, and the engine that runs it.

mod engine;
mod failure;
mod rules;
mod source;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use minijinja::Environment;

pub(crate) use engine::{Structure, Written, engine_value, plain};
pub(crate) use failure::failure;
use rules::Reference;
pub(crate) use source::Source;

use crate::{
    limits::{INCLUDES_BYTES, PROBLEMS, TEMPLATE_BYTES},
    problem::{Code, Place, Problem},
};

/// A template and what it may include.
pub struct Template {
    name: String,
    environment: Environment<'static>,
    /// The template itself first.
    sources: Vec<Source>,
    variables: BTreeSet<String>,
}

impl std::fmt::Debug for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Template")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Template {
    /// Reads a template. `includes` are the texts it may include, import or extend, by name.
    pub fn parse(name: &str, text: &str, includes: &BTreeMap<String, String>) -> Result<Self, Vec<Problem>> {
        // Texts that went through forms of browsers have the line ends of those.
        let texts: Vec<(&str, Cow<'_, str>)> = std::iter::once((name, text))
            .chain(includes.iter().map(|(name, text)| (name.as_str(), text.as_str())))
            .map(|(name, text)| (name, line_ends(text)))
            .collect();
        let mut problems = sizes(&texts);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut sources = Vec::new();
        let mut references = BTreeMap::new();
        let mut sites = 0;
        for (name, text) in &texts {
            match rules::look(name, text) {
                Ok(found) => {
                    let source = Source::new(sources.len(), name, text, sites);
                    sites += source.sites.len();
                    sources.push(source);
                    references.insert((*name).to_owned(), found.references);
                    problems.extend(found.problems);
                }
                Err(problem) => problems.push(*problem),
            }
        }
        if problems.is_empty() {
            problems = unfit_references(&sources, &references);
        }
        problems.truncate(PROBLEMS);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut environment = engine::environment();
        for source in &sources {
            environment
                .add_template_owned(source.name.clone(), source.annotated.clone())
                .map_err(|error| vec![failure(&sources, &error, &[])])?;
        }
        let variables = variables(&sources);
        Ok(Self {
            name: name.to_owned(),
            environment,
            sources,
            variables,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text as it was given.
    pub fn text(&self) -> &str {
        &self.sources[0].text
    }

    /// The values it may use, as paths with dots: `image.tag`, `process.train.number`.
    pub fn variables(&self) -> &BTreeSet<String> {
        &self.variables
    }

    /// A problem with something that was written at a place, with the line that it is in.
    pub fn problem_at(&self, code: Code, message: impl Into<String>, place: &Place) -> Problem {
        let problem = Problem::new(code, message);
        let Some(source) = self.sources.iter().find(|source| source.name == place.template) else {
            return problem;
        };
        let lines = source.text.split_inclusive('\n').take(place.line as usize - 1);
        let before: usize = lines.map(str::len).sum();
        let column = source.text[before..]
            .char_indices()
            .nth(place.column as usize - 1);
        let column = column.map_or(0, |(at, _)| at);
        problem.at(&source.name, &source.text, before + column)
    }

    pub(crate) fn environment(&self) -> &Environment<'static> {
        &self.environment
    }

    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The place that a mark in the output stands for: the text, and the offset in it.
    pub(crate) fn site(&self, number: usize) -> Option<(&Source, usize)> {
        let source = self
            .sources
            .iter()
            .rev()
            .find(|source| source.first_site <= number)?;
        Some((source, *source.sites.get(number - source.first_site)?))
    }
}

/// The texts a template may include: those of other templates whose names stand in it between quotes, and what those
/// include in turn. `text_of` finds a template.
pub fn includes(
    name: &str,
    text: &str,
    names: &[String],
    text_of: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut unread = vec![text.to_owned()];
    while let Some(text) = unread.pop() {
        for other in names {
            let is_named = [format!("\"{other}\""), format!("'{other}'")]
                .iter()
                .any(|quoted| text.contains(quoted));
            if !is_named || other == name || found.contains_key(other) {
                continue;
            }
            if let Some(text) = text_of(other) {
                found.insert(other.clone(), text.clone());
                unread.push(text);
            }
        }
    }
    found
}

/// Whether a template has another's name in a tag that includes it, without reading more of it.
pub fn mentions(text: &str, other: &str) -> bool {
    let quoted = [format!("\"{other}\""), format!("'{other}'")];
    text.split("{%").skip(1).any(|rest| {
        let tag = rest.split("%}").next().unwrap_or_default();
        let word = tag.trim_start_matches(['-', '+']).split_whitespace().next();
        matches!(word, Some("include" | "import" | "from" | "extends"))
            && quoted.iter().any(|quoted| tag.contains(quoted))
    })
}

/// A text whose lines end as ours do.
pub(crate) fn line_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    }
}

fn sizes(texts: &[(&str, Cow<'_, str>)]) -> Vec<Problem> {
    let too_large = |(name, text): &&(&str, Cow<'_, str>)| text.len() > TEMPLATE_BYTES && !name.is_empty();
    let mut problems: Vec<Problem> = texts
        .iter()
        .filter(too_large)
        .map(|(name, text)| {
            let message = format!(
                "the template `{name}` has {} bytes; {TEMPLATE_BYTES} is the most",
                text.len()
            );
            Problem::new(Code::Limit, message)
        })
        .collect();
    let total: usize = texts.iter().skip(1).map(|(_, text)| text.len()).sum();
    if total > INCLUDES_BYTES {
        let message =
            format!("what the template may include has {total} bytes; {INCLUDES_BYTES} is the most together");
        problems.push(Problem::new(Code::Limit, message));
    }
    problems
}

/// References to what is not there, and the first circle of references.
fn unfit_references(sources: &[Source], references: &BTreeMap<String, Vec<Reference>>) -> Vec<Problem> {
    let source = |name: &str| sources.iter().find(|source| source.name == name);
    let mut problems = Vec::new();
    for (name, found) in references {
        let Some(own) = source(name) else { continue };
        for reference in found.iter().filter(|reference| !reference.may_be_missing) {
            if source(&reference.name).is_none() {
                let known = sources.iter().skip(1).map(|source| source.name.as_str());
                let hint = manifests::spelling::nearest(&reference.name, known).map_or_else(
                    || {
                        "publish it first; `trainyard template check` takes its file with `--include`"
                            .to_owned()
                    },
                    |near| format!("did you mean `{near}`?"),
                );
                let message = format!("there is nothing called `{}` to include", reference.name);
                problems.push(
                    Problem::new(Code::Include, message)
                        .at(name, &own.text, reference.offset)
                        .hint(hint),
                );
            }
        }
    }
    if problems.is_empty() {
        let mut trail = Vec::new();
        let mut done = BTreeSet::new();
        for own in sources {
            if let Some((name, offset)) = circle(&own.name, references, &mut trail, &mut done) {
                let names: Vec<&str> = trail.iter().map(String::as_str).collect();
                let message = format!("includes itself: {}", names.join(" → "));
                let text = source(&name).map_or("", |source| &source.text);
                problems.push(Problem::new(Code::Include, message).at(&name, text, offset));
                break;
            }
        }
    }
    problems
}

/// Follows references until one leads back; `trail` is the way there.
fn circle(
    name: &str,
    references: &BTreeMap<String, Vec<Reference>>,
    trail: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<(String, usize)> {
    trail.push(name.to_owned());
    for reference in references.get(name).into_iter().flatten() {
        if let Some(start) = trail.iter().position(|known| *known == reference.name) {
            trail.drain(..start);
            trail.push(reference.name.clone());
            return Some((name.to_owned(), reference.offset));
        }
        if !done.contains(&reference.name)
            && let Some(found) = circle(&reference.name, references, trail, done)
        {
            return Some(found);
        }
    }
    trail.pop();
    done.insert(name.to_owned());
    None
}

fn variables(sources: &[Source]) -> BTreeSet<String> {
    let mut environment = Environment::new();
    let mut found = BTreeSet::new();
    for source in sources {
        if environment.add_template(&source.name, &source.text).is_ok()
            && let Ok(template) = environment.get_template(&source.name)
        {
            found.extend(template.undeclared_variables(true));
        }
    }
    let functions: BTreeSet<&str> = environment.globals().map(|(name, _)| name).collect();
    found.retain(|name| !functions.contains(name.as_str()));
    found
}

#[cfg(test)]
mod tests;
