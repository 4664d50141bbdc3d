//! Tensors as JSON: nested lists of numbers, texts and booleans. What is not a number may be written `NaN`, `Infinity`
//! and `-Infinity`, as TensorFlow Serving does; bytes that are no text are objects with a `b64`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use saved_model::{DType, Data, Tensor};
use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// Stands before what JSON has no number for, while it is read.
const MARK: char = '\u{1}';
const NOT_NUMBERS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

pub(super) fn parse(body: &[u8]) -> Outcome<Value> {
    let wrong = |error: serde_json::Error| Failure::invalid(format!("the request is no JSON: {error}"));
    match serde_json::from_slice(body) {
        Ok(value) => Ok(value),
        Err(error) => match std::str::from_utf8(body).ok().and_then(marked) {
            Some(text) => serde_json::from_str(&text).map_err(wrong),
            None => Err(wrong(error)),
        },
    }
}

/// The same text with what is not a number as marked strings; none where there is no such.
fn marked(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut has_any = false;
    while let Some(next) = rest.chars().next() {
        if next == '"' {
            let end = end_of_text(rest);
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if let Some(word) = NOT_NUMBERS.iter().find(|word| rest.starts_with(**word)) {
            out.push_str(&format!("\"\\u0001{word}\""));
            rest = &rest[word.len()..];
            has_any = true;
        } else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    has_any.then_some(out)
}

/// Where a string ends that starts a text.
fn end_of_text(text: &str) -> usize {
    let mut is_escaped = false;
    for (place, character) in text.char_indices().skip(1) {
        match character {
            '"' if !is_escaped => return place + 1,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

/// Values in a row with the shape they were nested in.
struct Flat<'a> {
    shape: Vec<usize>,
    leaves: Vec<&'a Value>,
}

/// Bytes are an object, but one value.
pub(super) fn is_leaf(value: &Value) -> bool {
    match value {
        Value::Array(_) => false,
        Value::Object(fields) => fields.len() == 1 && fields.contains_key("b64"),
        _ => true,
    }
}

/// Lists within lists; all lists of a level must have as many values.
fn flat(value: &Value) -> Outcome<Flat<'_>> {
    let mut shape = Vec::new();
    let mut inner = value;
    while let Value::Array(values) = inner {
        shape.push(values.len());
        match values.first() {
            Some(first) => inner = first,
            None => break,
        }
    }
    let mut leaves = Vec::new();
    collect(value, &shape, &mut leaves)?;
    Ok(Flat { shape, leaves })
}

fn collect<'a>(value: &'a Value, shape: &[usize], leaves: &mut Vec<&'a Value>) -> Outcome<()> {
    match (value, shape) {
        (Value::Array(values), [size, rest @ ..]) if values.len() == *size => {
            values.iter().try_for_each(|value| collect(value, rest, leaves))
        }
        (leaf, []) if is_leaf(leaf) => {
            leaves.push(leaf);
            Ok(())
        }
        (Value::Object(_), []) => Err(Failure::invalid(
            "an object is not a value, unless it is {\"b64\": …}",
        )),
        _ => Err(Failure::invalid("lists of one level have different lengths")),
    }
}

/// A tensor from nested lists.
pub(super) fn tensor(dtype: DType, value: &Value) -> Outcome<Tensor> {
    let flat = flat(value)?;
    from_flat(dtype, flat)
}

/// A tensor from the values of its rows, each nested.
pub(super) fn stacked(dtype: DType, rows: &[&Value]) -> Outcome<Tensor> {
    let mut all = Flat {
        shape: vec![rows.len()],
        leaves: Vec::new(),
    };
    for (index, row) in rows.iter().enumerate() {
        let flat = flat(row)?;
        if index == 0 {
            all.shape.extend_from_slice(&flat.shape);
        } else if all.shape[1..] != flat.shape {
            return Err(Failure::invalid(format!(
                "row {index} has the shape {:?}, the first {:?}",
                flat.shape,
                &all.shape[1..]
            )));
        }
        all.leaves.extend(flat.leaves);
    }
    from_flat(dtype, all)
}

/// A tensor of a shape from values in a row or nested.
pub(super) fn shaped(dtype: DType, shape: &[usize], value: &Value) -> Outcome<Tensor> {
    let flat = flat(value)?;
    let given = flat.leaves.len();
    from_flat(dtype, flat)?
        .reshaped(shape)
        .ok_or_else(|| Failure::invalid(format!("its shape {shape:?} has not {given} values")))
}

fn from_flat(dtype: DType, flat: Flat<'_>) -> Outcome<Tensor> {
    macro_rules! read {
        ($read:expr) => {{
            let values: Outcome<Vec<_>> = flat.leaves.into_iter().map($read).collect();
            Tensor::new(flat.shape.as_slice(), values?)
        }};
    }
    macro_rules! integer {
        ($type:ty) => {
            read!(|leaf: &Value| {
                let whole = leaf
                    .as_i64()
                    .map(i128::from)
                    .or(leaf.as_u64().map(i128::from));
                whole
                    .and_then(|whole| <$type>::try_from(whole).ok())
                    .ok_or_else(|| misfit(dtype, leaf))
            })
        };
    }
    let tensor = match dtype {
        DType::F32 => read!(|leaf| number(dtype, leaf).map(|number| number as f32)),
        DType::F64 => read!(|leaf| number(dtype, leaf)),
        DType::I8 => integer!(i8),
        DType::I16 => integer!(i16),
        DType::I32 => integer!(i32),
        DType::I64 => integer!(i64),
        DType::U8 => integer!(u8),
        DType::U16 => integer!(u16),
        DType::U32 => integer!(u32),
        DType::U64 => integer!(u64),
        DType::Bool => read!(|leaf: &Value| leaf.as_bool().ok_or_else(|| misfit(dtype, leaf))),
        DType::Text => read!(|leaf| text(leaf).ok_or_else(|| misfit(dtype, leaf))),
        DType::List => None,
    };
    tensor.ok_or_else(|| Failure::invalid("the values do not fit their shape"))
}

fn number(dtype: DType, leaf: &Value) -> Outcome<f64> {
    let marked = |text: &str| match text.strip_prefix(MARK)? {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    };
    let number = leaf.as_f64().or_else(|| leaf.as_str().and_then(marked));
    number.ok_or_else(|| misfit(dtype, leaf))
}

/// Text, or bytes as base64.
pub(super) fn text(leaf: &Value) -> Option<Bytes> {
    match leaf {
        Value::String(text) => Some(Bytes::from(text.clone())),
        Value::Object(fields) => STANDARD
            .decode(fields.get("b64")?.as_str()?)
            .ok()
            .map(Bytes::from),
        _ => None,
    }
}

fn misfit(dtype: DType, leaf: &Value) -> Failure {
    let mut shown = leaf.to_string();
    if shown.len() > 40 {
        shown = shown.chars().take(40).collect::<String>() + "…";
    }
    Failure::invalid(format!("{shown} is no value of type {dtype}"))
}

/// Whether bytes are written as base64 even where they are text: TensorFlow Serving goes by the name.
pub(super) fn is_binary(name: &str) -> bool {
    name.ends_with("_bytes")
}

/// The values from `place` on, nested as the shape says.
pub(super) fn write_nested(
    out: &mut String,
    tensor: &Tensor,
    shape: &[usize],
    place: usize,
    is_binary: bool,
) {
    match shape {
        [] => write_value(out, tensor, place, is_binary),
        [size, rest @ ..] => {
            let width: usize = rest.iter().product();
            out.push('[');
            for index in 0..*size {
                if index > 0 {
                    out.push(',');
                }
                write_nested(out, tensor, rest, place + index * width, is_binary);
            }
            out.push(']');
        }
    }
}

/// All values, in a row.
pub(super) fn write_flat(out: &mut String, tensor: &Tensor, is_binary: bool) {
    write_nested(out, tensor, &[tensor.len()], 0, is_binary);
}

fn write_value(out: &mut String, tensor: &Tensor, place: usize, is_binary: bool) {
    match tensor.data() {
        Data::F32(values) => write_number(out, f64::from(values[place]), format!("{:?}", values[place])),
        Data::F64(values) => write_number(out, values[place], format!("{:?}", values[place])),
        Data::I8(values) => out.push_str(&values[place].to_string()),
        Data::I16(values) => out.push_str(&values[place].to_string()),
        Data::I32(values) => out.push_str(&values[place].to_string()),
        Data::I64(values) => out.push_str(&values[place].to_string()),
        Data::U8(values) => out.push_str(&values[place].to_string()),
        Data::U16(values) => out.push_str(&values[place].to_string()),
        Data::U32(values) => out.push_str(&values[place].to_string()),
        Data::U64(values) => out.push_str(&values[place].to_string()),
        Data::Bool(values) => out.push_str(if values[place] { "true" } else { "false" }),
        Data::Text(values) => match std::str::from_utf8(&values[place]) {
            Ok(text) if !is_binary => write_text(out, text),
            _ => {
                out.push_str("{\"b64\":\"");
                STANDARD.encode_string(&values[place], out);
                out.push_str("\"}");
            }
        },
        Data::List(_) => out.push_str("null"),
    }
}

/// The digits are those of the number's own width: a float of 32 bits has not sixteen of them.
pub(super) fn write_number(out: &mut String, value: f64, digits: String) {
    match value {
        value if value.is_nan() => out.push_str("NaN"),
        f64::INFINITY => out.push_str("Infinity"),
        f64::NEG_INFINITY => out.push_str("-Infinity"),
        _ => out.push_str(&digits),
    }
}

pub(super) fn write_text(out: &mut String, text: &str) {
    out.push_str(&Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dtype: DType, text: &str) -> Outcome<Tensor> {
        tensor(dtype, &parse(text.as_bytes())?)
    }

    fn written(tensor: &Tensor) -> String {
        let mut out = String::new();
        write_nested(&mut out, tensor, tensor.shape(), 0, false);
        out
    }

    #[test]
    fn nested_lists_become_tensors_and_back() {
        for (dtype, text) in [
            (DType::F32, "[[1.5,2.0],[0.1,-3.0]]"),
            (DType::I64, "[[[1],[2]]]"),
            (DType::Text, r#"["plum","\"é\""]"#),
            (DType::Bool, "true"),
            (DType::F32, "[NaN,Infinity,-Infinity,1e-10]"),
            (DType::U64, "[18446744073709551615]"),
        ] {
            assert_eq!(written(&read(dtype, text).unwrap()), text);
        }
    }

    #[test]
    fn bytes_are_base64() {
        let tensor = read(DType::Text, r#"[{"b64":"/w=="}]"#).unwrap();
        assert_eq!(tensor.values::<Bytes>().unwrap(), [Bytes::from_static(b"\xff")]);
        assert_eq!(written(&tensor), r#"[{"b64":"/w=="}]"#);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        for (dtype, text, words) in [
            (DType::F32, "[[1,2],[3]]", "different lengths"),
            (DType::F32, r#"["a"]"#, "\"a\" is no value of type DT_FLOAT"),
            (DType::I64, "[1.5]", "1.5 is no value of type DT_INT64"),
            (DType::I8, "[300]", "300 is no value of type DT_INT8"),
            (DType::F32, r#"["NaN"]"#, "is no value"),
            (DType::F32, "[1,[2]]", "different lengths"),
            (DType::F32, r#"[{"a":1}]"#, "an object is not a value"),
            (DType::F32, "[1,", "the request is no JSON"),
        ] {
            let told = read(dtype, text).unwrap_err().message;
            assert!(told.contains(words), "{text}: {told}");
        }
    }

    #[test]
    fn words_in_texts_are_not_numbers() {
        let tensor = read(DType::Text, r#"["NaN \" Infinity"]"#).unwrap();
        assert_eq!(
            tensor.values::<Bytes>().unwrap(),
            [Bytes::from_static(b"NaN \" Infinity")]
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:0-9aNInfinity\\\\ -]{0,40}") {
            let _ = read(DType::F32, &text);
        }
    }
}
