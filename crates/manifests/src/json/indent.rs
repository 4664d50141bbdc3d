//! JSON for people: one member a line, in the order it was written.

/// Indents compact JSON by two spaces a level. What is not JSON comes out as odd as it went in.
pub fn indented(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    Indenter::default().write(json, &mut out);
    out
}

/// Indents a document that comes in pieces, cut anywhere.
#[derive(Clone, Debug, Default)]
pub struct Indenter {
    depth: usize,
    place: Place,
}

/// Where in the document the last piece ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    BetweenTokens,
    /// Right after a bracket, which stays on its line if the next byte closes it.
    AfterOpening,
    InText,
    /// Right after a backslash in a text.
    AfterBackslash,
}

impl Indenter {
    /// Adds the next piece of the document, indented.
    pub fn write(&mut self, json: &[u8], out: &mut Vec<u8>) {
        let mut rest = json;
        while let [byte, after @ ..] = rest {
            match self.place {
                Place::InText => {
                    let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\'));
                    let length = plain.count();
                    out.extend_from_slice(&rest[..length]);
                    rest = &rest[length..];
                    if let [end, after @ ..] = rest {
                        out.push(*end);
                        rest = after;
                        self.place = match end {
                            b'"' => Place::BetweenTokens,
                            _ => Place::AfterBackslash,
                        };
                    }
                    continue;
                }
                Place::AfterBackslash => {
                    out.push(*byte);
                    self.place = Place::InText;
                }
                Place::AfterOpening => self.after_opening(*byte, out),
                Place::BetweenTokens => self.token(*byte, out),
            }
            rest = after;
        }
    }

    fn after_opening(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.place = Place::BetweenTokens;
        if matches!(byte, b'}' | b']') {
            return out.push(byte);
        }
        self.depth += 1;
        self.new_line(out);
        self.token(byte, out);
    }

    fn token(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b'"' => {
                out.push(b'"');
                self.place = Place::InText;
            }
            b'{' | b'[' => {
                out.push(byte);
                self.place = Place::AfterOpening;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.new_line(out);
                out.push(byte);
            }
            b',' => {
                out.push(b',');
                self.new_line(out);
            }
            b':' => out.extend_from_slice(b": "),
            _ => out.push(byte),
        }
    }

    fn new_line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', 2 * self.depth));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::{Indenter, indented};
    use crate::testing::value;

    #[test]
    fn members_keep_their_order() {
        let text = indented(br#"{"kind":"X","a":{},"list":[1,[]],"text":"a:\"{,\\"}"#);
        let expected = r#"{
  "kind": "X",
  "a": {},
  "list": [
    1,
    []
  ],
  "text": "a:\"{,\\"
}"#;
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn any_document_is_laid_out_as_serde_does(document in value()) {
            let expected = serde_json::to_vec_pretty(&document).unwrap();
            prop_assert_eq!(indented(document.to_string().as_bytes()), expected);
        }

        #[test]
        fn where_a_document_is_cut_makes_no_difference(document in value(), size in 1_usize..9) {
            let json = document.to_string();
            let (mut indenter, mut out) = (Indenter::default(), Vec::new());
            for piece in json.as_bytes().chunks(size) {
                indenter.write(piece, &mut out);
            }
            prop_assert_eq!(out, indented(json.as_bytes()));
        }

        #[test]
        fn any_bytes_are_laid_out_somehow(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _: Result<Value, _> = serde_json::from_slice(&indented(&bytes));
        }
    }
}
