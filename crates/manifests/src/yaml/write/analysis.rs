//! What a text allows: whether it may stand without quotes, in single ones, or as a block.

use crate::yaml::{scalars, timestamps};

/// Keys longer than this, in bytes, take a line of their own.
const LONGEST_KEY: usize = 128;

/// What was found in a text.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of the text")]
pub(super) struct Analysis {
    pub(super) plain: bool,
    pub(super) single_quoted: bool,
    pub(super) block: bool,
    pub(super) multiline: bool,
}

/// Whether YAML 1.1 reads it as text when nothing is around it.
pub(super) fn reads_as_text(text: &str) -> bool {
    let is_text = matches!(scalars::resolve(text), scalars::Meaning::Text(_));
    is_text && text != "<<" && !is_base_60(text) && timestamps::read(text).is_none()
}

/// Whether a text needs no quotes and is not a block.
pub fn is_plain(text: &str) -> bool {
    !text.contains('\n') && reads_as_text(text) && analyse(text).plain
}

pub(super) fn is_simple_key(key: &str) -> bool {
    key.len() <= LONGEST_KEY && !key.contains(is_break)
}

pub(super) fn analyse(text: &str) -> Analysis {
    if text.is_empty() {
        return Analysis {
            plain: true,
            single_quoted: true,
            block: false,
            multiline: false,
        };
    }
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    let mut special = false;
    let (mut break_space, mut space_break, mut multiline) = (false, false, false);
    let mut previous: Option<char> = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_blank_next = characters.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
        indicators |= is_indicator(character, previous, is_blank_next);
        special |= !is_printable(character);
        multiline |= is_break(character);
        break_space |= character == ' ' && previous.is_some_and(is_break);
        space_break |= is_break(character) && previous == Some(' ');
        previous = Some(character);
    }
    let is_edge = |character: char| character == ' ' || is_break(character);
    let edges = text.starts_with(is_edge) || text.ends_with(is_edge);
    Analysis {
        plain: !(indicators || edges || special || break_space || space_break || multiline),
        single_quoted: !(special || break_space || space_break),
        block: !(special || space_break || text.ends_with(' ')),
        multiline,
    }
}

/// Whether a character would be read as more than itself.
fn is_indicator(character: char, previous: Option<char>, is_blank_next: bool) -> bool {
    match (character, previous) {
        (
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`',
            None,
        ) => true,
        ('?' | '-', None) | (':', _) => is_blank_next,
        ('#', Some(previous)) => matches!(previous, ' ' | '\t' | '\0') || is_break(previous),
        _ => false,
    }
}

pub(super) fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The writer takes nothing beyond the basic plane as it is.
pub(super) fn is_printable(character: char) -> bool {
    matches!(character,
        '\n' | ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FEFE}' | '\u{FF00}'..='\u{FFFD}')
}

/// `12:30:45`, once a number to the base of sixty.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let Some((first, rest)) = unsigned.split_once(':') else {
        return false;
    };
    let (places, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let is_place = |place: &str| match place.as_bytes() {
        [digit] | [b'0'..=b'5', digit] => digit.is_ascii_digit(),
        _ => false,
    };
    first.starts_with(|c: char| c.is_ascii_digit())
        && is_digits(first)
        && is_digits(fraction)
        && places.split(':').all(is_place)
}
