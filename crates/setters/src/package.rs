//! A package: a folder of files with setter definitions at its top, and packages below it.

mod ignore;

use std::collections::BTreeMap;

use crate::{Problem, document::Document};
use ignore::Ignore;

/// The file with the definitions, as kustomize and as kpt name it.
const DEFINITIONS: [&str; 2] = ["Krmfile", "Kptfile"];
const IGNORE: &str = ".krmignore";
/// What a text that is in no file is called where something is wrong with it.
const STREAM: &str = "standard input";

/// The files below a folder, by their paths relative to it, or one text that is in no file.
#[derive(Clone, Debug)]
pub struct Package {
    root: String,
    files: BTreeMap<String, String>,
    is_stream: bool,
}

/// A folder with definitions, or the folder asked for where none are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Relative to the root, empty for the root.
    pub(crate) folder: String,
    /// The path of the file with its definitions.
    pub(crate) definitions: Option<String>,
}

impl Package {
    /// `root` is the folder as it was asked for; it is shown, never opened.
    pub fn new(root: &str, files: BTreeMap<String, Vec<u8>>) -> Result<Self, Problem> {
        let files = files.into_iter().map(|(path, bytes)| {
            let text = String::from_utf8(bytes).map_err(|error| not_utf8(&path, error.as_bytes()))?;
            Ok((path, text))
        });
        Ok(Self {
            root: clean(root),
            files: files.collect::<Result<_, Problem>>()?,
            is_stream: false,
        })
    }

    /// A text that comes from another program. What would be written is printed, and a list that is alone in it stands
    /// for its items.
    pub fn stream(bytes: Vec<u8>) -> Result<Self, Problem> {
        let package = Self::new(".", BTreeMap::from([(STREAM.to_owned(), bytes)]))?;
        Ok(Self {
            is_stream: true,
            ..package
        })
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// Whether a file matters to any command here; others need not be read.
    pub fn wants(path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        is_resource(name) || DEFINITIONS.contains(&name) || [IGNORE, "Kustomization"].contains(&name)
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub fn contains(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    pub(crate) fn document(&self, path: &str) -> Result<Document, Problem> {
        Document::parse(path, self.text(path).unwrap_or_default())
    }

    /// The root as it is shown.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    /// A folder as it is shown.
    pub(crate) fn shown(&self, folder: &str) -> String {
        match (self.root.as_str(), folder) {
            (root, "") => root.to_owned(),
            (".", folder) => folder.to_owned(),
            (root, folder) => format!("{}/{folder}", root.trim_end_matches('/')),
        }
    }

    /// The folders with definitions: the root, or with `recurse` all, in the order a walk finds them.
    pub(crate) fn scopes(&self, recurse: bool) -> Vec<Scope> {
        let mut found: Vec<Scope> = Vec::new();
        for path in self.walk() {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let is_new = found.iter().all(|scope| scope.folder != folder);
            if DEFINITIONS.contains(&name) && is_new && (recurse || folder.is_empty()) {
                found.push(self.scope(folder));
            }
        }
        found
    }

    pub(crate) fn scope(&self, folder: &str) -> Scope {
        let definitions = DEFINITIONS.iter().map(|name| join(folder, name));
        Scope {
            folder: folder.to_owned(),
            definitions: definitions.into_iter().find(|path| self.contains(path)),
        }
    }

    /// The files with resources in a folder, without those of packages below it.
    pub(crate) fn resources(&self, scope: &Scope) -> Vec<&str> {
        let ignore = Ignore::new(self.text(&join(&scope.folder, IGNORE)).unwrap_or_default());
        let is_own = |path: &&str| {
            let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
            let mut nested =
                folders.filter(|folder| is_below(folder, &scope.folder) && *folder != scope.folder);
            !nested.any(|folder| self.scope(folder).definitions.is_some())
        };
        self.matching(scope, is_resource)
            .into_iter()
            .filter(is_own)
            .filter(|path| !ignore.matches(relative(path, &scope.folder)))
            .collect()
    }

    /// The files with resources in a folder and all below it.
    pub(crate) fn all_resources(&self, scope: &Scope) -> Vec<&str> {
        let ignore = Ignore::new(self.text(&join(&scope.folder, IGNORE)).unwrap_or_default());
        let mut all = self.matching(scope, is_resource);
        all.retain(|path| !ignore.matches(relative(path, &scope.folder)));
        all
    }

    /// The files of a folder and all below it whose name is asked for.
    pub(crate) fn matching(&self, scope: &Scope, name: impl Fn(&str) -> bool) -> Vec<&str> {
        let is_named = |path: &&str| self.is_stream || name(path.rsplit('/').next().unwrap_or(path));
        let walk = self.walk().into_iter();
        walk.filter(|path| is_below(path, &scope.folder))
            .filter(is_named)
            .collect()
    }

    /// All paths, as one comes by them who reads each folder by name.
    fn walk(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = self.files.keys().map(String::as_str).collect();
        paths.sort_by(|a, b| a.split('/').cmp(b.split('/')));
        paths
    }
}

fn is_resource(name: &str) -> bool {
    [".yaml", ".yml"].iter().any(|ending| name.ends_with(ending))
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path == folder
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
}

fn relative<'a>(path: &'a str, folder: &str) -> &'a str {
    path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/')
}

pub(crate) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        return name.to_owned();
    }
    format!("{folder}/{name}")
}

