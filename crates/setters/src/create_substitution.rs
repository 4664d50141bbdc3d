//! `create-subst`: a value made of setters, and its marker on the fields that have the value.

use std::collections::BTreeMap;

use regex::Regex;

use crate::{
    Outcome, Package, Problem,
    create::Selection,
    definitions::{Definitions, EXTENSION, SETTER_PREFIX, SUBSTITUTION_PREFIX},
    document::Fragment,
    draft::Draft,
    outcome::{Change, Reach, on_packages},
    package::Scope,
};

#[derive(Clone, Debug, Default)]
pub struct CreateSubstitution {
    pub name: String,
    /// Fields with this value.
    pub field_value: String,
    /// The value with `${NAME}` in place of the values of setters and other substitutions.
    pub pattern: String,
    /// A field, or the end of a path to it.
    pub field: Option<String>,
    /// Also in the packages below.
    pub recurse: bool,
}

/// `${NAME}` in a pattern.
struct Hole {
    marker: String,
    name: String,
    is_substitution: bool,
}

impl CreateSubstitution {
    pub fn run(&self, package: &Package) -> Outcome {
        on_packages(package, Reach::Defined, self.recurse, |scope| {
            self.create(package, scope)
        })
    }

    fn create(&self, package: &Package, scope: &Scope) -> Result<Change, Problem> {
        let file = scope.definitions.as_deref().unwrap_or_default();
        let text = package.text(file).unwrap_or_default();
        let definitions = Definitions::read(file, text)?;
        self.check_name(&definitions)?;
        let holes = self.holes(&definitions)?;
        let key = format!("{SUBSTITUTION_PREFIX}{}", self.name);
        let mut draft = Draft::new(file, text)?;
        draft.put(
            &["openAPI", "definitions", &key, EXTENSION, "substitution"],
            self.definition(&holes),
        )?;
        let mut message = self.create_setters(&mut draft, &definitions, &holes)?;
        let text = draft.text();
        Definitions::read(file, &text)?.check_cycles(&key)?;
        let selection = Selection {
            name: &self.name,
            field: self.field.as_deref().unwrap_or_default(),
            value: &self.field_value,
            lists_only: false,
        };
        let marked = selection.mark(package, &package.resources(scope))?;
        if marked.count == 0 {
            message += &format!(
                "substitution {} doesn't match any field value in resource configs, but creating substitution \
                 definition\n",
                self.name
            );
        }
        message += &format!("created substitution {:?}\n", self.name);
        let mut edits = marked.edits;
        edits.insert(file.to_owned(), text);
        Ok(Change { message, edits })
    }

    fn check_name(&self, definitions: &Definitions) -> Result<(), Problem> {
        let name = &self.name;
        let (key, message) = if definitions.contains_substitution(name) {
            let message = format!("substitution with name {name:?} already exists");
            (format!("{SUBSTITUTION_PREFIX}{name}"), message)
        } else if definitions.contains_setter(name) {
            let message = format!(
                "setter with name {name:?} already exists, substitution and setter can't have same name"
            );
            (format!("{SETTER_PREFIX}{name}"), message)
        } else {
            return Ok(());
        };
        Err(definitions.problem(&["openAPI", "definitions", &key], message))
    }

    fn holes(&self, definitions: &Definitions) -> Result<Vec<Hole>, Problem> {
        let mut holes = Vec::new();
        for marker in markers(&self.pattern) {
            let name = marker.trim_start_matches("${").trim_end_matches('}').to_owned();
            if name == self.name {
                let message = format!("setters must have different name than the substitution: {name}");
                return Err(Problem::new(message));
            }
            holes.push(Hole {
                is_substitution: definitions.contains_substitution(&name),
                marker: marker.to_owned(),
                name,
            });
        }
        if holes.is_empty() {
            return Err(Problem::new(
                "unable to find setter or substitution names in pattern, setter names must be enclosed in ${}",
            ));
        }
        Ok(holes)
    }

    fn definition(&self, holes: &[Hole]) -> Fragment {
        let values = holes.iter().map(|hole| {
            let prefix = if hole.is_substitution {
                SUBSTITUTION_PREFIX
            } else {
                SETTER_PREFIX
            };
            Fragment::map([
                ("marker", Some(Fragment::text(&hole.marker))),
                (
                    "ref",
                    Some(Fragment::text(format!("#/definitions/{prefix}{}", hole.name))),
                ),
            ])
        });
        Fragment::map([
            ("name", Some(Fragment::text(&self.name))),
            ("pattern", Some(Fragment::text(&self.pattern))),
            ("values", Some(Fragment::List(values.collect()))),
        ])
    }

