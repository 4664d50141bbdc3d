//! What `create-setter` and `create-subst` share: the marker on the fields that have a value.

use std::collections::BTreeMap;

use crate::{
    Package, Problem,
    document::{Document, Edit, Id, apply},
    fields::{Field, fields},
    marker::Marker,
};

/// Which fields become part of a setter or a substitution.
pub(crate) struct Selection<'a> {
    /// The name for the marker.
    pub(crate) name: &'a str,
    /// The end of the path of fields; empty for all.
    pub(crate) field: &'a str,
    /// The value of fields; empty for any.
    pub(crate) value: &'a str,
    /// Only lists.
    pub(crate) lists_only: bool,
}

/// The fields that were marked.
#[derive(Default)]
pub(crate) struct Marked {
    pub(crate) count: usize,
    /// The elements of the lists among them, which are the same in all.
    pub(crate) list_values: Vec<String>,
    pub(crate) edits: BTreeMap<String, String>,
}

impl Selection<'_> {
    pub(crate) fn mark(&self, package: &Package, files: &[&str]) -> Result<Marked, Problem> {
        if self.field.is_empty() && self.value.is_empty() {
            return Err(Problem::new("must specify either fieldName or fieldValue"));
        }
        let mut marked = Marked::default();
        for path in files {
            let document = package.document(path)?;
            let mut edits = Vec::new();
            for field in document.roots().iter().flat_map(|root| fields(&document, *root)) {
                if self.takes(path, &document, &field, &mut marked)? {
                    marked.count += 1;
                    edits.extend(document.mark(field.id, self.name));
                }
            }
            if !edits.is_empty() {
                let text = apply(document.text(), edits);
                Document::parse(path, &text)?;
                marked.edits.insert((*path).to_owned(), text);
            }
        }
        Ok(marked)
    }

    fn takes(
        &self,
        file: &str,
        document: &Document,
        field: &Field,
        marked: &mut Marked,
    ) -> Result<bool, Problem> {
        if let Some(value) = document.value(field.id) {
            let is_value = self.value.is_empty() || self.value == value;
            return Ok(!self.lists_only && field.path.ends_with(self.field) && is_value);
        }
        if self.field.is_empty() || field.entry.is_none() || !field.path.ends_with(self.field) {
            return Ok(false);
        }
        let items = document.items(field.id).iter();
        let values: Vec<String> = items
            .map(|item| document.value(item.value).unwrap_or_default().to_owned())
            .collect();
        if !marked.list_values.is_empty() && marked.list_values != values {
            let message = format!(
                "setters can only be created for fields with same values, encountered different array values for \
                 specified field path: [{}], [{}]",
                values.join(" "),
                marked.list_values.join(" ")
            );
            return Err(document.problem(file, field.id, message));
        }
        marked.list_values = values;
        Ok(true)
    }
}

impl Document {
    /// Edits that put a marker beside a value, in place of one that is there. Another comment moves above the line.
    fn mark(&self, id: Id, name: &str) -> Vec<Edit> {
        let marker = Marker::comment(name);
        let (comment, end) = self.comment_place(id);
        let Some(comment) = comment else {
            return vec![self.comment_edit(end, &marker)];
        };
        let old = self.text()[comment.clone()].to_owned();
        let mut edits = vec![Edit::replace(comment, marker)];
        if Marker::parse(&old).is_none() {
            edits.push(self.comment_above(id, &old));
        }
        edits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, value: &str) -> String {
        let files = BTreeMap::from([("a.yaml".to_owned(), text.as_bytes().to_vec())]);
        let package = Package::new(".", files).unwrap();
        let selection = Selection {
            name: "x",
            field: "",
            value,
            lists_only: false,
        };
        let marked = selection.mark(&package, &["a.yaml"]).unwrap();
        marked.edits.get("a.yaml").cloned().unwrap_or_default()
    }

    #[test]
    fn a_marker_goes_behind_the_value() {
        assert_eq!(marked("a: 1\nb: 2", "2"), "a: 1\nb: 2 # {\"$openapi\":\"x\"}");
        assert_eq!(
            marked("l:\n- a\n- b\n", "a"),
            "l:\n- a # {\"$openapi\":\"x\"}\n- b\n"
        );
    }

    #[test]
    fn a_comment_that_was_there_is_not_lost() {
        assert_eq!(
            marked("m:\n  a: 1 # mine\n", "1"),
            "m:\n  # mine\n  a: 1 # {\"$openapi\":\"x\"}\n"
        );
        assert_eq!(
            marked("a: 1 # {\"$openapi\":\"y\"}\n", "1"),
            "a: 1 # {\"$openapi\":\"x\"}\n"
        );
    }

    #[test]
    fn values_in_brackets_and_blocks_are_marked_too() {
        assert_eq!(
            marked("l: [a, b]\n", "a"),
            "l: [a, # {\"$openapi\":\"x\"}\n  b]\n"
        );
        assert_eq!(
            marked("s: |\n  text\n", "text\n"),
            "s: | # {\"$openapi\":\"x\"}\n  text\n"
        );
    }
}
