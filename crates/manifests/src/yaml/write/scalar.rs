//! Text in its four forms: plain, in single or double quotes, as a block. Lines are folded at the first
//! space behind the eightieth column.

use super::{
    Writer,
    analysis::{Analysis, analyse, is_break, is_printable, reads_as_text},
};

const WIDTH: usize = 80;

/// Keys stand on one line, whatever they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Key,
    Value,
}

enum Form {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Block,
}

impl Writer {
    /// `indent` is where further lines of the text begin.
    pub(super) fn text(&mut self, text: &str, position: Position, indent: usize) {
        self.separate();
        match form(text, position, analyse(text)) {
            Form::Plain => self.folded(text, position, indent, false),
            Form::SingleQuoted => {
                self.put("'");
                self.folded(text, position, indent, true);
                self.put("'");
            }
            Form::DoubleQuoted => self.double_quoted(text, position, indent),
            Form::Block => self.block(text, indent),
        }
    }

    fn folded(&mut self, text: &str, position: Position, indent: usize, is_quoted: bool) {
        if self.column + text.len() <= WIDTH && !text.contains(|c| c == '\'' || is_break(c)) {
            self.put(text);
            return;
        }
        let (mut was_space, mut was_break) = (false, false);
        let mut rest = text.char_indices().peekable();
        while let Some((at, character)) = rest.next() {
            let next = rest.peek().map(|(_, next)| *next);
            let is_inside = !is_quoted || (at > 0 && next.is_some());
            if was_break && !is_break(character) {
                self.indent(indent);
            }
            was_break = is_break(character);
            if was_break {
                self.end_line(character);
            } else if character == ' ' {
                let is_folded = position == Position::Value
                    && !was_space
                    && self.column > WIDTH
                    && is_inside
                    && next != Some(' ');
                if is_folded {
                    self.fold(indent);
                } else {
                    self.put(" ");
                }
            } else if character == '\'' && is_quoted {
                self.put("''");
            } else {
                self.put(character.encode_utf8(&mut [0; 4]));
            }
            was_space = character == ' ';
        }
    }

    fn fold(&mut self, indent: usize) {
        self.new_line();
        self.indent(indent);
    }

    fn indent(&mut self, indent: usize) {
        for _ in 0..indent {
            self.put(" ");
        }
    }

    /// A line ends with this. To readers of YAML 1.1 others than `\n` are line ends too: what follows one of these is
    /// indented, or would not be part of the text any more.
    fn end_line(&mut self, character: char) {
        self.out.push(character);
        self.column = 0;
    }

    fn double_quoted(&mut self, text: &str, position: Position, indent: usize) {
        self.put("\"");
        let mut was_space = false;
        let mut rest = text.char_indices().peekable();
        while let Some((at, character)) = rest.next() {
            let next = rest.peek().map(|(_, next)| *next);
            let is_inside = at > 0 && next.is_some();
            match character {
                ' ' if position == Position::Value && !was_space && self.column > WIDTH && is_inside => {
                    self.fold(indent);
                    if next == Some(' ') {
                        self.put("\\");
                    }
                }
                '"' | '\\' => {
                    self.put("\\");
                    self.put(character.encode_utf8(&mut [0; 4]));
                }
                _ if !is_printable(character) || is_break(character) => {
                    let escaped = escaped(character);
                    self.put(&escaped);
                }
                _ => self.put(character.encode_utf8(&mut [0; 4])),
            }
            was_space = character == ' ';
        }
        self.put("\"");
    }

    fn block(&mut self, text: &str, indent: usize) {
        self.put("|");
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.put("2");
        }
        match text.strip_suffix(is_break) {
            None => self.put("-"),
            Some(before) if before.is_empty() || before.ends_with(is_break) => self.put("+"),
            Some(_) => {}
        }
        self.new_line();
        for line in text.split_inclusive(is_break) {
            let content = line.strip_suffix(is_break).unwrap_or(line);
            if !content.is_empty() {
                for _ in 0..indent {
                    self.out.push(' ');
                }
                self.out.push_str(content);
                // Only whether anything stands there is of interest at the end of a line.
                self.column = indent + 1;
            }
            if let Some(end) = line[content.len()..].chars().next() {
                self.end_line(end);
            }
        }
    }
}

fn form(text: &str, position: Position, analysis: Analysis) -> Form {
    let is_key = position == Position::Key;
    if text.contains('\n') {
        return if analysis.block && !is_key {
            Form::Block
        } else {
            Form::DoubleQuoted
        };
    }
    if (is_key && analysis.multiline) || !reads_as_text(text) {
        return Form::DoubleQuoted;
    }
    match (analysis.plain, analysis.single_quoted) {
        (true, _) => Form::Plain,
        (false, true) => Form::SingleQuoted,
        (false, false) => Form::DoubleQuoted,
    }
}

fn escaped(character: char) -> String {
    let short = match character {
        '\0' => "0",
        '\u{7}' => "a",
        '\u{8}' => "b",
        '\t' => "t",
        '\n' => "n",
        '\u{B}' => "v",
        '\u{C}' => "f",
        '\r' => "r",
        '\u{1B}' => "e",
        '\u{85}' => "N",
        '\u{2028}' => "L",
        '\u{2029}' => "P",
        _ => return long_escape(u32::from(character)),
    };
    format!("\\{short}")
}

fn long_escape(code: u32) -> String {
    match code {
        0..=0xFF => format!("\\x{code:02X}"),
        0x100..=0xFFFF => format!("\\u{code:04X}"),
        _ => format!("\\U{code:08X}"),
    }
}
