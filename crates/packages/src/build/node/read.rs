//! From text to nodes: documents are split where a line begins with `---`, aliases are filled in, and
//! merge keys are merged.

use manifests::yaml::{self, Index, Style, Tree, YamlError};

use super::{At, Content, Entry, Map, Node, Scalar, Tag, resolve::resolve};

/// So many nodes may come out of the aliases of a document.
const MAX_EXPANDED: usize = 500_000;

const CORE: &str = "tag:yaml.org,2002:";

/// What is wrong with a text.
#[derive(Clone, Debug)]
pub(in super::super) struct ReadProblem {
    pub(in super::super) message: String,
    pub(in super::super) at: At,
}

/// The documents of a text.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Documents {
    /// Those that are not empty.
    pub(in super::super) nodes: Vec<Node>,
    /// How many there are, with the empty ones.
    pub(in super::super) chunks: usize,
}

pub(in super::super) fn read_documents(text: &str, file: u16) -> Result<Documents, ReadProblem> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let chunks = split(text, file)?;
    let mut documents = Documents {
        chunks: chunks.len(),
        nodes: Vec::new(),
    };
    for (line, chunk) in chunks {
        documents.nodes.extend(read_chunk(chunk, file, line)?);
    }
    Ok(documents)
}

/// The first document; none when it is empty.
pub(in super::super) fn read_first(text: &str, file: u16) -> Result<Option<Node>, ReadProblem> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    read_chunk(text, file, 0)
}

/// Documents, each with the number of lines before it.
fn split(text: &str, file: u16) -> Result<Vec<(u32, &str)>, ReadProblem> {
    let mut chunks = Vec::new();
    let (mut start, mut start_line) = (0, 0);
    let mut at = 0;
    for (line, content) in (0..).zip(text.split_inclusive('\n')) {
        let end = at + content.len();
        if at > 0 && content.starts_with("---") && content.ends_with('\n') {
            let behind = content[3..].trim();
            if !behind.is_empty() && !behind.starts_with('#') {
                return Err(ReadProblem {
                    message: format!("invalid document separator: {}", content.trim()),
                    at: At {
                        file,
                        line: line + 1,
                        column: 1,
                    },
                });
            }
            chunks.push((start_line, &text[start..at]));
            (start, start_line) = (end, line + 1);
        }
        at = end;
    }
    chunks.push((start_line, &text[start..]));
    Ok(chunks)
}

fn read_chunk(text: &str, file: u16, line: u32) -> Result<Option<Node>, ReadProblem> {
    let problem = |error: YamlError| ReadProblem {
        at: At {
            file,
            line: line + error.line as u32,
            column: u16::try_from(error.column).unwrap_or(u16::MAX),
        },
        message: error.message,
    };
    let read = yaml::read(text, |documents| {
        let tree = documents.next()?;
        Ok(tree.map(|tree| {
            let reader = Reader {
                tree: &tree,
                file,
                line,
            };
            reader.node(tree.root, &mut Budget::default())
        }))
    });
    let Some(node) = read.map_err(problem)?.transpose()? else {
        return Ok(None);
    };
    Ok((!node.is_null()).then_some(node))
}

struct Reader<'t> {
    tree: &'t Tree<'t>,
    file: u16,
    line: u32,
}

/// What aliases have cost so far.
#[derive(Default)]
struct Budget {
    expanded: usize,
    /// How many aliases lead to the node that is read.
    aliases: usize,
}

