//! From the parser's events to a tree of nodes as they were written, each with its place: scalars are
//! text still, and aliases point.

use std::{borrow::Cow, collections::BTreeMap};

use granit_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput, StructureStyle, Tag, YamlVersion};

use super::{
    MAX_DEPTH, YamlError, problem,
    scalars::{Scalar, Style},
    source::{Source, bad_escape, folded, literal},
    tabs::Tabs,
};

/// The number of a node in its tree.
pub type Index = usize;

/// One document. The nodes are in one list: an alias may point from anywhere to anywhere, and a
/// long chain of them must not take stack.
pub struct Tree<'a> {
    pub nodes: Vec<Node<'a>>,
    pub root: Index,
}

pub struct Node<'a> {
    pub place: Place,
    pub content: Content<'a>,
}

pub enum Content<'a> {
    Scalar(Scalar<'a>),
    Sequence(Vec<Index>),
    Mapping(Vec<(Index, Index)>),
    Alias(Index),
}

impl Tree<'_> {
    /// The value of a name or a number, and where it begins.
    pub(super) fn step(&self, at: Index, step: &str) -> Option<(Place, Index)> {
        match &self.nodes[at].content {
            Content::Mapping(entries) => entries.iter().find_map(|(key, value)| {
                let Content::Scalar(name) = &self.nodes[*key].content else {
                    return None;
                };
                let place = self.nodes[*key].place;
                name.text.eq_ignore_ascii_case(step).then_some((place, *value))
            }),
            Content::Sequence(items) => {
                let item = *items.get(step.parse::<usize>().ok()?)?;
                Some((self.nodes[item].place, item))
            }
            Content::Alias(target) => self.step(*target, step),
            Content::Scalar(_) => None,
        }
    }
}

/// Line and column, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: u64,
    pub column: u64,
}

impl From<&Marker> for Place {
    fn from(marker: &Marker) -> Self {
        Self {
            line: marker.line() as u64,
            column: marker.col() as u64 + 1,
        }
    }
}

impl Place {
    pub(super) fn error(self, message: impl Into<String>) -> YamlError {
        YamlError {
            line: self.line,
            column: self.column,
            message: message.into(),
        }
    }
}

/// Reads the documents of a text, one after the other.
pub struct Documents<'a> {
    text: &'a str,
    /// Where the text was made from another one.
    source: Option<&'a Source<'a>>,
    events: Parser<'a, StrInput<'a>>,
    tabs: Tabs<'a>,
    nodes: Vec<Node<'a>>,
    anchors: BTreeMap<usize, Index>,
    depth: usize,
}

impl<'a> Documents<'a> {
    pub(super) fn of(source: &'a Source<'a>) -> Self {
        Self {
            source: Some(source),
            tabs: Tabs::new(source.with_tabs()),
            ..Self::new(&source.text)
        }
    }

    pub fn new(text: &'a str) -> Self {
        let options = granit_parser::options! {
            emit_comments: false,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
        };
        Self {
            text,
            source: None,
            events: Parser::new_from_str_with_options(text, options),
            tabs: Tabs::new(text),
            nodes: Vec::new(),
            anchors: BTreeMap::new(),
            depth: 0,
        }
    }

