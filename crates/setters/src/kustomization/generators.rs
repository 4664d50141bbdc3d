//! `edit set|add|remove configmap` and `secret`: elements of the generators.

use std::collections::BTreeSet;

use super::{Found, file::File};
use crate::{
    Problem,
    document::{Fragment, Id},
};

/// What a generator is given.
#[derive(Clone, Debug, Default)]
pub struct Generator {
    pub is_secret: bool,
    /// Exactly one is right.
    pub names: Vec<String>,
    pub namespace: Option<String>,
    pub new_namespace: Option<String>,
    /// `PATH` or `KEY=PATH`, patterns of them too.
    pub from_files: Vec<String>,
    /// `KEY=VALUE`
    pub from_literals: Vec<String>,
    pub from_env_file: Option<String>,
    pub behavior: Option<String>,
    /// Of a secret.
    pub kind: Option<String>,
    pub disable_name_suffix_hash: bool,
}

impl Generator {
    fn field(&self) -> &'static str {
        field(self.is_secret)
    }

    /// The files that must be there.
    pub(super) fn files(&self) -> Vec<String> {
        let files = self.from_files.iter().map(|source| path_of(source).to_owned());
        files.chain(self.from_env_file.clone()).collect()
    }

    pub(super) fn add(&self, file: &mut File, found: &Found) -> Result<bool, Problem> {
        let name = self.check()?;
        let sources = self.sources(found)?;
        let field = self.field();
        self.check_keys(file, name, &sources)?;
        if self.find(file, name).is_none() {
            let text = |text: &Option<String>| text.as_ref().map(Fragment::text);
            let kind = self.kind.clone().unwrap_or_else(|| "Opaque".to_owned());
            let element = Fragment::map([
                ("name", Some(Fragment::text(name))),
                ("namespace", text(&self.namespace)),
                ("type", self.is_secret.then(|| Fragment::text(kind))),
            ]);
            file.append(field, element)?;
        }
        for (list, source) in sources {
            let Some(item) = self.find(file, name) else { break };
            file.append_below(item, list, Fragment::text(source))?;
        }
        if let (Some(behavior), Some(item)) = (&self.behavior, self.find(file, name)) {
            file.put_below(item, &["behavior"], Fragment::text(behavior))?;
        }
        for (path, value) in self.options(file) {
            let Some(item) = self.find(file, name) else { break };
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            if file.document().find(item, &path).is_none() {
                file.put_below(item, &path, value)?;
            }
        }
        Ok(true)
    }

    /// Other values for literals there are, and another namespace.
    pub(super) fn set(&self, file: &mut File) -> Result<bool, Problem> {
        let name = self.name()?;
        let kind = if self.is_secret { "Secret" } else { "ConfigMap" };
        if self.from_literals.is_empty() && self.new_namespace.is_none() {
            let message = "at least one of [--from-literal, --new-namespace] must be specified";
            return Err(Problem::new(message));
        }
        if self.find(file, name).is_none() {
            let message = format!("unable to find {kind} with name {name:?}");
            return Err(Problem::new(message).in_file(file.path()));
        }
        for literal in &self.from_literals {
            let key = literal.split('=').next().unwrap_or_default();
            let Some(item) = self.find(file, name) else { break };
            let document = file.document();
            let literals = document
                .get(item, "literals")
                .map(|list| document.items(list))
                .unwrap_or_default();
            let is_key = |item: &Id| {
                let text = document.value(*item).unwrap_or_default();
                text.split_once('=').is_some_and(|(one, _)| one == key)
            };
            let mut literals = literals.iter().map(|item| item.value);
            let Some(found) = literals.find(is_key) else {
                let message = format!("key '{key}' not found in resource");
                return Err(Problem::new(message).in_file(file.path()));
            };
            file.put_scalar(found, literal)?;
        }
        if let (Some(namespace), Some(item)) = (&self.new_namespace, self.find(file, name)) {
            file.put_below(item, &["namespace"], Fragment::text(namespace))?;
        }
        Ok(true)
    }

    fn name(&self) -> Result<&str, Problem> {
        match self.names.as_slice() {
            [name] => Ok(name),
            _ => Err(Problem::new("name must be specified once")),
        }
    }

    fn check(&self) -> Result<&str, Problem> {
        let name = self.name()?;
        let has_others = !self.from_files.is_empty() || !self.from_literals.is_empty();
        if self.from_env_file.is_some() && has_others {
            let message = "from-env-file cannot be combined with from-file or from-literal";
            return Err(Problem::new(message));
        }
        if self.from_env_file.is_none() && !has_others {
            return Err(Problem::new(
                "at least from-env-file, or from-file or from-literal must be set",
            ));
        }
        if let Some(behavior) = &self.behavior
            && !["create", "merge", "replace"].contains(&behavior.as_str())
        {
            return Err(Problem::new(format!(
                "invalid behavior: must be one of: create, merge, replace, not {behavior}"
            )));
        }
        let is_pair = |literal: &&String| literal.split_once('=').is_none_or(|(key, _)| key.is_empty());
        if let Some(literal) = self.from_literals.iter().find(is_pair) {
            let message = format!("invalid literal source {literal:?}, expected key=value");
            return Err(Problem::new(message));
        }
        Ok(name)
    }

    /// A key may be there once: with two nothing could be built.
    fn check_keys(&self, file: &File, name: &str, sources: &[(&'static str, String)]) -> Result<(), Problem> {
        let kind = if self.is_secret { "secret" } else { "configmap" };
        let twice = |key: &str| format!("{kind} {name} illegally repeats the key `{key}`");
        let hint = "`edit set` changes the value of a literal, `edit remove` takes all of it away";
        let mut keys = BTreeSet::new();
        let repeated = sources
            .iter()
            .filter_map(|(list, source)| key_of(list, source))
            .find(|key| !keys.insert(*key));
        if let Some(key) = repeated {
            return Err(Problem::new(twice(key)));
        }
        let document = file.document();
        for list in ["literals", "files"] {
            let items = self.find(file, name).and_then(|item| document.get(item, list));
            for item in items.map(|list| document.items(list)).unwrap_or_default() {
                let key = key_of(list, document.value(item.value).unwrap_or_default());
                if let Some(key) = key.filter(|key| keys.contains(key)) {
                    return Err(document.problem(file.path(), item.value, twice(key)).hint(hint));
                }
            }
        }
        Ok(())
    }

    /// Each source, and the list it becomes part of.
    fn sources(&self, found: &Found) -> Result<Vec<(&'static str, String)>, Problem> {
        let mut sources = Vec::new();
        for source in &self.from_files {
            let paths = found.get(path_of(source)).map(Vec::as_slice).unwrap_or_default();
            if paths.is_empty() {
                return Err(Problem::new(format!("{}: no such file", path_of(source))));
            }
            let key = source.split_once('=').map(|(key, _)| key);
            sources.extend(paths.iter().map(|path| {
                let source = key.map_or_else(|| path.clone(), |key| format!("{key}={path}"));
                ("files", source)
            }));
        }
        sources.extend(
            self.from_literals
                .iter()
                .map(|literal| ("literals", literal.clone())),
        );
        if let Some(path) = &self.from_env_file {
            if found.get(path).is_none_or(Vec::is_empty) {
                return Err(Problem::new(format!("{path}: no such file")));
            }
            sources.push(("envs", path.clone()));
        }
        Ok(sources)
    }

    /// Its own options, and those of all generators, which become its own.
    fn options(&self, file: &File) -> Vec<(Vec<String>, Fragment)> {
        let truth = || Fragment::Plain("true".to_owned());
        let path = |names: &[&str]| {
            std::iter::once("options")
                .chain(names.iter().copied())
                .map(str::to_owned)
                .collect()
        };
        let mut options: Vec<(Vec<String>, Fragment)> = Vec::new();
        let document = file.document();
        let shared = file.find("generatorOptions");
        for kind in ["annotations", "labels"] {
            let pairs = shared.and_then(|shared| document.get(shared, kind));
            for entry in pairs.map(|pairs| document.entries(pairs)).unwrap_or_default() {
                let key = document.value(entry.key).unwrap_or_default();
                options.push((path(&[kind, key]), document.fragment(entry.value)));
            }
        }
        let is_shared = |key: &str| shared.is_some_and(|shared| document.text_at(shared, &[key]) == "true");
        if self.disable_name_suffix_hash || is_shared("disableNameSuffixHash") {
            options.push((path(&["disableNameSuffixHash"]), truth()));
        }
        if is_shared("immutable") {
            options.push((path(&["immutable"]), truth()));
        }
        options
    }

    fn find(&self, file: &File, name: &str) -> Option<Id> {
        let is_meant = |item: &Id| is_named(file, *item, &[name], self.namespace.as_deref());
        file.items(self.field()).into_iter().find(is_meant)
    }
}

fn field(is_secret: bool) -> &'static str {
    if is_secret {
        "secretGenerator"
    } else {
        "configMapGenerator"
    }
}

