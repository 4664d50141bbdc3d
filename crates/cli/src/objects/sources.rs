//! Where objects come from: a package that is built, files, folders of them, or standard input.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow};
use manifests::yaml;
use packages::{Options, TracedObject};
use serde_json::Value;

use crate::{
    Surroundings, advised,
    pkg::{build, complaint::Complaint},
};

#[derive(Debug, clap::Args)]
pub(super) struct Sources {
    /// The folder of a kustomization, which is built
    #[arg(
        short,
        long,
        value_name = "DIR",
        required_unless_present = "filenames",
        conflicts_with = "filenames"
    )]
    kustomize: Option<PathBuf>,

    /// A file or folder of manifests in YAML or JSON; `-` is standard input; can be given several times
    #[arg(short, long = "filename", value_name = "FILE")]
    filenames: Vec<PathBuf>,

    /// Also the folders below that of `-f`
    #[arg(short = 'R', long, requires = "filenames")]
    recursive: bool,
}

/// An object, and what its user knows it from.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) source: String,
    pub(super) value: Value,
}

impl Object {
    pub(super) fn new(source: &str, value: Value) -> Self {
        Self {
            source: source.to_owned(),
            value,
        }
    }

    /// `ConfigMap "settings"`
    pub(super) fn named(&self) -> String {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!(
            "{} {:?}",
            text(&self.value["kind"]),
            text(&self.value["metadata"]["name"])
        )
    }
}

impl Sources {
    /// Reads all of them before anything is done with one.
    pub(super) fn read(&self, surroundings: &Surroundings) -> Result<Vec<Object>> {
        let mut objects = Vec::new();
        if let Some(folder) = &self.kustomize {
            let built = build::trace(folder, Options::default(), surroundings)?;
            let object = |traced: TracedObject| {
                let source = match traced.source.place() {
                    Some(place) if place.line > 0 => {
                        format!("{}:{}", build::shown(&place.file, surroundings), place.line)
                    }
                    _ => folder.display().to_string(),
                };
                Object::new(&source, traced.value)
            };
            objects.extend(built.objects.into_iter().map(object));
        }
        for path in &self.filenames {
            self.read_path(path, &mut objects)?;
        }
        if objects.is_empty() {
            return Err(anyhow!("there is no object"));
        }
        objects.iter().try_for_each(check)?;
        Ok(objects)
    }

    fn read_path(&self, path: &Path, objects: &mut Vec<Object>) -> Result<()> {
        let name = path.display().to_string();
        let unreadable = || format!("cannot read `{name}`");
        if path == Path::new("-") {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .read_to_string(&mut text)
                .with_context(unreadable)?;
            return read_text("standard input", &text, objects);
        }
        if name.starts_with("http://") || name.starts_with("https://") {
            return Err(advised(
                format!("`{name}` is not on this machine, and nothing is fetched"),
                "fetch it, read it, and apply the file",
            ));
        }
        if !path.is_dir() {
            let text = fs::read_to_string(path).with_context(unreadable)?;
            return read_text(&name, &text, objects);
        }
        let entries = fs::read_dir(path).with_context(unreadable)?;
        let mut entries = entries.collect::<Result<Vec<_>, _>>().with_context(unreadable)?;
        entries.sort_by_key(fs::DirEntry::path);
        for entry in entries {
            let path = entry.path();
            // Links to folders are not followed: they may lead back.
            let is_folder = entry.file_type().with_context(unreadable)?.is_dir();
            let is_manifest = path
                .extension()
                .is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known));
            if is_folder && self.recursive {
                self.read_path(&path, objects)?;
            } else if is_manifest && !path.is_dir() {
                // A pipe would have everybody wait, and a link that leads nowhere is an object that is missed.
                if path.exists() && !path.is_file() {
                    return Err(anyhow!("`{}` is no regular file", path.display()));
                }
                self.read_path(&path, objects)?;
            }
        }
        Ok(())
    }
}

