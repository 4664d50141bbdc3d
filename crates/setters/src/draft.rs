//! A file in the course of being changed, one change after the other.

use crate::{
    Problem,
    document::{Document, Edit, Fragment, Id, Target, apply},
};

pub(crate) struct Draft {
    file: String,
    document: Document,
}

impl Draft {
    pub(crate) fn new(file: &str, text: &str) -> Result<Self, Problem> {
        Ok(Self {
            file: file.to_owned(),
            document: Document::parse(file, text)?,
        })
    }

    pub(crate) fn document(&self) -> &Document {
        &self.document
    }

    pub(crate) fn text(self) -> String {
        self.document.text().to_owned()
    }

    /// The outermost mapping of the first document.
    pub(crate) fn root(&self) -> Option<Id> {
        self.document.roots().first().copied()
    }

    pub(crate) fn find(&self, path: &[&str]) -> Option<Id> {
        self.document.find(self.root()?, path)
    }

    /// Puts a value at the end of a path, whatever is there.
    pub(crate) fn put(&mut self, path: &[&str], value: Fragment) -> Result<(), Problem> {
        if let Some(root) = self.root() {
            self.replace(self.document.put(root, path, value))
        } else {
            let text = self.document.text().to_owned();
            let separator = if text.is_empty() || text.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            let lines = value.below(path).to_lines();
            self.replace(format!("{text}{separator}{lines}\n"))
        }
    }

    /// Removes what is at the end of a path, if anything is.
    pub(crate) fn remove(&mut self, path: &[&str]) -> Result<(), Problem> {
        let removed = self.root().and_then(|root| self.document.remove(root, path));
        removed.map_or(Ok(()), |text| self.replace(text))
    }

    /// Adds to the list at the end of a path; the list is made if there is none.
    pub(crate) fn append(&mut self, path: &[&str], item: Fragment) -> Result<(), Problem> {
        match self.find(path) {
            Some(list) if self.document.is_sequence(list) => {
                let edit = self.document.insert_item(list, &item);
                self.replace(apply(self.document.text(), vec![edit]))
            }
            _ => self.put(path, Fragment::List(vec![item])),
        }
    }

    pub(crate) fn remove_item(&mut self, list: Id, index: usize) -> Result<(), Problem> {
        let edit = self.document.remove_item(list, index);
        self.replace(apply(self.document.text(), vec![edit]))
    }

    pub(crate) fn put_below(&mut self, node: Id, path: &[&str], value: Fragment) -> Result<(), Problem> {
        self.replace(self.document.put(node, path, value))
    }

    pub(crate) fn remove_below(&mut self, node: Id, path: &[&str]) -> Result<(), Problem> {
        let removed = self.document.remove(node, path);
        removed.map_or(Ok(()), |text| self.replace(text))
    }

    /// Adds to the list at a key of a mapping; the list is made if there is none.
    pub(crate) fn append_below(&mut self, node: Id, key: &str, item: Fragment) -> Result<(), Problem> {
        match self.document.get(node, key) {
            Some(list) if self.document.is_sequence(list) => {
                let edit = self.document.insert_item(list, &item);
                self.replace(apply(self.document.text(), vec![edit]))
            }
            _ => self.put_below(node, &[key], Fragment::List(vec![item])),
        }
    }

    /// Another text for a scalar.
    pub(crate) fn put_scalar(&mut self, node: Id, value: &str) -> Result<(), Problem> {
        let edit = self.document.replace_scalar(node, value, Target::Text);
        self.replace(apply(self.document.text(), edit.into_iter().collect()))
    }

    /// Puts a field before all others.
    pub(crate) fn put_first(&mut self, key: &str, value: &str) -> Result<(), Problem> {
        let first = self.root().and_then(|root| self.document.entries(root).first());
        let Some(at) = first.map(|first| self.document.entry_start(first)) else {
            return self.put(&[key], Fragment::text(value));
        };
        let is_block = self.root().is_some_and(|root| self.document.is_block(root));
        if !is_block {
            return self.put(&[key], Fragment::text(value));
        }
        let line = Fragment::text(value).below(&[key]).to_lines();
        self.replace(apply(self.document.text(), vec![Edit::insert(at, line + "\n")]))
    }

    /// Gives a field of the outermost mapping another name.
    pub(crate) fn rename(&mut self, key: &str, name: &str) -> Result<(), Problem> {
        let entry = self.root().and_then(|root| self.document.entry(root, key));
        let edit = entry.map(|entry| Edit::replace(self.document.node(entry.key).span.clone(), name));
        self.replace(apply(self.document.text(), edit.into_iter().collect()))
    }

    pub(crate) fn reorder(&mut self, list: Id, order: &[usize]) -> Result<(), Problem> {
        let edits = self.document.reorder_items(list, order);
        self.replace(apply(self.document.text(), edits))
    }

    fn replace(&mut self, text: String) -> Result<(), Problem> {
        self.document = Document::parse(&self.file, &text)?;
        Ok(())
    }
}
