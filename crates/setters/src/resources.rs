//! The resources of a package, for commands that ask about them.

use crate::{
    Package, Problem,
    document::{Document, Id},
    package::Scope,
};

/// Kinds that stand for what is in them.
const LISTS: [&str; 2] = ["List", "ResourceList"];
/// Which file a resource of a stream is from.
pub(crate) const PATH: &str = "config.kubernetes.io/path";

/// A file and what is in it.
pub(crate) struct Read {
    pub(crate) path: String,
    pub(crate) document: Document,
    pub(crate) is_stream: bool,
    pub(crate) roots: Vec<Id>,
}

/// A resource of a file, by its place among them: a document that is not empty, or an item of a list.
#[derive(Clone, Copy)]
pub(crate) struct Resource<'a> {
    pub(crate) file: &'a Read,
    pub(crate) index: usize,
}

pub(crate) fn read(package: &Package, files: &[&str]) -> Result<Vec<Read>, Problem> {
    let read = files
        .iter()
        .map(|path| Ok(Read::new(path, package.document(path)?, package.is_stream())));
    read.collect()
}

pub(crate) fn read_scope(package: &Package, scope: &Scope) -> Result<Vec<Read>, Problem> {
    read(package, &package.resources(scope))
}

/// Where the resources of a text are. Programs give each other lists, and mean what is in them.
pub(crate) fn roots(document: &Document, is_stream: bool) -> Vec<Id> {
    items(document)
        .filter(|_| is_stream)
        .unwrap_or_else(|| document.roots().to_vec())
}

/// The items of a list that is alone in its text.
fn items(document: &Document) -> Option<Vec<Id>> {
    let [root] = document.roots() else { return None };
    let is_list = LISTS.contains(&document.text_at(*root, &["kind"]));
    let items = document.find(*root, &["items"]).filter(|_| is_list)?;
    Some(document.items(items).iter().map(|item| item.value).collect())
}

/// Every resource of some files, in their order.
pub(crate) fn all(files: &[Read]) -> Vec<Resource<'_>> {
    let resources = files.iter().flat_map(|file| {
        let count = file.roots.len();
        (0..count).map(move |index| Resource { file, index })
    });
    resources.collect()
}

impl Read {
    pub(crate) fn new(path: &str, document: Document, is_stream: bool) -> Self {
        Self {
            path: path.to_owned(),
            roots: roots(&document, is_stream),
            document,
            is_stream,
        }
    }
}

impl<'a> Resource<'a> {
    pub(crate) fn document(self) -> &'a Document {
        &self.file.document
    }

    pub(crate) fn root(self) -> Id {
        self.file.roots[self.index]
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

    /// Whether it is a document of its own, and no item of a list.
    pub(crate) fn is_document(self) -> bool {
        self.document().roots().contains(&self.root())
    }

    /// The name of the file, without its folder; `.` where none is known.
    pub(crate) fn file_name(self) -> &'a str {
        let name = self.path().rsplit('/').next().unwrap_or_default();
        if name.is_empty() { "." } else { name }
    }

    /// The folder of the file, `.` for the outermost.
    pub(crate) fn folder(self) -> &'a str {
        self.path().rsplit_once('/').map_or(".", |(folder, _)| folder)
    }

    fn path(self) -> &'a str {
        if self.file.is_stream {
            return self.annotation(PATH).unwrap_or_default();
        }
        &self.file.path
    }
}
