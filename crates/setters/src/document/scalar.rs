//! How a text is written as a scalar: which quotes it needs, and which its author used.

use super::{Content, Document, Edit, Entry, Id, Node};

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
    Folded,
}

impl Style {
    pub fn is_quoted(self) -> bool {
        matches!(self, Self::SingleQuoted | Self::DoubleQuoted)
    }
}

/// What readers must take a new scalar for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A text, whatever it looks like.
    Text,
    /// What it looks like: a number, a truth value.
    Plain,
    /// A text if it was one, and otherwise what it looks like.
    AsBefore,
}

impl Document {
    /// An edit that makes a scalar another text, whatever it was before.
    pub fn set_text(&self, id: Id, value: &str) -> Option<Edit> {
        self.replace_scalar(id, value, Target::Text)
    }

    /// Replaces a scalar by another text: in its style where that can hold it.
    pub(crate) fn replace_scalar(&self, id: Id, value: &str, target: Target) -> Option<Edit> {
        let scalar = self.scalar(id).filter(|_| self.has_place(id))?;
        let is_text = match target {
            Target::Text => true,
            Target::Plain => !is_non_string(value),
            Target::AsBefore => {
                scalar.style != Style::Plain || (!is_non_string(&scalar.value) && !self.is_null(id))
            }
        };
        let span = self.nodes[id].span.clone();
        let mut written = written(value, scalar.style, is_text, self.is_in_flow(id));
        let touches = |c: char| !c.is_whitespace() && !"[{,".contains(c);
        if span.is_empty() && self.text[..span.start].ends_with(touches) {
            written.insert(0, ' ');
        }
        // The comment of a block scalar is in its first line, among the bytes that go.
        if let Some(comment) = self.line_comment(id).filter(|comment| comment.start < span.end) {
            written.push(' ');
            written.push_str(&self.text[comment]);
        }
        Some(Edit::replace(span, written))
    }

    /// Whether there is a place for a value: a key without a colon has none for its value. Where a key is left out,
    /// or has nothing but an anchor or a tag, a text in its entry could be read as that of another.
    fn has_place(&self, id: Id) -> bool {
        let is_empty = |id: Id| self.nodes[id].span.is_empty();
        let is_blank = |line: &str| line.trim_start().is_empty() || line.trim_start().starts_with('#');
        let is_open = |entry: &Entry| {
            let after_key = self.nodes[entry.key].span.end;
            let before_colon = entry.colon.and_then(|colon| self.text.get(after_key..colon));
            let is_key_whole = !entry.is_explicit || !is_empty(entry.key);
            is_key_whole && before_colon.is_some_and(|text| text.lines().all(is_blank))
        };
        let has_none = |entry: &Entry| entry.key == id || (entry.value == id && !is_open(entry));
        let is_without = |node: &Node| match &node.content {
            Content::Mapping { entries, .. } => entries.iter().any(has_none),
            _ => false,
        };
        !is_empty(id) || !self.nodes.iter().any(is_without)
    }

    /// Whether a node is inside of brackets, where commas and brackets mean something.
    pub(super) fn is_in_flow(&self, id: Id) -> bool {
        let at = self.nodes[id].span.start;
        self.nodes.iter().any(|node| {
            let is_flow = matches!(
                node.content,
                Content::Mapping { is_flow: true, .. } | Content::Sequence { is_flow: true, .. }
            );
            is_flow && node.span.start < at && at < node.span.end
        })
    }
}

fn written(value: &str, style: Style, is_text: bool, is_in_flow: bool) -> String {
    let needs_quotes =
        !can_be_plain(value, is_in_flow) || (is_text && (value.is_empty() || is_non_string(value)));
    match style {
        Style::SingleQuoted if is_text && is_printable(value) => format!("'{}'", value.replace('\'', "''")),
        Style::DoubleQuoted if is_text => quoted(value),
        _ if needs_quotes => quoted(value),
        _ => value.to_owned(),
    }
}

/// A text as a new scalar, with quotes only where it needs them.
pub(crate) fn plain_text(value: &str, is_in_flow: bool) -> String {
    written(value, Style::Plain, true, is_in_flow)
}

/// A text in double quotes.
pub(crate) fn quoted(value: &str) -> String {
    let mut quoted = String::with_capacity(value.len() + 2);
    quoted.push('"');
    for c in value.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{85}' | '\u{fffe}' | '\u{ffff}' => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            c if c.is_control() => quoted.push_str(&format!("\\x{:02X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn is_printable(value: &str) -> bool {
    !value.chars().any(|c| {
        c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}')
    })
}

/// Whether a reader of YAML 1.1, as Kubernetes has one, takes a bare text for something else than a text.
pub fn is_non_string(value: &str) -> bool {
    if value.is_empty() || value.contains('\n') {
        return false;
    }
    let looks_structured = value.starts_with(['[', '{']);
    match manifests::yaml::parse(value.as_bytes()) {
        Ok(parsed) if !looks_structured => !parsed.value.is_string() || is_date(value),
        Ok(parsed) => !parsed.value.is_string(),
        // A number of YAML that JSON does not have.
        Err(error) => error.message.starts_with("json: unsupported value"),
    }
}

/// Dates are values of their own in YAML 1.1.
fn is_date(value: &str) -> bool {
    let bytes = value.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes
            .get(range)
            .is_some_and(|bytes| bytes.iter().all(u8::is_ascii_digit))
    };
    digits(0..4)
        && bytes.get(4) == Some(&b'-')
        && bytes.get(5).is_some_and(u8::is_ascii_digit)
        && value
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"-+:.TZtz ".contains(&byte))
        && value.matches('-').count() >= 2
}

/// Whether a text can stand without quotes and be read as itself.
fn can_be_plain(value: &str, is_in_flow: bool) -> bool {
    let Some(first) = value.chars().next() else {
        return false;
    };
    let second = value.chars().nth(1);
    let starts_well = match first {
        '-' | '?' | ':' => second.is_some_and(|c| c != ' ' && !(is_in_flow && ",[]{}".contains(c))),
        c => !"#,[]{}&*!|>'\"%@` \t".contains(c),
    };
    starts_well
        && is_printable(value)
        && !value.ends_with([' ', '\t', ':'])
        && !value.contains(": ")
        && !value.contains(":\t")
        && !value.contains(" #")
        && !value.contains('\t')
        && !value.starts_with("---")
        && !value.starts_with("...")
        && !(is_in_flow && (value.contains([',', '[', ']', '{', '}'])))
}
