//! Values as YAML, in one of the many ways to write them, and the ways to what is in them.

use fastrand::Rng;
use serde_json::Value;

/// A document. Strings are plain, quoted or blocks, small maps and lists sometimes in brackets.
pub(super) fn document(value: &Value, random: &mut Rng) -> String {
    let mut out = String::new();
    block(value, 0, random, &mut out);
    out
}

fn block(value: &Value, indent: usize, random: &mut Rng, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                out.push_str(&format!("{pad}{}:", key(name, random)));
                below(value, indent + 2, random, out);
            }
        }
        Value::Array(items) => {
            for item in items {
                let is_deep = item.as_object().is_some_and(|fields| !fields.is_empty());
                if is_deep && random.u32(0..4) > 0 {
                    let mut text = String::new();
                    block(item, indent + 2, random, &mut text);
                    out.push_str(&format!("{pad}- {}", &text[indent + 2..]));
                } else {
                    out.push_str(&format!("{pad}-"));
                    below(item, indent + 2, random, out);
                }
            }
        }
        _ => out.push_str(&format!("{pad}{}\n", flow(value, random))),
    }
}

/// What stands behind a key or a dash.
fn below(value: &Value, indent: usize, random: &mut Rng, out: &mut String) {
    let is_empty = match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    match value {
        Value::String(text) if text.contains('\n') && random.bool() => literal(text, indent, out),
        Value::Object(_) | Value::Array(_) if !is_empty && random.u32(0..8) > 0 => {
            out.push('\n');
            block(value, indent, random, out);
        }
        _ => out.push_str(&format!(" {}\n", flow(value, random))),
    }
}

fn literal(text: &str, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    let body = text.trim_end_matches('\n');
    let sign = match text.len() - body.len() {
        0 => "|2-",
        1 => "|2",
        _ => "|2+",
    };
    out.push_str(&format!(" {sign}\n"));
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if line.is_empty() {
            out.push('\n');
        } else {
            out.push_str(&format!("{pad}{line}\n"));
        }
    }
}

fn key(name: &str, random: &mut Rng) -> String {
    if is_plain(name) && random.u32(0..12) > 0 {
        name.to_owned()
    } else {
        Value::from(name).to_string()
    }
}

fn flow(value: &Value, random: &mut Rng) -> String {
    match value {
        Value::String(text) => scalar(text, random),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{}: {}", key(name, random), flow(value, random)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| flow(item, random));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn scalar(text: &str, random: &mut Rng) -> String {
    let is_printable = text.chars().all(|c| !c.is_control() && c != '\u{2028}');
    match random.u32(0..4) {
        0 | 1 if is_plain(text) => text.to_owned(),
        2 if is_printable => format!("'{}'", text.replace('\'', "''")),
        _ => Value::from(text).to_string(),
    }
}

/// Whether text means itself without quotes, also in brackets.
fn is_plain(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_other = |text: &str| {
        let words = ["yes", "no", "on", "off", "true", "false", "null", "y", "n"];
        words.contains(&text.to_lowercase().as_str())
    };
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_word) && !is_other(text)
}

/// One step into a value.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Field(String),
    /// The place of an element, and its name if it has one.
    Element(usize, Option<String>),
}

/// Every value below a value that passes a test.
pub(super) fn find(value: &Value, test: &dyn Fn(&Value) -> bool) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    visit(value, &mut Vec::new(), &mut |way, value| {
        if !way.is_empty() && test(value) {
            found.push(way.to_vec());
        }
    });
    found
}

fn visit(value: &Value, way: &mut Vec<Step>, see: &mut dyn FnMut(&[Step], &Value)) {
    see(way, value);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                way.push(Step::Field(name.clone()));
                visit(value, way, see);
                way.pop();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let name = item["name"].as_str().map(str::to_owned);
                way.push(Step::Element(index, name));
                visit(item, way, see);
                way.pop();
            }
        }
        _ => {}
    }
}

/// As replacements have it.
pub(super) fn dotted(way: &[Step], random: &mut Rng) -> String {
    let parts = way.iter().map(|step| match step {
        Step::Field(name) => name.replace('.', "\\."),
        Step::Element(_, Some(name)) if random.u32(0..4) > 0 => format!("[name={name}]"),
        Step::Element(index, _) => index.to_string(),
    });
    parts.collect::<Vec<_>>().join(".")
}

/// As JSON patches have it.
pub(super) fn pointer(way: &[Step]) -> String {
    let parts = way.iter().map(|step| match step {
        Step::Field(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        Step::Element(index, _) => format!("/{index}"),
    });
    parts.collect()
}
