//! From the parser's events to nodes with their bytes.

use std::{collections::BTreeMap, ops::Range};

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, StructureStyle};

use super::{Content, Document, Entry, Id, Item, Node, Scalar, Style};
use crate::Problem;

/// Mappings and lists may nest this deep, as in [`manifests::yaml`].
const MAX_DEPTH: usize = manifests::yaml::MAX_DEPTH;

impl Document {
    /// Reads a text. `file` is the name it has in complaints.
    pub fn parse(file: &str, text: &str) -> Result<Self, Problem> {
        let options = granit_parser::options! {
            emit_comments: false,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
        };
        let mut builder = Builder {
            file,
            text,
            events: Parser::new_from_str_with_options(text, options),
            nodes: Vec::new(),
            anchors: BTreeMap::new(),
            cursor: 0,
            depth: 0,
        };
        let roots = builder.documents()?;
        Ok(Self {
            text: text.to_owned(),
            nodes: builder.nodes,
            roots,
        })
    }
}

struct Builder<'a> {
    file: &'a str,
    text: &'a str,
    events: Parser<'a, StrInput<'a>>,
    nodes: Vec<Node>,
    /// Nodes that aliases may mean, by the numbers the parser gives them.
    anchors: BTreeMap<usize, Id>,
    /// The end of what was read last. What is between it and the next node is white space, comments, signs
    /// (`-`, `:`, `?`, `,`), anchors and tags.
    cursor: usize,
    depth: usize,
}

impl<'a> Builder<'a> {
    fn documents(&mut self) -> Result<Vec<Id>, Problem> {
        let mut roots = Vec::new();
        loop {
            match self.event()? {
                None | Some((Event::StreamEnd, _)) => return Ok(roots),
                Some((Event::DocumentStart(..) | Event::DocumentEnd, span)) => {
                    // Those that are not written are found anywhere.
                    let bytes = range(&span);
                    if matches!(self.text.get(bytes.clone()), Some("---" | "...")) {
                        self.cursor = self.cursor.max(bytes.end);
                    }
                }
                Some((event, span)) if event.is_node() => {
                    let root = self.node(event, &span)?;
                    if !self.is_nothing(root) {
                        roots.push(root);
                    }
                }
                Some(_) => {}
            }
        }
    }

    fn is_nothing(&self, id: Id) -> bool {
        let node = &self.nodes[id];
        matches!(&node.content, Content::Scalar(scalar) if scalar.style == Style::Plain && !scalar.is_tagged
            && matches!(scalar.value.as_str(), "" | "~" | "null"))
    }

    fn event(&mut self) -> Result<Option<(Event<'a>, Span)>, Problem> {
        let next = self.events.next_event().transpose();
        next.map_err(|_| self.malformed())
    }

    /// What is wrong, in the words of the one reader of YAML all of Trainyard has.
    fn malformed(&self) -> Problem {
        match manifests::yaml::parse_documents(self.text) {
            Err(error) => {
                Problem::new(error.to_string()).at(self.file, error.line.max(1), error.column.max(1))
            }
            Ok(_) => Problem::new("yaml: it cannot be read").in_file(self.file),
        }
    }

    fn node(&mut self, event: Event<'a>, span: &Span) -> Result<Id, Problem> {
        let start = self.skip(self.cursor, b",");
        let bytes = range(span);
        let (anchor, (span, content)) = match event {
            Event::Scalar(value, style, anchor, tag) => {
                (anchor, self.scalar(&value, style, tag.is_some(), bytes))
            }
            Event::SequenceStart(style, anchor, _) => (anchor, self.sequence(style, bytes.start)?),
            Event::MappingStart(style, anchor, _) => (anchor, self.mapping(style, bytes.start)?),
            Event::Alias(anchor) => {
                // A node that is not there yet contains this alias.
                let target = self.anchors.get(&anchor).ok_or_else(|| self.malformed())?;
                (0, (bytes, Content::Alias(*target)))
            }
            _ => return Err(self.malformed()),
        };
        let start = start.min(span.start);
        self.cursor = self.cursor.max(span.end);
        self.nodes.push(Node { span, start, content });
        let id = self.nodes.len() - 1;
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
        Ok(id)
    }

    fn scalar(
        &self,
        value: &str,
        style: ScalarStyle,
        is_tagged: bool,
        bytes: Range<usize>,
    ) -> (Range<usize>, Content) {
        let (bytes, style) = match style {
            ScalarStyle::SingleQuoted => (bytes, Style::SingleQuoted),
            ScalarStyle::DoubleQuoted => (bytes, Style::DoubleQuoted),
            ScalarStyle::Literal => (self.block(bytes), Style::Literal),
            ScalarStyle::Folded => (self.block(bytes), Style::Folded),
            ScalarStyle::Plain => (bytes, Style::Plain),
        };
        // Where nothing is written the parser says `~`, and may say it far behind the place.
        let is_absent = style == Style::Plain && bytes.is_empty();
        let (value, bytes) = if is_absent {
            let at = self.end_of_properties();
            (String::new(), at..at)
        } else {
            (value.to_owned(), bytes)
        };
        let content = Content::Scalar(Scalar {
            value,
            style,
            is_tagged,
        });
        (bytes, content)
    }

