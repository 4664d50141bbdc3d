//! What a scalar means: the YAML 1.1 words and numbers that kubectl's reader knows, no others.

use std::borrow::Cow;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use granit_parser::ScalarStyle;
use serde_json::Value;

use crate::json::number;

/// A scalar as it was written.
pub struct Scalar<'a> {
    pub text: Cow<'a, str>,
    pub style: Style,
    /// The full name of the tag it was given.
    pub tag: Option<String>,
}

/// How a scalar stands in its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
    Folded,
}

impl From<ScalarStyle> for Style {
    fn from(style: ScalarStyle) -> Self {
        match style {
            ScalarStyle::Plain => Self::Plain,
            ScalarStyle::SingleQuoted => Self::SingleQuoted,
            ScalarStyle::DoubleQuoted => Self::DoubleQuoted,
            ScalarStyle::Literal => Self::Literal,
            ScalarStyle::Folded => Self::Folded,
        }
    }
}

/// What it means.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    Null,
    Bool(bool),
    Integer(i64),
    /// Beyond what an integer holds.
    Unsigned(u64),
    Float(f64),
    Text(String),
}

const CORE: &str = "tag:yaml.org,2002:";

impl Scalar<'_> {
    /// Whether it stands for the entries of another mapping.
    pub fn is_merge(&self) -> bool {
        self.text == "<<"
            && self
                .core_tag()
                .map_or(self.style == Style::Plain && self.tag.is_none(), |tag| {
                    tag == "merge"
                })
    }

    /// What it means to readers of YAML 1.1.
    pub fn meaning(&self) -> Result<Meaning, String> {
        let text = || Meaning::Text(self.text.clone().into_owned());
        match self.core_tag() {
            None if self.style == Style::Plain && self.tag.is_none() => Ok(resolve(&self.text)),
            Some("binary") => decode(&self.text).map(Meaning::Text),
            Some("timestamp") if is_date(&self.text) => Ok(text()),
            Some(tag @ ("bool" | "int" | "float" | "null" | "timestamp")) => self.as_tagged(tag),
            _ => Ok(text()),
        }
    }

    fn core_tag(&self) -> Option<&str> {
        self.tag.as_deref()?.strip_prefix(CORE)
    }

    fn as_tagged(&self, tag: &str) -> Result<Meaning, String> {
        let meaning = resolve(&self.text);
        match (tag, meaning) {
            ("float", Meaning::Integer(value)) => Ok(Meaning::Float(value as f64)),
            (tag, meaning) if meaning.tag() == tag => Ok(meaning),
            (tag, meaning) => Err(format!(
                "cannot decode !!{} `{}` as a !!{tag}",
                meaning.tag(),
                self.text
            )),
        }
    }
}

impl Meaning {
    fn tag(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Integer(_) | Self::Unsigned(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
        }
    }

    /// The value, as JSON has it.
    pub fn into_value(self) -> Result<Value, String> {
        match self {
            Self::Null => Ok(Value::Null),
            Self::Bool(value) => Ok(value.into()),
            Self::Integer(value) => Ok(value.into()),
            Self::Unsigned(value) => Ok(number(value as f64)),
            Self::Float(value) if value.is_finite() => Ok(number(value)),
            Self::Float(value) if value.is_nan() => Err("json: unsupported value: NaN".to_owned()),
            Self::Float(value) if value < 0.0 => Err("json: unsupported value: -Inf".to_owned()),
            Self::Float(_) => Err("json: unsupported value: +Inf".to_owned()),
            Self::Text(text) => Ok(text.into()),
        }
    }

    /// The name of a field: JSON has only strings there. What has none is shown as its type and itself.
    pub fn into_key(self) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Bool(value) => Ok(value.to_string()),
            Self::Integer(value) => Ok(value.to_string()),
            Self::Float(value) => Ok(short(value as f32)),
            Self::Null => Err("%!s(<nil>), key: <nil>".to_owned()),
            Self::Unsigned(value) => Err(format!("uint64, key: {value:#x}")),
        }
    }
}

/// What plain text means to readers of YAML 1.1.
pub fn resolve(text: &str) -> Meaning {
    word(text)
        .or_else(|| match text.as_bytes().first()? {
            b'.' => float(&unseparated(text)?),
            b'+' | b'-' | b'0'..=b'9' => {
                let digits = text.replace('_', "");
                integer(&digits).or_else(|| float(&digits))
            }
            _ => None,
        })
        .unwrap_or_else(|| Meaning::Text(text.to_owned()))
}

fn word(text: &str) -> Option<Meaning> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Meaning::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Meaning::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Meaning::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Meaning::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Meaning::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Meaning::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

fn integer(text: &str) -> Option<Meaning> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (radix, digits) = radix(unsigned);
    if !digits.starts_with(['+', '-'])
        && let Ok(magnitude) = u64::from_str_radix(digits, radix)
    {
        let signed = i128::from(magnitude) * if text.starts_with('-') { -1 } else { 1 };
        if let Ok(value) = i64::try_from(signed) {
            return Some(Meaning::Integer(value));
        }
        if unsigned.len() == text.len() {
            return Some(Meaning::Unsigned(magnitude));
        }
    }
    // The reader we follow takes the sign of a binary number behind the prefix too.
    let signed = text.strip_prefix("0b")?;
    i64::from_str_radix(signed, 2).ok().map(Meaning::Integer)
}

/// The base a number is written in, and its digits.
fn radix(text: &str) -> (u32, &str) {
    let prefixes = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)];
    for (prefix, radix) in prefixes {
        if let Some(digits) = text.strip_prefix(prefix) {
            return (radix, digits);
        }
    }
    match text.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => (8, digits),
        _ => (10, text),
    }
}

fn float(text: &str) -> Option<Meaning> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c == '.' || c.is_ascii_digit()) {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(Meaning::Float(value))
}

/// A number without the underscores between its digits; none when one stands elsewhere.
fn unseparated(text: &str) -> Option<String> {
    let mut parts = text.split('_').peekable();
    let mut digits = String::with_capacity(text.len());
    while let Some(part) = parts.next() {
        let continues = digits.is_empty() || part.starts_with(|c: char| c.is_ascii_digit());
        let goes_on = parts.peek().is_none() || part.ends_with(|c: char| c.is_ascii_digit());
        if !continues || !goes_on {
            return None;
        }
        digits.push_str(part);
    }
    Some(digits)
}

fn decode(text: &str) -> Result<String, String> {
    let text: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    let bytes = BASE64_STANDARD
        .decode(text)
        .map_err(|_| "!!binary value contains invalid base64 data".to_owned())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether text begins like a date; only a tag asks.
fn is_date(text: &str) -> bool {
    text.split_once('-')
        .is_some_and(|(year, _)| year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A float with as few digits as tell it apart, and with an exponent when that is shorter to read.
fn short(value: f32) -> String {
    if !value.is_finite() {
        return match value {
            f32::INFINITY => ".inf",
            f32::NEG_INFINITY => "-.inf",
            _ => ".nan",
        }
        .to_owned();
    }
    let scientific = format!("{value:e}");
    let exponent = scientific.split_once('e').and_then(|(digits, exponent)| {
        let exponent: i32 = exponent.parse().ok()?;
        Some((digits, exponent))
    });
    match exponent {
        Some((digits, exponent)) if !(-4..6).contains(&exponent) => {
            format!(
                "{digits}e{}{:02}",
                if exponent < 0 { '-' } else { '+' },
                exponent.abs()
            )
        }
        _ => value.to_string(),
    }
}