    /// The next document; none at the end of the text.
    #[expect(
        clippy::should_implement_trait,
        reason = "a document may be refused, and none comes after it"
    )]
    pub fn next(&mut self) -> Result<Option<Tree<'a>>, YamlError> {
        loop {
            match self.event()? {
                None | Some((Event::StreamEnd, _)) => {
                    self.tabs.check_rest()?;
                    return Ok(None);
                }
                Some((Event::DocumentStart(_, Some(version)), span)) if !is_known(version) => {
                    return Err(Place::from(&span.start).error("found incompatible YAML document"));
                }
                Some((event, span)) if event.is_node() => {
                    let root = self.node(event, span, None)?;
                    return self.finish(root).map(Some);
                }
                Some(_) => {}
            }
        }
    }

    fn finish(&mut self, root: Index) -> Result<Tree<'a>, YamlError> {
        if let Some((_, end)) = self.event()? {
            self.tabs.check(&end)?;
        }
        self.anchors.clear();
        let nodes = std::mem::take(&mut self.nodes);
        Ok(Tree { nodes, root })
    }

    fn event(&mut self) -> Result<Option<(Event<'a>, Span)>, YamlError> {
        let next = self.events.next_event().transpose();
        next.map_err(|error| self.problem(&error.info(), error.marker()))
    }

    fn problem(&self, told: &str, marker: &Marker) -> YamlError {
        // Kubectl's reader stands behind the last line when it finds that an end is missing.
        let place = if problem::is_missing_end(told) {
            Place {
                line: self.text.lines().count() as u64 + 1,
                column: 1,
            }
        } else {
            Place::from(marker)
        };
        place.error(problem::words(told))
    }

    fn place(&self, marker: &Marker) -> Place {
        let place = Place::from(marker);
        let column = |source: &Source<'_>| source.column(place.line, place.column);
        Place {
            column: self.source.map_or(place.column, column),
            ..place
        }
    }

    /// A node and everything below it. `parent` is the column of the block it is in.
    fn node(&mut self, event: Event<'a>, span: Span, parent: Option<usize>) -> Result<Index, YamlError> {
        let place = self.place(&span.start);
        let (anchor, content) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.tabs.scalar(&span, style, parent);
                // The parser says `~` for a value that is not there.
                let is_missing = style == ScalarStyle::Plain && span.start.index() == span.end.index();
                let text = if is_missing { Cow::default() } else { text };
                if style == ScalarStyle::DoubleQuoted
                    && let Some(problem) = bad_escape(self.written(&span))
                {
                    return Err(Place::from(&span.start).error(problem));
                }
                let text = self.with_line_breaks(text, style, &span);
                let scalar = Scalar {
                    text: self.without_added_break(text, style, &span),
                    style: Style::from(style),
                    tag: tag.map(|tag| full_name(&tag)),
                };
                (anchor, Content::Scalar(scalar))
            }
            Event::SequenceStart(style, anchor, _) => {
                let items = self.children(place, span, style, false)?;
                (anchor, Content::Sequence(items))
            }
            Event::MappingStart(style, anchor, _) => {
                let children = self.children(place, span, style, true)?;
                let pairs = children.chunks_exact(2).map(|pair| (pair[0], pair[1]));
                (anchor, Content::Mapping(pairs.collect()))
            }
            Event::Alias(anchor) => {
                let target = self.anchors.get(&anchor).copied();
                // The parser knows the name, but the node it names has not ended.
                let target = target.ok_or_else(|| place.error("the value of an anchor contains itself"))?;
                (0, Content::Alias(target))
            }
            _ => return Err(place.error("did not find expected node content")),
        };
        let index = self.nodes.len();
        self.nodes.push(Node { place, content });
        if anchor != 0 {
            self.anchors.insert(anchor, index);
        }
        Ok(index)
    }

    /// Whether a key is not there, as in `: value`. In YAML 1.1 only a `?` can stand for one.
    fn is_left_out(&self, event: &Event<'_>, span: &Span) -> bool {
        let is_bare = matches!(event, Event::Scalar(_, ScalarStyle::Plain, 0, None));
        let start = span.start.byte_offset();
        let before = start.and_then(|start| self.text.get(..start)).unwrap_or_default();
        let is_asked_for = before
            .trim_end()
            .strip_suffix('?')
            .is_some_and(|rest| rest.is_empty() || rest.ends_with([' ', '\t', '\n', '\r', '{', '[', ',']));
        is_bare && span.start.index() == span.end.index() && !is_asked_for
    }

    fn written(&self, span: &Span) -> &'a str {
        let bytes = span.start.byte_offset().zip(span.end.byte_offset());
        bytes
            .and_then(|(start, end)| self.text.get(start..end))
            .unwrap_or_default()
    }

    /// Some line breaks are part of a value as they are.
    fn with_line_breaks(&self, text: Cow<'a, str>, style: ScalarStyle, span: &Span) -> Cow<'a, str> {
        let Some(source) = self.source.filter(|source| source.keeps_breaks()) else {
            return text;
        };
        let (from, to) = (span.start.index(), span.end.index());
        let inside = self.written(span);
        // The first lines of a block may be empty, and are before what the parser takes for it.
        let before = match style {
            ScalarStyle::Literal => blanks_before(self.text, span),
            _ => "",
        };
        let written = source.written(from - before.len(), to, &format!("{before}{inside}"));
        let Some(written) = written else {
            return text;
        };
        match style {
            ScalarStyle::Literal => literal(&text, &written).into(),
            ScalarStyle::Folded => text,
            ScalarStyle::Plain => folded(&written).into(),
            ScalarStyle::SingleQuoted => {
                let inner = written.get(1..written.len() - 1).unwrap_or_default();
                folded(inner).replace("''", "'").into()
            }
            // Escapes are left to the parser: all on one line, it finds nothing else to do.
            ScalarStyle::DoubleQuoted => {
                let line = folded(&written)
                    .replace('\u{2028}', "\\L")
                    .replace('\u{2029}', "\\P");
                let events = Parser::new_from_str(&line);
                let scalar = events.into_iter().find_map(|event| match event {
                    Ok((Event::Scalar(text, ..), _)) => Some(text.into_owned()),
                    _ => None,
                });
                scalar.map_or(text, Cow::from)
            }
        }
    }

    /// The parser ends a block with a line break even where the text ends without one.
    fn without_added_break(&self, text: Cow<'a, str>, style: ScalarStyle, span: &Span) -> Cow<'a, str> {
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let is_at_end = span.end.byte_offset() == Some(self.text.len());
        match text.strip_suffix('\n') {
            Some(text) if is_block && is_at_end && !self.text.ends_with(['\n', '\r']) => {
                text.to_owned().into()
            }
            _ => text,
        }
    }

    fn children(
        &mut self,
        place: Place,
        start: Span,
        style: StructureStyle,
        is_mapping: bool,
    ) -> Result<Vec<Index>, YamlError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(place.error("the document is nested too deeply"));
        }
        let column = (style == StructureStyle::Block).then(|| start.start.col());
        let mut children = Vec::new();
        loop {
            match self.event()? {
                Some((Event::SequenceEnd | Event::MappingEnd, end)) => {
                    self.depth -= 1;
                    if style == StructureStyle::Flow {
                        self.tabs.flow(&start, &end);
                    }
                    return Ok(children);
                }
                Some((event, span)) => {
                    let is_key = is_mapping && children.len().is_multiple_of(2);
                    if is_key && self.is_left_out(&event, &span) {
                        let expected = match style {
                            StructureStyle::Block => problem::KEY,
                            StructureStyle::Flow => "did not find expected node content",
                        };
                        return Err(self.place(&span.start).error(expected));
                    }
                    children.push(self.node(event, span, column)?);
                }
                None => return Err(place.error("found unexpected end of stream")),
            }
        }
    }
}

/// The white space before something, of which every character is one byte.
fn blanks_before<'t>(text: &'t str, span: &Span) -> &'t str {
    let before = span.start.byte_offset().and_then(|start| text.get(..start));
    let before = before.unwrap_or_default();
    &before[before.trim_end_matches([' ', '\t', '\n', '\r']).len()..]
}

/// The readers of kubectl know YAML 1.1, the parser knows what came after it.
fn is_known(version: YamlVersion) -> bool {
    (version.major, version.minor) == (1, 1)
}

fn full_name(tag: &Tag) -> String {
    let (handle, suffix) = tag.parts();
    format!("{handle}{suffix}")
}