/// A path without what does not matter in it.
fn clean(path: &str) -> String {
    let start = if path.starts_with('/') { "/" } else { "" };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    match (start, parts.is_empty()) {
        ("", true) => ".".to_owned(),
        _ => start.to_owned() + &parts.join("/"),
    }
}

fn not_utf8(path: &str, bytes: &[u8]) -> Problem {
    let valid = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let line = bytes[..valid].split(|byte| *byte == b'\n').count() as u64;
    let before = bytes[..valid]
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let column = String::from_utf8_lossy(before).chars().count() as u64 + 1;
    Problem::new("the file is not UTF-8 text").at(path, line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(paths: &[&str]) -> Package {
        let files = paths
            .iter()
            .map(|path| ((*path).to_owned(), Vec::new()))
            .collect();
        Package::new(".", files).unwrap()
    }

    #[test]
    fn a_package_ends_where_another_begins() {
        let package = package(&[
            "Krmfile",
            "a.yaml",
            "sub/Krmfile",
            "sub/b.yaml",
            "plain/c.yml",
            "d.txt",
        ]);
        let scopes = package.scopes(true);
        assert_eq!(package.resources(&scopes[0]), ["a.yaml", "plain/c.yml"]);
        assert_eq!(package.resources(&scopes[1]), ["sub/b.yaml"]);
        assert_eq!(package.scopes(false).len(), 1);
    }

    #[test]
    fn folders_are_walked_by_name() {
        let package = package(&["Krmfile", "A/Krmfile", "b.yaml", "b/Krmfile"]);
        let folders: Vec<String> = package
            .scopes(true)
            .into_iter()
            .map(|scope| scope.folder)
            .collect();
        assert_eq!(folders, ["A", "", "b"]);
    }

    #[test]
    fn paths_are_shown_clean() {
        assert_eq!(clean("./"), ".");
        assert_eq!(clean("./a//b/../c/"), "a/c");
        assert_eq!(clean("../a"), "../a");
        assert_eq!(clean("/x/"), "/x");
    }

    #[test]
    fn bytes_that_are_no_text_are_pointed_at() {
        let files = BTreeMap::from([("a.yaml".to_owned(), b"a: b\nc: \xff\n".to_vec())]);
        let problem = Package::new(".", files).unwrap_err();
        assert_eq!(problem.to_string(), "a.yaml:2:4: the file is not UTF-8 text");
    }
}