impl Reader<'_> {
    fn at(&self, index: Index) -> At {
        let place = self.tree.nodes[index].place;
        At {
            file: self.file,
            line: self.line + place.line as u32,
            column: u16::try_from(place.column).unwrap_or(u16::MAX),
        }
    }

    fn problem(&self, index: Index, message: &str) -> ReadProblem {
        ReadProblem {
            message: message.to_owned(),
            at: self.at(index),
        }
    }

    fn node(&self, index: Index, budget: &mut Budget) -> Result<Node, ReadProblem> {
        if budget.aliases > 0 {
            budget.expanded += 1;
            if budget.expanded > MAX_EXPANDED {
                return Err(self.problem(index, "document contains excessive aliasing"));
            }
        }
        let content = match &self.tree.nodes[index].content {
            yaml::Content::Scalar(scalar) => Content::Scalar(read_scalar(scalar)),
            yaml::Content::Sequence(items) => {
                let items = items.iter().map(|item| self.node(*item, budget));
                Content::List(items.collect::<Result<_, _>>()?)
            }
            yaml::Content::Mapping(pairs) => Content::Map(self.mapping(pairs, budget)?),
            yaml::Content::Alias(target) => {
                budget.aliases += 1;
                let node = self.node(*target, budget)?;
                budget.aliases -= 1;
                node.content
            }
        };
        Ok(Node {
            content,
            at: self.at(index),
        })
    }

    fn mapping(&self, pairs: &[(Index, Index)], budget: &mut Budget) -> Result<Map, ReadProblem> {
        let mut map = Map {
            entries: Vec::with_capacity(pairs.len()),
        };
        let mut merged: Option<Vec<Map>> = None;
        for (key, value) in pairs {
            let Content::Scalar(key_scalar) = self.node(*key, budget)?.content else {
                return Err(self.problem(*key, "a key must be a scalar"));
            };
            if key_scalar.tag == Tag::Merge {
                if merged.is_some() {
                    return Err(self.problem(*key, "duplicate merge key"));
                }
                merged = Some(self.merge_sources(*value, budget)?);
                continue;
            }
            map.entries.push(Entry {
                key: key_scalar,
                at: self.at(*key),
                value: self.node(*value, budget)?,
            });
        }
        if let Some(sources) = merged {
            merge(&mut map, sources);
        }
        Ok(map)
    }

    /// The maps of a merge key; where two have an entry, that of the later one counts.
    fn merge_sources(&self, index: Index, budget: &mut Budget) -> Result<Vec<Map>, ReadProblem> {
        let wrong = || self.problem(index, "map merge requires map or sequence of maps as the value");
        match self.node(index, budget)?.content {
            Content::Map(map) => Ok(vec![map]),
            Content::List(items) => {
                let maps = items.into_iter().rev().map(|item| match item.content {
                    Content::Map(map) => Ok(map),
                    _ => Err(wrong()),
                });
                maps.collect()
            }
            Content::Scalar(_) => Err(wrong()),
        }
    }
}

/// Adds what the map does not have itself.
fn merge(map: &mut Map, sources: Vec<Map>) {
    let mut inherited = Map::default();
    for entry in sources.into_iter().flat_map(|source| source.entries) {
        match inherited.get_mut(&entry.key.text) {
            Some(existing) => *existing = entry.value,
            None => inherited.entries.push(entry),
        }
    }
    let missing = inherited
        .entries
        .into_iter()
        .filter(|entry| map.get(&entry.key.text).is_none());
    let missing: Vec<Entry> = missing.collect();
    map.entries.extend(missing);
}

fn read_scalar(scalar: &yaml::Scalar<'_>) -> Scalar {
    let text = scalar.text.clone().into_owned();
    let explicit = scalar.tag.as_deref().filter(|tag| *tag != "!");
    let tag = match explicit {
        None if scalar.style == Style::Plain => resolve(&text).tag(),
        None => Tag::Text,
        Some(tag) => named(tag),
    };
    // What was said to be a number is one, also in quotes.
    let is_said = explicit.is_some() && !matches!(tag, Tag::Text | Tag::Other(_));
    let style = if is_said { Style::Plain } else { scalar.style };
    Scalar {
        text,
        tag,
        style,
        link: 0,
    }
}

fn named(tag: &str) -> Tag {
    match tag.strip_prefix(CORE) {
        Some("str") => Tag::Text,
        Some("int") => Tag::Integer,
        Some("float") => Tag::Float,
        Some("bool") => Tag::Bool,
        Some("null") => Tag::Null,
        Some("timestamp") => Tag::Time,
        Some("binary") => Tag::Binary,
        Some("merge") => Tag::Merge,
        _ => Tag::Other(tag.into()),
    }
}