fn read_text(name: &str, text: &str, objects: &mut Vec<Object>) -> Result<()> {
    let complain = |message: String, line: u64, column: u64| {
        Complaint {
            message,
            file: Some(name.to_owned()),
            place: (line > 0).then_some((line, column.max(1))),
            text: Some(text),
            hint: None,
        }
        .into_error()
    };
    let documents = yaml::parse_documents(text)
        .map_err(|error| complain(error.message.clone(), error.line, error.column))?;
    for document in documents {
        let source = format!("{name}:{}", document.line);
        if let Some(duplicate) = document.duplicates.first() {
            let (line, message) = placed(duplicate).unwrap_or((document.line, duplicate));
            return Err(complain(message.to_owned(), line, 1));
        }
        flatten(&source, document.value, objects);
    }
    Ok(())
}

/// The line that a complaint begins with, and what follows.
fn placed(complaint: &str) -> Option<(u64, &str)> {
    let (line, message) = complaint.strip_prefix("line ")?.split_once(": ")?;
    Some((line.parse().ok()?, message))
}

/// Lists are what is in them.
fn flatten(source: &str, mut value: Value, objects: &mut Vec<Object>) {
    let is_list = value["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    if !is_list || !value["items"].is_array() {
        objects.push(Object::new(source, value));
        return;
    }
    if let Value::Array(items) = value["items"].take() {
        for item in items {
            flatten(source, item, objects);
        }
    }
}

fn check(object: &Object) -> Result<()> {
    let source = &object.source;
    for (field, value) in [
        ("apiVersion", &object.value["apiVersion"]),
        ("kind", &object.value["kind"]),
        ("metadata.name", &object.value["metadata"]["name"]),
    ] {
        if value.as_str().is_none_or(str::is_empty) {
            return Err(anyhow!("{source}: an object has no {field}"));
        }
    }
    let version = object.value["apiVersion"].as_str().unwrap_or_default();
    if version.starts_with("kustomize.config.k8s.io/") {
        return Err(advised(
            format!("{source}: a kustomization is no object of a cluster"),
            "`-k DIR` builds the package and takes what it stands for",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_what_is_in_them() {
        let mut objects = Vec::new();
        let text = "kind: List\nitems: [{kind: A}, {kind: BList, items: [{kind: C}]}]\n---\nkind: PlayList\n";
        read_text("f", text, &mut objects).unwrap();
        let kinds: Vec<_> = objects
            .iter()
            .map(|object| object.value["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["A", "C", "PlayList"]);
        assert_eq!(objects[2].source, "f:4");
    }

    #[test]
    fn what_is_no_yaml_is_shown_in_its_line() {
        let error = read_text("f", "a: 1\nb: [\n", &mut Vec::new()).unwrap_err();
        assert!(error.to_string().starts_with("f:"), "{error}");
        assert!(error.to_string().contains('^'), "{error}");
    }

    #[test]
    fn a_key_that_is_there_twice_is_shown_in_its_line() {
        let error = read_text("f", "a: 1\nb: 2\nb: 3\n", &mut Vec::new()).unwrap_err();
        assert!(
            error.to_string().starts_with("f:3:1: key \"b\" already set"),
            "{error}"
        );
    }

    #[test]
    fn folders_are_read_whole_and_never_in_circles() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("sub")).unwrap();
        for name in ["b.yaml", "a.json", "notes.txt", "sub/c.yml"] {
            fs::write(path(name), format!("kind: {name}\n")).unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), path("sub/up.yaml")).unwrap();
        let kinds = |recursive: bool| {
            let sources = Sources {
                kustomize: None,
                filenames: Vec::new(),
                recursive,
            };
            let mut objects = Vec::new();
            sources.read_path(folder.path(), &mut objects)?;
            let kinds = objects.iter().map(|object| object.value["kind"].to_string());
            Ok::<_, anyhow::Error>(kinds.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(kinds(false).unwrap(), r#""a.json" "b.yaml""#);
        assert_eq!(kinds(true).unwrap(), r#""a.json" "b.yaml" "sub/c.yml""#);
        std::os::unix::fs::symlink(path("absent"), path("broken.yaml")).unwrap();
        let error = kinds(false).unwrap_err().to_string();
        assert!(error.contains("broken.yaml"), "{error}");
        fs::remove_file(path("broken.yaml")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe.yaml"), rustix::fs::Mode::RUSR).unwrap();
        let error = kinds(false).unwrap_err().to_string();
        assert!(error.ends_with("pipe.yaml` is no regular file"), "{error}");
    }
}
