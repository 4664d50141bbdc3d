//! A folder with a kustomization: what may be read from it, and which other folders it may lead to.

use std::path::{Path, PathBuf};

use super::{
    LoadRestrictor,
    decode::Text,
    node::At,
    problem::{Outcome, Problem},
    session::{Session, unreadable},
};
use crate::files::{Entry, FileError, normal};

#[derive(Clone)]
pub(super) struct Root<'s, 'f> {
    pub(super) session: &'s Session<'f>,
    pub(super) folder: PathBuf,
    /// The folders that lead to this one.
    visited: Vec<PathBuf>,
}

/// What an entry of `resources` names.
pub(super) enum Named<'s, 'f> {
    File(PathBuf),
    Folder(Root<'s, 'f>),
}

impl<'s, 'f> Root<'s, 'f> {
    pub(super) fn top(session: &'s Session<'f>, folder: &Path) -> Outcome<Self> {
        match session.files.resolve(folder) {
            Ok(Entry::Folder(folder)) => Ok(Self {
                session,
                folder,
                visited: Vec::new(),
            }),
            Ok(Entry::File(_)) => Err(Problem::new(format!("`{}` is a file", folder.display()))
                .help("name the folder the kustomization is in")),
            Err(error) => Err(unreadable(folder, &error)),
        }
    }

    /// Where a name leads from here.
    fn path(&self, name: &str) -> PathBuf {
        normal(&self.folder.join(name))
    }

    /// A file or folder, by a name in `resources`.
    pub(super) fn named(&self, name: &Text) -> Outcome<Named<'s, 'f>> {
        match self.session.files.resolve(&self.path(&name.text)) {
            Ok(Entry::File(_)) => self.file(name).map(Named::File),
            Ok(Entry::Folder(_)) => self.enter(name).map(Named::Folder),
            Err(_) if is_remote(&name.text) => Err(remote(name)),
            Err(error) => Err(missing(name, &error)),
        }
    }

    /// A file that may be read.
    pub(super) fn file(&self, name: &Text) -> Outcome<PathBuf> {
        let path = self.path(&name.text);
        let entry = self.session.files.resolve(&path);
        let file = match entry {
            Ok(Entry::File(file)) => file,
            Ok(Entry::Folder(_)) => {
                return Err(Problem::new(format!("`{}` is a folder, not a file", name.text)).at(name.at));
            }
            Err(_) if is_remote(&name.text) => return Err(remote(name)),
            Err(error) => return Err(missing(name, &error)),
        };
        let is_free = self.session.options.load_restrictor == LoadRestrictor::None;
        if !is_free && !file.starts_with(&self.folder) {
            let folder = self.folder.display();
            return Err(
                Problem::new(format!("security: `{}` is not in or below `{folder}`", name.text))
                    .at(name.at)
                    .help("move it into the package, or build with `--load-restrictor LoadRestrictionsNone`"),
            );
        }
        Ok(file)
    }

    pub(super) fn read(&self, name: &Text) -> Outcome<Vec<u8>> {
        let file = self.file(name)?;
        let read = self.session.read(&file);
        read.map_err(|error| unreadable(&file, &error).at(name.at))
    }

    /// The text of a file, and its beginning.
    pub(super) fn read_text(&self, name: &Text) -> Outcome<(String, At)> {
        let file = self.file(name)?;
        let text = self.session.read_text(&file, name.at)?;
        Ok((text, self.session.start_of(&file)))
    }

    /// Another folder with a kustomization.
    pub(super) fn enter(&self, name: &Text) -> Outcome<Self> {
        if name.text.is_empty() {
            return Err(Problem::new("the name of a folder is empty").at(name.at));
        }
        if Path::new(&name.text).is_absolute() {
            return Err(
                Problem::new(format!("the base `{}` is an absolute path", name.text))
                    .at(name.at)
                    .help("write it relative to the kustomization"),
            );
        }
        let folder = match self.session.files.resolve(&self.path(&name.text)) {
            Ok(Entry::Folder(folder)) => folder,
            Ok(Entry::File(_)) => {
                return Err(Problem::new(format!("`{}` is a file, not a folder", name.text)).at(name.at));
            }
            Err(_) if is_remote(&name.text) => return Err(remote(name)),
            Err(error) => return Err(missing(name, &error)),
        };
        let mut visited = self.visited.clone();
        visited.push(self.folder.clone());
        if let Some(inside) = visited.iter().find(|visited| visited.starts_with(&folder)) {
            return Err(Problem::new(format!(
                "cycle: `{}` is or contains `{}`, which is being built",
                name.text,
                inside.display()
            ))
            .at(name.at)
            .help("a base must not lead back to what is built from it"));
        }
        Ok(Self {
            session: self.session,
            folder,
            visited,
        })
    }
}

fn missing(name: &Text, error: &FileError) -> Problem {
    Problem::new(format!("`{}`: {error}", name.text)).at(name.at)
}

fn remote(name: &Text) -> Problem {
    Problem::new(format!(
        "`{}` is not on this machine, and nothing is fetched",
        name.text
    ))
    .at(name.at)
    .help("put a copy of it into the package (clone it, keep what is needed) and name that folder")
}

/// Whether a name is of a repository or a server.
pub fn is_remote(name: &str) -> bool {
    let prefixes = [
        "git@",
        "git::",
        "gh:",
        "github.com/",
        "gitlab.com/",
        "bitbucket.org/",
    ];
    name.contains("://")
        || prefixes.iter().any(|prefix| name.starts_with(prefix))
        || name.contains("?ref=")
        || name.contains("?version=")
        || name
            .rsplit_once('.')
            .is_some_and(|(_, extension)| extension == "git")
        || name.contains("_git/")
}
