//! A text, made such that our parser reads it as kubectl's reader would: that one follows YAML 1.1, which has more
//! line breaks, asks for no indentation inside of quotes, and takes a tab wherever nothing is indented.

use std::borrow::Cow;

use super::{YamlError, problem};

/// How far a line inside of quotes is moved. Nothing is indented as deep.
const INDENTATION: usize = 512;
/// So often a text is read again, each time because of another line, but not more than so many bytes in all: whoever
/// sends a text must not choose how long it takes.
const MAX_REPAIRS: usize = 1000;
const MAX_READ: usize = 16 << 20;

/// A text as it is read.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    pub(super) text: Cow<'a, str>,
    /// The same with its tabs, where some were replaced; as long as the text.
    with_tabs: Option<String>,
    /// Line breaks that are kept in values: which character of the text it is, and which one it was.
    breaks: Vec<(usize, char)>,
    /// Lines that were moved to the right.
    moved: Vec<u64>,
    repairs: usize,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut source = Self {
            text: text.into(),
            with_tabs: None,
            breaks: Vec::new(),
            moved: Vec::new(),
            repairs: 0,
        };
        if text.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
            let kept = text.chars().enumerate();
            source.breaks = kept
                .filter(|(_, c)| matches!(c, '\u{2028}' | '\u{2029}'))
                .collect();
            source.text = text.replace(['\u{85}', '\u{2028}', '\u{2029}'], "\n").into();
        }
        source
    }

    /// What tabs are looked for in.
    pub(super) fn with_tabs(&self) -> &str {
        self.with_tabs.as_deref().unwrap_or(&self.text)
    }

    /// A column as it was before lines were moved.
    pub(super) fn column(&self, line: u64, column: u64) -> u64 {
        if self.moved.contains(&line) {
            column.saturating_sub(INDENTATION as u64).max(1)
        } else {
            column
        }
    }

    pub(super) fn keeps_breaks(&self) -> bool {
        !self.breaks.is_empty()
    }

    /// The characters of a scalar with the line breaks it had; none where all of them were ordinary ones.
    pub(super) fn written(&self, from: usize, to: usize, text: &str) -> Option<Vec<char>> {
        let mut here = self
            .breaks
            .iter()
            .filter(|(at, _)| (from..to).contains(at))
            .peekable();
        here.peek()?;
        let mut written: Vec<char> = text.chars().collect();
        for (at, kept) in here {
            *written.get_mut(at - from)? = *kept;
        }
        Some(written)
    }

    /// The text without what our parser alone complains about; none where kubectl's reader would complain too.
    pub(super) fn repaired(mut self, error: &YamlError) -> Option<Self> {
        self.repairs += 1;
        if self.repairs > MAX_REPAIRS || self.repairs * self.text.len() > MAX_READ {
            return None;
        }
        let line = start_of_line(&self.text, error.line)?;
        let column = usize::try_from(error.column).ok()?.checked_sub(1)?;
        match error.message.as_str() {
            "invalid indentation in multiline quoted scalar" => self.move_line(line, error.line)?,
            "comments must be separated from other tokens by whitespace" => {
                let at = line + byte_of(&self.text[line..], column)?;
                self.text[at..].starts_with('#').then_some(())?;
                self.insert(at, " ");
            }
            "found unknown escape character" => {
                self.write_apostrophe(line + byte_of(&self.text[line..], column)?)?;
            }
            problem::CANNOT_START => self.without_tabs(line)?,
            _ => return None,
        }
        Some(self)
    }

    /// Indentation means nothing inside of quotes.
    fn move_line(&mut self, start: usize, line: u64) -> Option<()> {
        let rest = &self.text[start..];
        let is_end = ["---", "..."].iter().any(|sign| {
            let behind = rest.strip_prefix(sign);
            behind.is_some_and(|behind| behind.is_empty() || behind.starts_with([' ', '\t', '\n', '\r']))
        });
        if is_end || self.moved.contains(&line) {
            return None;
        }
        self.moved.push(line);
        self.insert(start, &" ".repeat(INDENTATION));
        Some(())
    }

    /// `\'` in a text that begins here, in a way that both readers know.
    fn write_apostrophe(&mut self, start: usize) -> Option<()> {
        let mut characters = self.text.get(start..)?.char_indices().skip(1);
        while let Some((at, c)) = characters.next() {
            match (c, c == '\\') {
                ('"', _) => return None,
                (_, true) if characters.next()?.1 == '\'' => {
                    let at = start + at;
                    self.insert(at + 2, "x27");
                    self.text.to_mut().remove(at + 1);
                    if let Some(text) = &mut self.with_tabs {
                        text.remove(at + 1);
                    }
                    return Some(());
                }
                _ => {}
            }
        }
        None
    }

    /// Blanks for the tabs a line begins with. Whether they may be there is looked at by itself.
    fn without_tabs(&mut self, line: usize) -> Option<()> {
        let rest = &self.text[line..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let blanks = line..line + blanks;
        if !self.text[blanks.clone()].contains('\t') {
            return None;
        }
        self.with_tabs
            .get_or_insert_with(|| self.text.clone().into_owned());
        let width = blanks.len();
        self.text.to_mut().replace_range(blanks, &" ".repeat(width));
        Some(())
    }

    fn insert(&mut self, at: usize, text: &str) {
        let index = self.text[..at].chars().count();
        let behind = self.breaks.iter_mut().filter(|(kept, _)| *kept >= index);
        behind.for_each(|(kept, _)| *kept += text.len());
        self.text.to_mut().insert_str(at, text);
        if let Some(with_tabs) = &mut self.with_tabs {
            with_tabs.insert_str(at, text);
        }
    }
}