    /// Setters for the holes that have none, with the values the field has in their places.
    fn create_setters(
        &self,
        draft: &mut Draft,
        definitions: &Definitions,
        holes: &[Hole],
    ) -> Result<String, Problem> {
        let values = derive(&self.pattern, &self.field_value, holes)?;
        let mut message = String::new();
        let mut made: Vec<&str> = Vec::new();
        for hole in holes {
            if hole.is_substitution {
                message += &format!("found a substitution with name {:?}\n", hole.marker);
                continue;
            }
            if definitions.contains_setter(&hole.name) {
                continue;
            }
            let value = values.get(hole.marker.as_str()).cloned().unwrap_or_default();
            message += &format!(
                "unable to find setter with name {}, creating new setter with value {value}\n",
                hole.name
            );
            if made.contains(&hole.name.as_str()) {
                continue;
            }
            made.push(&hole.name);
            let setter = Fragment::map([
                ("name", Some(Fragment::text(&hole.name))),
                ("value", Some(Fragment::text(value))),
            ]);
            let key = format!("{SETTER_PREFIX}{}", hole.name);
            draft.put(&["openAPI", "definitions", &key, EXTENSION, "setter"], setter)?;
        }
        Ok(message)
    }
}

/// Every `${NAME}` of a pattern.
pub(crate) fn markers(pattern: &str) -> Vec<&str> {
    let marker = Regex::new(r"\$\{[^}]*\}");
    marker.map_or_else(
        |_| Vec::new(),
        |marker| marker.find_iter(pattern).map(|found| found.as_str()).collect(),
    )
}

/// What stands in a value where a pattern has its markers.
fn derive<'a>(pattern: &str, value: &str, holes: &'a [Hole]) -> Result<BTreeMap<&'a str, String>, Problem> {
    let places = places(pattern, holes)?;
    let unknown = || {
        Problem::new("unable to derive values for markers, create setters for all markers and then try again")
    };
    let mut values: BTreeMap<&str, String> = BTreeMap::new();
    let (mut rest, mut at) = (value, 0);
    for (index, (start, marker)) in places.iter().enumerate() {
        rest = rest.strip_prefix(&pattern[at..*start]).ok_or_else(unknown)?;
        at = start + marker.len();
        let next = places.get(index + 1).map_or(pattern.len(), |(next, _)| *next);
        let delimiter = &pattern[at..next];
        // The last marker takes all that is left.
        let length = if at == pattern.len() {
            rest.len()
        } else {
            rest.find(delimiter).unwrap_or(rest.len())
        };
        let (found, behind) = rest.split_at(length);
        rest = behind;
        match values.get(marker) {
            Some(before) if before != found => {
                let message =
                    format!("marker {marker} is found to have different values {before} and {found}");
                return Err(Problem::new(message));
            }
            _ => drop(values.insert(marker, found.to_owned())),
        }
    }
    if rest == &pattern[at..] {
        Ok(values)
    } else {
        Err(unknown())
    }
}

/// Where the markers are in a pattern; there must be text between them.
fn places<'a>(pattern: &str, holes: &'a [Hole]) -> Result<Vec<(usize, &'a str)>, Problem> {
    let mut places: Vec<(usize, &str)> = holes
        .iter()
        .flat_map(|hole| {
            pattern
                .match_indices(&hole.marker)
                .map(|(at, _)| (at, hole.marker.as_str()))
        })
        .collect();
    places.sort_unstable();
    places.dedup();
    for pair in places.windows(2) {
        let ((start, marker), (next, following)) = (pair[0], pair[1]);
        if start + marker.len() == next {
            return Err(Problem::new(format!(
                "markers {marker} and {following} are found to have no delimiters between them, pre-create setters \
                 and try again"
            )));
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(pattern: &str, value: &str) -> Result<Vec<String>, String> {
        let holes: Vec<Hole> = markers(pattern)
            .into_iter()
            .map(|marker| Hole {
                marker: marker.to_owned(),
                name: String::new(),
                is_substitution: false,
            })
            .collect();
        let values = derive(pattern, value, &holes).map_err(|problem| problem.message)?;
        Ok(values.into_values().collect())
    }

    #[test]
    fn values_are_derived_from_a_pattern() {
        assert_eq!(
            derived("${a}:${b}", "nginx:1.7"),
            Ok(vec!["nginx".to_owned(), "1.7".to_owned()])
        );
        assert_eq!(
            derived("x/${a}::${b}/y", "x/p::q/y"),
            Ok(vec!["p".to_owned(), "q".to_owned()])
        );
        assert_eq!(derived("${a}-${a}", "p-p"), Ok(vec!["p".to_owned()]));
        assert!(
            derived("${a}-${a}", "p-q")
                .unwrap_err()
                .contains("different values p and q")
        );
        assert!(derived("${a}${b}", "pq").unwrap_err().contains("no delimiters"));
        assert!(derived("x${a}", "y").unwrap_err().starts_with("unable to derive"));
    }
}