    /// A block scalar from its indicator to the end of its last line.
    fn block(&self, bytes: Range<usize>) -> Range<usize> {
        let between = self.text.get(self.cursor..bytes.start).unwrap_or_default();
        let indicator = between.find(['|', '>']).map(|found| self.cursor + found);
        let start = indicator.unwrap_or(bytes.start);
        let header = self.text[start..].lines().next().unwrap_or_default();
        let keeps_all = header
            .split('#')
            .next()
            .is_some_and(|header| header.contains('+'));
        let written = &self.text[start..bytes.end.max(start)];
        let length = if keeps_all {
            written.strip_suffix('\n').unwrap_or(written).len()
        } else {
            written.trim_end().len()
        };
        start..start + length
    }

    fn sequence(&mut self, style: StructureStyle, start: usize) -> Result<(Range<usize>, Content), Problem> {
        let is_flow = style == StructureStyle::Flow;
        let start = self.enter(is_flow, start, b'-')?;
        let mut items = Vec::new();
        let mut end = start;
        loop {
            let dash = (!is_flow).then(|| self.sign(b'-')).flatten();
            match self.event()? {
                Some((Event::SequenceEnd, span)) => {
                    return Ok((
                        start..self.leave(is_flow, end, &span),
                        Content::Sequence { items, is_flow },
                    ));
                }
                Some((event, span)) => {
                    if let Some(dash) = dash {
                        self.cursor = dash + 1;
                    }
                    let value = self.node(event, &span)?;
                    end = self.nodes[value].span.end.max(dash.map_or(0, |dash| dash + 1));
                    items.push(Item { value, dash });
                }
                None => return Err(self.malformed()),
            }
        }
    }

    fn mapping(&mut self, style: StructureStyle, start: usize) -> Result<(Range<usize>, Content), Problem> {
        let is_flow = style == StructureStyle::Flow;
        let start = self.enter(is_flow, start, b'?')?;
        let mut entries = Vec::new();
        let mut end = start;
        loop {
            match self.event()? {
                Some((Event::MappingEnd, span)) => {
                    return Ok((
                        start..self.leave(is_flow, end, &span),
                        Content::Mapping { entries, is_flow },
                    ));
                }
                Some((event, span)) => {
                    let question = self.sign(b'?');
                    self.cursor = question.map_or(self.cursor, |question| question + 1);
                    // A key of nothing is right before its colon.
                    if let Some(colon) = self.sign(b':').filter(|_| range(&span).is_empty()) {
                        self.cursor = colon;
                    }
                    let key = self.node(event, &span)?;
                    let colon = self.sign(b':');
                    self.cursor = colon.map_or(self.cursor, |colon| colon + 1);
                    let Some((event, span)) = self.event()? else {
                        return Err(self.malformed());
                    };
                    let value = self.node(event, &span)?;
                    end = self.nodes[value]
                        .span
                        .end
                        .max(colon.map_or(self.nodes[key].span.end, |c| c + 1));
                    entries.push(Entry {
                        key,
                        value,
                        colon,
                        is_explicit: question.is_some(),
                    });
                }
                None => return Err(self.malformed()),
            }
        }
    }

    /// Where a collection really begins: the parser points at what is in it.
    fn enter(&mut self, is_flow: bool, start: usize, sign: u8) -> Result<usize, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.malformed());
        }
        if is_flow {
            self.cursor = start + 1;
            return Ok(start);
        }
        Ok(self.sign(sign).unwrap_or(start))
    }

    fn leave(&mut self, is_flow: bool, end: usize, span: &Span) -> usize {
        self.depth -= 1;
        let end = if is_flow { range(span).end } else { end };
        self.cursor = self.cursor.max(end);
        end
    }

    /// Where a sign is, if it is the next thing but white space, comments, anchors and tags.
    fn sign(&self, sign: u8) -> Option<usize> {
        let mut at = self.skip(self.cursor, b",");
        while matches!(self.byte(at), Some(b'&' | b'!')) {
            at = self.skip(self.end_of_word(at), b",");
        }
        (self.byte(at) == Some(sign)).then_some(at)
    }

    fn end_of_properties(&self) -> usize {
        let mut end = self.cursor;
        let mut at = self.skip(end, &[]);
        while matches!(self.byte(at), Some(b'&' | b'!')) {
            end = self.end_of_word(at);
            at = self.skip(end, &[]);
        }
        end
    }

    fn end_of_word(&self, at: usize) -> usize {
        let word = self.text[at..].find([' ', '\t', '\n', '\r', ',', ']', '}']);
        word.map_or(self.text.len(), |length| at + length)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Over white space, comments and the bytes given.
    fn skip(&self, mut at: usize, also: &[u8]) -> usize {
        while let Some(byte) = self.byte(at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => at += 1,
                b'#' => at += self.text[at..].find('\n').unwrap_or(self.text.len() - at),
                _ if also.contains(&byte) => at += 1,
                _ => break,
            }
        }
        at
    }
}

fn range(span: &Span) -> Range<usize> {
    let start = span.start.byte_offset().unwrap_or(0);
    start..span.end.byte_offset().unwrap_or(start).max(start)
}