/// What a scalar of several lines means if some of its line breaks are kept: these are what is between its lines,
/// and ordinary ones are a blank.
pub(super) fn folded(written: &[char]) -> String {
    let is_blank = |c: &char| matches!(c, ' ' | '\t');
    let is_break = |c: &char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
    let mut folded = String::new();
    let mut rest = written;
    while let Some(first) = rest.first() {
        let blanks = rest.iter().take_while(|c| is_blank(c)).count();
        if !rest.get(blanks).is_some_and(is_break) {
            folded.push(*first);
            rest = &rest[1..];
            continue;
        }
        let run = rest.iter().take_while(|c| is_blank(c) || is_break(c)).count();
        let breaks: Vec<char> = line_breaks(&rest[..run]);
        match breaks.as_slice() {
            ['\n'] => folded.push(' '),
            ['\n', others @ ..] => folded.extend(others),
            all => folded.extend(all),
        }
        rest = &rest[run..];
    }
    folded
}

/// A text whose lines end as they were written to end, behind the line that says that it is one.
pub(super) fn literal(text: &str, written: &[char]) -> String {
    let mut breaks = line_breaks(written).into_iter().skip(1);
    text.chars()
        .map(|c| if c == '\n' { breaks.next().unwrap_or(c) } else { c })
        .collect()
}

fn line_breaks(characters: &[char]) -> Vec<char> {
    let mut before = None;
    let breaks = characters.iter().filter_map(|c| {
        let last = before.replace(*c);
        match (last, c) {
            (Some('\r'), '\n') => None,
            (_, '\n' | '\r') => Some('\n'),
            (_, '\u{2028}' | '\u{2029}') => Some(*c),
            _ => None,
        }
    });
    breaks.collect()
}

/// What is wrong with the escapes of a text in double quotes, as it is written: those of JSON are not all YAML's.
pub(super) fn bad_escape(written: &str) -> Option<&'static str> {
    let mut rest = written;
    while let Some(at) = rest.find('\\') {
        let mut behind = rest[at + 1..].chars();
        match behind.next() {
            Some('/') => return Some("found unknown escape character"),
            Some('u') if is_surrogate(behind.as_str()) => {
                return Some("found invalid Unicode character escape code");
            }
            _ => rest = behind.as_str(),
        }
    }
    None
}

fn is_surrogate(digits: &str) -> bool {
    let code = digits
        .get(..4)
        .and_then(|digits| u32::from_str_radix(digits, 16).ok());
    code.is_some_and(|code| (0xD800..0xE000).contains(&code))
}

fn start_of_line(text: &str, line: u64) -> Option<usize> {
    let mut start = 0;
    for _ in 1..line {
        let rest = &text[start..];
        let end = rest.find(['\n', '\r'])?;
        let width = if rest[end..].starts_with("\r\n") { 2 } else { 1 };
        start += end + width;
    }
    Some(start)
}

fn byte_of(line: &str, column: usize) -> Option<usize> {
    line.char_indices().nth(column).map(|(at, _)| at)
}
