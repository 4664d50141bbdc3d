//! Writing JSON without blanks, byte for byte as `serde_json` does, and several times as fast: every
//! write of an object and every row of a table goes through here.

use std::io::Write as _;

use serde_json::Value;

/// Appends a value.
pub fn write(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        // Writing to memory cannot fail.
        Value::Number(number) => drop(write!(out, "{number}")),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(out, item);
            }
            out.push(b']');
        }
        Value::Object(fields) => {
            out.push(b'{');
            for (index, (name, field)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_text(out, name);
                out.push(b':');
                write(out, field);
            }
            out.push(b'}');
        }
    }
}

/// Appends a string in its quotes.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + 2);
    out.push(b'"');
    while let Some(at) = rest.iter().position(|byte| NEEDS_ESCAPE[usize::from(*byte)]) {
        out.extend_from_slice(&rest[..at]);
        write_escape(out, rest[at]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

const NEEDS_ESCAPE: [bool; 256] = {
    let mut table = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = true;
        control += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        control => return drop(write!(out, "\\u{control:04x}")),
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: &Value) {
        let mut out = Vec::new();
        write(&mut out, value);
        assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
    }

    #[test]
    fn values_are_written_as_serde_json_writes_them() {
        check(&json!({"a": [null, true, false, 0, -7, 1.5, 1e300, u64::MAX], "b": {}, "c": [], "": ""}));
    }

    #[test]
    fn every_character_is_escaped_as_serde_json_escapes_it() {
        for code in 0..0x500 {
            if let Some(c) = char::from_u32(code) {
                check(&json!(format!("{c}a{c}{c}")));
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_written_as_serde_json_writes_it(text in any::<String>()) {
            check(&json!({ text.as_str(): text }));
        }
    }
}
