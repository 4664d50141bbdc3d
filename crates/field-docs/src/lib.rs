//! The descriptions of the built-in API types and their fields, for `kubectl explain`.
//!
//! The texts are those of the `k8s-openapi` crate, taken out of it when this crate is built. They
//! lie compressed in the program; [`FieldDocs::open`] unpacks them for as long as they are needed,
//! since most servers are never asked to explain anything.

use std::{
    collections::HashMap,
    io::{self, Read as _},
    ops::Range,
};

use flate2::read::ZlibDecoder;

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/field-docs.zlib"));

/// All descriptions, unpacked. About a megabyte: open it for one document and let it go.
#[derive(Debug)]
pub struct FieldDocs {
    content: String,
    /// Where the lines of the fields of a type are, and the number of its own text.
    types: HashMap<String, Entry>,
    texts: Vec<Range<usize>>,
}

#[derive(Debug)]
struct Entry {
    text: usize,
    fields: Range<usize>,
}

impl FieldDocs {
    /// Unpacks the descriptions.
    pub fn open() -> io::Result<Self> {
        let mut content = String::new();
        ZlibDecoder::new(PACKED).read_to_string(&mut content)?;
        let end = content.find('\0').unwrap_or(content.len());
        Ok(FieldDocs {
            types: types(&content[..end]),
            texts: texts(&content, end),
            content,
        })
    }

    /// The description of a type, by its OpenAPI name, or of one of its fields.
    pub fn get(&self, type_name: &str, field: Option<&str>) -> Option<&str> {
        let entry = self.types.get(type_name)?;
        let number = match field {
            None => entry.text,
            Some(field) => {
                let mut lines = self.content[entry.fields.clone()].lines().filter_map(numbered);
                lines.find(|(name, _)| *name == field)?.1
            }
        };
        let text = &self.content[self.texts.get(number)?.clone()];
        (!text.is_empty()).then_some(text)
    }
}

/// Finds the types in the index. Lines of fields are indented and follow their type.
fn types(index: &str) -> HashMap<String, Entry> {
    let mut types = HashMap::new();
    let mut rest = 0;
    while rest < index.len() {
        let start = index[rest..].find('\n').map_or(index.len(), |end| rest + end + 1);
        let end = end_of_fields(index, start);
        if let Some((name, text)) = numbered(index[rest..start].trim_end()) {
            let fields = start..end;
            types.insert(name.to_owned(), Entry { text, fields });
        }
        rest = end;
    }
    types
}

/// Where the next line that is not indented starts.
fn end_of_fields(index: &str, start: usize) -> usize {
    let mut end = start;
    for line in index[start..].split_inclusive('\n') {
        if !line.starts_with(' ') {
            break;
        }
        end += line.len();
    }
    end
}

/// `spec 12` to its name and number.
fn numbered(line: &str) -> Option<(&str, usize)> {
    let (name, number) = line.trim_start().split_once(' ')?;
    Some((name, number.parse().ok()?))
}

/// Where each text is, after the index.
fn texts(content: &str, index_end: usize) -> Vec<Range<usize>> {
    let mut texts = Vec::new();
    let mut start = index_end + 1;
    for text in content.get(start..).unwrap_or_default().split('\0') {
        texts.push(start..start + text.len());
        start += text.len() + 1;
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_and_its_fields_have_descriptions() {
        let docs = FieldDocs::open().unwrap();
        let pod = "io.k8s.api.core.v1.Pod";
        assert!(docs.get(pod, None).unwrap().starts_with("Pod is a collection"));
        assert!(docs.get(pod, Some("spec")).unwrap().contains("desired behavior"));
        assert_eq!(docs.get(pod, Some("nothing")), None);
        assert_eq!(docs.get("io.k8s.api.core.v1.Nothing", None), None);
    }

    #[test]
    fn every_kind_that_is_served_has_a_description() {
        let docs = FieldDocs::open().unwrap();
        for resource in *kinds::resources::RESOURCES {
            assert!(
                docs.get(resource.type_name, None).is_some(),
                "{}",
                resource.type_name
            );
        }
    }

    #[test]
    fn the_fields_are_those_of_the_table_of_types() {
        let docs = FieldDocs::open().unwrap();
        for described in kinds::types::structs() {
            let name = described.full_name();
            let Some(entry) = docs.types.get(&name) else {
                continue;
            };
            let lines = docs.content[entry.fields.clone()].lines();
            let fields: Vec<_> = lines.filter_map(numbered).map(|(field, _)| field).collect();
            let expected: Vec<_> = described.fields().iter().map(|field| field.name).collect();
            assert_eq!(fields, expected, "{name}");
        }
    }

    #[test]
    fn the_packed_texts_are_a_small_part_of_the_program() {
        assert!(PACKED.len() < 400_000, "{} bytes", PACKED.len());
    }
}
