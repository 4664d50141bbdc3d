//! Paths a schema is asked about: `.spec.items['a.b']`.

use manifests::field::Path;

use crate::structural::Structural;

/// Follows a path through a schema. The error says what is wrong with the path.
pub(crate) fn field_path<'a>(
    text: &str,
    schema: &'a Structural,
    brackets: bool,
) -> Result<(Path, &'a Structural), String> {
    let mut path = Path::root();
    let mut place = schema;
    let mut tokens = tokens(text).into_iter();
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens.next().ok_or("unexpected end of JSON path")?.to_owned(),
            "[" if !brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = tokens.next().ok_or("unexpected end of JSON path")?;
                let inner = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let inner = inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                match tokens.next() {
                    Some("]") => unescaped(inner)?,
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err("unexpected end of JSON path".to_owned()),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        (path, place) = step(&path, place, &name)?;
    }
    Ok((path, place))
}

fn step<'a>(path: &Path, place: &'a Structural, name: &str) -> Result<(Path, &'a Structural), String> {
    if !place.properties.is_empty() {
        let property = place
            .properties
            .get(name)
            .ok_or("does not refer to a valid field")?;
        return Ok((path.child(name), property));
    }
    let value = place
        .additional_schema()
        .ok_or("does not refer to a valid field")?;
    Ok((path.key(name), value))
}

/// Delimiters are tokens of their own; within quotes there are none.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if first == '\'' {
            let bytes = rest.as_bytes();
            (1..bytes.len())
                .find(|&i| bytes[i] == b'\'' && bytes[i - 1] != b'\\')
                .map_or(rest.len(), |i| i + 1)
        } else {
            match rest.find(['.', '[', ']']) {
                Some(0) => 1,
                Some(end) => end,
                None => rest.len(),
            }
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(c @ ('\'' | '\\')) => c,
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
            None => return Err("invalid string literal: invalid escape char \\".to_owned()),
        });
    }
    Ok(out)
}
