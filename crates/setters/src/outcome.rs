//! What a command comes to: what to print, and which files to write.

use std::collections::BTreeMap;

use crate::{
    Problem,
    package::{Package, Scope},
};

/// Files are written only if nothing is wrong; a command that fails changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// For standard output.
    pub output: String,
    /// New texts of files, by their paths in the package.
    pub edits: BTreeMap<String, String>,
    /// Why nothing was done.
    pub problem: Option<Problem>,
    /// For standard error: what should be known, though nothing is wrong.
    pub notes: Vec<String>,
    /// Nothing is wrong, but nothing was found either: the exit status says so.
    pub is_nothing_found: bool,
}

impl Outcome {
    pub fn is_success(&self) -> bool {
        self.problem.is_none() && !self.is_nothing_found
    }

    pub(crate) fn failed(problem: Problem) -> Self {
        Self {
            problem: Some(problem),
            ..Self::default()
        }
    }
}

/// What a command does to one package: what it prints, and the files it changes.
pub(crate) struct Change {
    pub(crate) message: String,
    pub(crate) edits: BTreeMap<String, String>,
}

impl Change {
    pub(crate) fn message(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            edits: BTreeMap::new(),
        }
    }

    /// New texts of files, and what is said of them; of a stream, the text itself.
    pub(crate) fn to_files(package: &Package, edits: BTreeMap<String, String>, message: &str) -> Self {
        if !package.is_stream() {
            let message = message.to_owned();
            return Self { message, edits };
        }
        let as_it_was = package
            .files()
            .map(|(path, text)| (path.to_owned(), text.to_owned()));
        let texts: BTreeMap<String, String> = as_it_was.chain(edits).collect();
        Self::message(texts.into_values().collect::<String>())
    }
}

/// Which packages a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those with definitions, which must be there.
    Defined,
    /// The folder asked for, with definitions or without.
    Any,
}

/// Runs a command on each package. A problem ends it, unless it goes through packages below too: then the
/// problem is told, and the others have their turn.
pub(crate) fn on_packages(
    package: &Package,
    reach: Reach,
    recurse: bool,
    command: impl Fn(&Scope) -> Result<Change, Problem>,
) -> Outcome {
    let scopes = match scopes(package, reach, recurse) {
        Ok(scopes) => scopes,
        Err(problem) => return Outcome::failed(problem),
    };
    let mut outcome = Outcome::default();
    if package.is_stream() {
        return match command(&package.scope("")) {
            Ok(change) => Outcome {
                output: change.message,
                ..outcome
            },
            Err(problem) => Outcome::failed(problem),
        };
    }
    for (index, scope) in scopes.iter().enumerate() {
        outcome.output += &format!("{}/\n", package.shown(&scope.folder));
        match command(scope) {
            Ok(change) => {
                outcome.output += &change.message;
                outcome.edits.extend(change.edits);
            }
            Err(problem) if recurse => outcome.output += &format!("{}\n", problem.message),
            Err(problem) => {
                outcome.edits.clear();
                outcome.problem = Some(problem);
                return outcome;
            }
        }
        if index + 1 < scopes.len() {
            outcome.output.push('\n');
        }
    }
    outcome
}

pub(crate) fn scopes(package: &Package, reach: Reach, recurse: bool) -> Result<Vec<Scope>, Problem> {
    let mut scopes = package.scopes(recurse);
    let has_root = scopes.iter().any(|scope| scope.folder.is_empty());
    match reach {
        Reach::Any if !has_root => scopes.insert(0, package.scope("")),
        Reach::Defined if scopes.is_empty() => {
            let message = format!("unable to find \"Krmfile\" in package {:?}", package.root());
            return Err(Problem::new(message).hint("`trainyard pkg init` makes one"));
        }
        _ => {}
    }
    Ok(scopes)
}
