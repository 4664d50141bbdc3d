//! From source text to tokens.

use super::syntax::Literal;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Ident(String),
    Literal(Literal),
    /// Operators and punctuation, and the keyword `in`.
    Symbol(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) token: Token,
    pub(crate) offset: usize,
}

/// Something that is no token, and where.
#[derive(Debug)]
pub(crate) struct LexError {
    pub(crate) offset: usize,
    pub(crate) message: String,
}

/// Longer symbols come first, so that they win over their beginnings.
const SYMBOLS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "[", "]",
    "{", "}", "(", ")",
];

pub(crate) fn tokens(source: &str) -> Result<Vec<Located>, LexError> {
    let chars: Vec<char> = source.chars().collect();
    let mut lexer = Lexer { chars: &chars, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_space();
        let offset = lexer.at;
        let token = lexer.next()?;
        let done = token == Token::End;
        tokens.push(Located { token, offset });
        if done {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, LexError> {
        Err(LexError {
            offset: self.at,
            message: message.into(),
        })
    }

    fn skip_space(&mut self) {
        loop {
            if matches!(self.peek(0), ' ' | '\t' | '\r' | '\n' | '\u{c}') {
                self.at += 1;
            } else if self.peek(0) == '/' && self.peek(1) == '/' {
                while self.at < self.chars.len() && self.peek(0) != '\n' {
                    self.at += 1;
                }
            } else {
                return;
            }
        }
    }

    fn next(&mut self) -> Result<Token, LexError> {
        let c = self.peek(0);
        if self.at >= self.chars.len() {
            return Ok(Token::End);
        }
        if c.is_ascii_digit() || (c == '.' && self.peek(1).is_ascii_digit()) {
            return self.number().map(Token::Literal);
        }
        if let Some(prefix) = self.text_prefix() {
            return self.text(prefix).map(Token::Literal);
        }
        if c == '_' || c.is_ascii_alphabetic() {
            return Ok(self.word());
        }
        for symbol in SYMBOLS {
            if symbol.chars().enumerate().all(|(i, c)| self.peek(i) == c) {
                self.at += symbol.len();
                return Ok(Token::Symbol(symbol));
            }
        }
        self.error(format!("Syntax error: token recognition error at: '{c}'"))
    }

    fn word(&mut self) -> Token {
        let start = self.at;
        while self.peek(0) == '_' || self.peek(0).is_ascii_alphanumeric() {
            self.at += 1;
        }
        let word: String = self.chars[start..self.at].iter().collect();
        match word.as_str() {
            "true" => Token::Literal(Literal::Bool(true)),
            "false" => Token::Literal(Literal::Bool(false)),
            "null" => Token::Literal(Literal::Null),
            "in" => Token::Symbol("in"),
            _ => Token::Ident(word),
        }
    }

    fn number(&mut self) -> Result<Literal, LexError> {
        let start = self.at;
        if self.peek(0) == '0' && self.peek(1) == 'x' {
            self.at += 2;
            let digits = self.take(|c| c.is_ascii_hexdigit());
            return if self.unsigned_suffix() {
                u64::from_str_radix(&digits, 16)
                    .map(Literal::UInt)
                    .or_else(|_| self.error("invalid uint literal"))
            } else {
                i64::from_str_radix(&digits, 16)
                    .map(Literal::Int)
                    .or_else(|_| self.error("invalid int literal"))
            };
        }
        self.take(|c| c.is_ascii_digit());
        let mut double = false;
        if self.peek(0) == '.' && self.peek(1).is_ascii_digit() {
            double = true;
            self.at += 1;
            self.take(|c| c.is_ascii_digit());
        }
        let sign = usize::from(matches!(self.peek(1), '+' | '-'));
        if matches!(self.peek(0), 'e' | 'E') && self.peek(1 + sign).is_ascii_digit() {
            double = true;
            self.at += 1 + sign;
            self.take(|c| c.is_ascii_digit());
        }
        let text: String = self.chars[start..self.at].iter().collect();
        if double {
            return text
                .parse()
                .map(Literal::Double)
                .or_else(|_| self.error("invalid double literal"));
        }
        if self.unsigned_suffix() {
            return text
                .parse()
                .map(Literal::UInt)
                .or_else(|_| self.error("invalid uint literal"));
        }
        // The smallest integer is one larger than the largest; its sign comes from the parser.
        if text == "9223372036854775808" {
            return Ok(Literal::Int(i64::MIN));
        }
        text.parse()
            .map(Literal::Int)
            .or_else(|_| self.error("invalid int literal"))
    }

    fn unsigned_suffix(&mut self) -> bool {
        let suffix = matches!(self.peek(0), 'u' | 'U');
        self.at += usize::from(suffix);
        suffix
    }

    fn take(&mut self, accept: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.at < self.chars.len() && accept(self.peek(0)) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    /// The length of the prefix of a string literal here, and what the prefix says.
    fn text_prefix(&self) -> Option<Prefix> {
        let mut prefix = Prefix::default();
        loop {
            match self.peek(prefix.length) {
                'r' | 'R' if !prefix.raw => prefix.raw = true,
                'b' | 'B' if !prefix.bytes => prefix.bytes = true,
                '"' | '\'' => return Some(prefix),
                _ => return None,
            }
            prefix.length += 1;
        }
    }

    fn text(&mut self, prefix: Prefix) -> Result<Literal, LexError> {
        self.at += prefix.length;
        let quote = self.peek(0);
        let long = self.peek(1) == quote && self.peek(2) == quote;
        let width = if long { 3 } else { 1 };
        self.at += width;
        let mut bytes = Vec::new();
        loop {
            let c = self.peek(0);
            if self.at >= self.chars.len() || (!long && matches!(c, '\n' | '\r')) {
                return self.error("Syntax error: unterminated string literal");
            }
            if c == quote && (!long || (self.peek(1) == quote && self.peek(2) == quote)) {
                self.at += width;
                break;
            }
            if c == '\\' && !prefix.raw {
                self.escape(prefix.bytes, &mut bytes)?;
                continue;
            }
            self.at += 1;
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        if prefix.bytes {
            return Ok(Literal::Bytes(bytes));
        }
        String::from_utf8(bytes)
            .map(Literal::Text)
            .or_else(|_| self.error("invalid UTF-8 in string literal"))
    }

    fn escape(&mut self, in_bytes: bool, out: &mut Vec<u8>) -> Result<(), LexError> {
        let c = self.peek(1);
        self.at += 2;
        let (digits, radix) = match c {
            'x' | 'X' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='3' => {
                self.at -= 1;
                (3, 8)
            }
            _ => {
                out.push(match c {
                    'a' => 7,
                    'b' => 8,
                    'f' => 12,
                    'n' => b'\n',
                    'r' => b'\r',
                    't' => b'\t',
                    'v' => 11,
                    '\\' | '\'' | '"' | '`' | '?' => c as u8,
                    _ => return self.error("Syntax error: unable to unescape string"),
                });
                return Ok(());
            }
        };
        let text: String = (0..digits).map(|i| self.peek(i)).collect();
        self.at += digits;
        let Ok(code) = u32::from_str_radix(&text, radix) else {
            return self.error("Syntax error: unable to unescape string");
        };
        if in_bytes && digits <= 3 {
            out.push(code as u8);
            return Ok(());
        }
        let Some(c) = char::from_u32(code) else {
            return self.error("Syntax error: invalid unicode code point");
        };
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }
}

#[derive(Clone, Copy, Default)]
struct Prefix {
    length: usize,
    raw: bool,
    bytes: bool,
}
