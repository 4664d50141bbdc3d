//! Finds what is wrong with a document that is not JSON and says it as Go's decoder does.
//! Runs only once reading has failed.

use super::{MAX_DEPTH, ParseError};
use crate::field::quoted;

/// The first syntax error, or `None` when the document is well-formed.
pub(super) fn error(bytes: &[u8]) -> Option<ParseError> {
    let mut scanner = Scanner { bytes, at: 0 };
    scanner.document().err()
}

type Scan = Result<(), ParseError>;

struct Scanner<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Scanner<'_> {
    fn document(&mut self) -> Scan {
        self.value(0)?;
        match self.token() {
            Ok(byte) => Err(self.invalid(byte, "after top-level value")),
            Err(_) => Ok(()),
        }
    }

    fn value(&mut self, depth: usize) -> Scan {
        match self.token()? {
            byte @ (b'{' | b'[') if depth == MAX_DEPTH => Err(self.invalid(byte, "exceeded max depth")),
            b'{' => self.object(depth + 1),
            b'[' => self.array(depth + 1),
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            byte => Err(self.invalid(byte, "looking for beginning of value")),
        }
    }

    fn object(&mut self, depth: usize) -> Scan {
        self.at += 1;
        if self.token()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            match self.token()? {
                b'"' => self.string()?,
                byte => return Err(self.invalid(byte, "looking for beginning of object key string")),
            }
            match self.token()? {
                b':' => self.at += 1,
                byte => return Err(self.invalid(byte, "after object key")),
            }
            self.value(depth)?;
            match self.token()? {
                b',' => self.at += 1,
                b'}' => break,
                byte => return Err(self.invalid(byte, "after object key:value pair")),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Scan {
        self.at += 1;
        if self.token()? == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth)?;
            match self.token()? {
                b',' => self.at += 1,
                b']' => break,
                byte => return Err(self.invalid(byte, "after array element")),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Scan {
        loop {
            self.at += 1;
            match self.bytes.get(self.at) {
                None => return Err(self.unexpected_end()),
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(&byte) if byte < 0x20 => return Err(self.invalid(byte, "in string literal")),
                Some(_) => {}
            }
        }
        self.at += 1;
        Ok(())
    }

    fn escape(&mut self) -> Scan {
        self.at += 1;
        match self.byte() {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => return Ok(()),
            b'u' => {}
            byte => return Err(self.invalid(byte, "in string escape code")),
        }
        for _ in 0..4 {
            self.at += 1;
            let byte = self.byte();
            if !byte.is_ascii_hexdigit() {
                return Err(self.invalid(byte, "in \\u hexadecimal character escape"));
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Scan {
        if self.byte() == b'-' {
            self.at += 1;
        }
        match self.byte() {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            byte => return Err(self.invalid(byte, "in numeric literal")),
        }
        if self.byte() == b'.' {
            self.at += 1;
            self.expect_digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.byte(), b'+' | b'-') {
                self.at += 1;
            }
            self.expect_digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    fn expect_digit(&self, context: &str) -> Scan {
        match self.byte() {
            b'0'..=b'9' => Ok(()),
            byte => Err(self.invalid(byte, context)),
        }
    }

    fn digits(&mut self) {
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
    }

    fn literal(&mut self, word: &str) -> Scan {
        for expected in word.bytes() {
            let byte = self.byte();
            if byte != expected {
                let context = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(self.invalid(byte, &context));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// The byte here; Go ends an unfinished word as if a space followed the input.
    fn byte(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(b' ')
    }

    /// The next byte that is not white space.
    fn token(&mut self) -> Result<u8, ParseError> {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.bytes
            .get(self.at)
            .copied()
            .ok_or_else(|| self.unexpected_end())
    }

    fn unexpected_end(&self) -> ParseError {
        ParseError::Syntax {
            message: "unexpected end of JSON input".to_owned(),
            offset: self.at,
        }
    }

    fn invalid(&self, byte: u8, context: &str) -> ParseError {
        let character = match byte {
            b'\'' => "\\'".to_owned(),
            b'"' => "\"".to_owned(),
            _ => quoted(&char::from(byte).to_string()).trim_matches('"').to_owned(),
        };
        ParseError::Syntax {
            message: format!("invalid character '{character}' {context}"),
            offset: self.at,
        }
    }
}
