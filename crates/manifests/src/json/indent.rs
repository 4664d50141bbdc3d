//! JSON for people: one member a line, in the order it was written.

/// Indents compact JSON by two spaces a level. What is not JSON comes out as odd as it went in.
pub fn indented(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let mut depth = 0;
    let mut rest = json;
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b'"' => {
                let (text, after) = rest.split_at(string_length(rest));
                out.push(b'"');
                out.extend_from_slice(text);
                rest = after;
            }
            b'{' | b'[' => {
                out.push(*byte);
                if let [close @ (b'}' | b']'), after @ ..] = rest {
                    out.push(*close);
                    rest = after;
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(*byte);
            }
            b',' => {
                out.push(b',');
                new_line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ => out.push(*byte),
        }
    }
    out
}

/// How long the rest of a string is, its closing quote included.
fn string_length(rest: &[u8]) -> usize {
    let mut escaped = false;
    for (index, byte) in rest.iter().enumerate() {
        match byte {
            b'"' if !escaped => return index + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    rest.len()
}

fn new_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 2 * depth));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::indented;
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
        fn any_bytes_are_laid_out_somehow(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _: Result<Value, _> = serde_json::from_slice(&indented(&bytes));
        }
    }
}