/// The key that a source is for; those of an env file are in it.
fn key_of<'s>(list: &str, source: &'s str) -> Option<&'s str> {
    match (list, source.split_once('=')) {
        ("literals" | "files", Some((key, _))) => Some(key),
        ("files", None) => source.rsplit('/').next(),
        _ => None,
    }
}

fn path_of(source: &str) -> &str {
    source.split_once('=').map_or(source, |(_, path)| path)
}

/// No namespace is the one called `default`.
fn is_named(file: &File, item: Id, names: &[&str], namespace: Option<&str>) -> bool {
    let or_default = |namespace: &str| {
        if namespace.is_empty() {
            "default".to_owned()
        } else {
            namespace.to_owned()
        }
    };
    let document = file.document();
    names.contains(&document.text_at(item, &["name"]))
        && or_default(document.text_at(item, &["namespace"])) == or_default(namespace.unwrap_or_default())
}

pub(super) fn remove(
    file: &mut File,
    is_secret: bool,
    arguments: &[String],
    namespace: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<bool, Problem> {
    let kind = if is_secret { "secret" } else { "configmap" };
    let argument = match arguments {
        [one] => one,
        [] => {
            return Err(Problem::new(format!(
                "at least one {kind} name must be specified"
            )));
        }
        many => {
            let many = many.join(" ");
            let message = format!(
                "too many arguments: [{many}]; to provide multiple {kind}s to remove, please separate {kind} names by \
                 commas"
            );
            return Err(Problem::new(message));
        }
    };
    let names: Vec<&str> = argument.split(',').collect();
    let mut removed: BTreeSet<&str> = BTreeSet::new();
    loop {
        let items = file.items(field(is_secret));
        let Some(index) = items
            .iter()
            .position(|item| is_named(file, *item, &names, namespace))
        else {
            break;
        };
        let name = file.document().text_at(items[index], &["name"]);
        removed.extend(names.iter().find(|one| **one == name));
        file.remove_item(field(is_secret), index)?;
    }
    if removed.is_empty() {
        let message = format!("no specified {kind}(s) were found in the kustomization.yaml file");
        return Err(Problem::new(message).in_file(file.path()));
    }
    let missing = names.iter().filter(|name| !removed.contains(**name));
    notes.extend(missing.map(|name| format!("{kind} {name} doesn't exist in kustomization file")));
    Ok(true)
}
