//! The resources of a package, for commands that ask about them.

use crate::{
    Package, Problem,
    document::{Document, Id},
    package::Scope,
};

/// A file and what is in it.
pub(crate) struct Read {
    pub(crate) path: String,
    pub(crate) document: Document,
}

/// A document of a file, by its place among those that are not empty.
#[derive(Clone, Copy)]
pub(crate) struct Resource<'a> {
    pub(crate) file: &'a Read,
    pub(crate) index: usize,
}

pub(crate) fn read(package: &Package, files: &[&str]) -> Result<Vec<Read>, Problem> {
    let read = files.iter().map(|path| {
        Ok(Read {
            path: (*path).to_owned(),
            document: package.document(path)?,
        })
    });
    read.collect()
}

pub(crate) fn read_scope(package: &Package, scope: &Scope) -> Result<Vec<Read>, Problem> {
    read(package, &package.resources(scope))
}

/// Every resource of some files, in their order.
pub(crate) fn all(files: &[Read]) -> Vec<Resource<'_>> {
    let resources = files.iter().flat_map(|file| {
        let count = file.document.roots().len();
        (0..count).map(move |index| Resource { file, index })
    });
    resources.collect()
}

impl<'a> Resource<'a> {
    pub(crate) fn document(self) -> &'a Document {
        &self.file.document
    }

    pub(crate) fn root(self) -> Id {
        self.file.document.roots()[self.index]
    }

    fn text(self, path: &[&str]) -> &'a str {
        self.document().text_at(self.root(), path)
    }

    pub(crate) fn api_version(self) -> &'a str {
        self.text(&["apiVersion"])
    }

    pub(crate) fn kind(self) -> &'a str {
        self.text(&["kind"])
    }

    pub(crate) fn name(self) -> &'a str {
        self.text(&["metadata", "name"])
    }

    pub(crate) fn namespace(self) -> &'a str {
        self.text(&["metadata", "namespace"])
    }

    pub(crate) fn annotation(self, name: &str) -> Option<&'a str> {
        let found = self
            .document()
            .find(self.root(), &["metadata", "annotations", name])?;
        self.document().value(found)
    }

    /// The name of the file, without its folder.
    pub(crate) fn file_name(self) -> &'a str {
        self.file.path.rsplit('/').next().unwrap_or_default()
    }

    /// The folder of the file, `.` for the outermost.
    pub(crate) fn folder(self) -> &'a str {
        self.file.path.rsplit_once('/').map_or(".", |(folder, _)| folder)
    }
}
