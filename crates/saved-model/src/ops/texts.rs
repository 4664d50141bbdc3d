//! Ops on text.

use bytes::Bytes;

use super::{Made, broadcast::stretched, from, from_all, made, not_for, values};
use crate::{
    graph::Attributes as _,
    proto::NodeDef,
    tensor::{DType, Shape, Tensor},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "StringToHashBucketFast" => {
            let buckets = node
                .int("num_buckets")
                .and_then(|count| u64::try_from(count).ok())
                .unwrap_or(1)
                .max(1);
            Ok(from(move |[texts]| {
                let bucket = |text: &Bytes| (farmhash::fingerprint64(text) % buckets) as i64;
                made(
                    texts.shape(),
                    values::<Bytes>(&texts)?.iter().map(bucket).collect(),
                )
            }))
        }
        "AsString" => as_text(node),
        "StringToNumber" => to_number(node),
        "StringLower" => each(node, str::to_lowercase, <[u8]>::to_ascii_lowercase),
        "StringUpper" => each(node, str::to_uppercase, <[u8]>::to_ascii_uppercase),
        "StringStrip" => Ok(from(|[texts]| {
            let strip = |text: &Bytes| Bytes::copy_from_slice(text.trim_ascii());
            made(
                texts.shape(),
                values::<Bytes>(&texts)?.iter().map(strip).collect(),
            )
        })),
        "StringJoin" => {
            let separator = node.text("separator").to_owned();
            Ok(from_all(move |given| join(&given, separator.as_bytes())))
        }
        "StringLength" => {
            let counts_characters = node.text("unit") == "UTF8_CHAR";
            Ok(from(move |[texts]| {
                let length = |text: &Bytes| {
                    if counts_characters {
                        String::from_utf8_lossy(text).chars().count() as i32
                    } else {
                        text.len() as i32
                    }
                };
                made(
                    texts.shape(),
                    values::<Bytes>(&texts)?.iter().map(length).collect(),
                )
            }))
        }
        _ => return None,
    })
}

fn each(node: &NodeDef, unicode: fn(&str) -> String, ascii: fn(&[u8]) -> Vec<u8>) -> Made {
    let is_unicode = node.text("encoding") == "utf-8";
    Ok(from(move |[texts]| {
        let change = |text: &Bytes| -> Bytes {
            match std::str::from_utf8(text) {
                Ok(text) if is_unicode => unicode(text).into(),
                _ => ascii(text).into(),
            }
        };
        made(
            texts.shape(),
            values::<Bytes>(&texts)?.iter().map(change).collect(),
        )
    }))
}

fn as_text(node: &NodeDef) -> Made {
    let dtype = node.dtype("T")?;
    let precision = node.int("precision").unwrap_or(-1);
    if node.flag("scientific")
        || node.flag("shortest")
        || node.int("width").unwrap_or(-1) > 0
        || !node.text("fill").is_empty()
    {
        return Err("numbers are written in the plain form only".to_owned());
    }
    let digits = usize::try_from(precision).unwrap_or(6);
    fn texts<T: crate::tensor::Element>(
        tensor: &Tensor,
        write: impl Fn(&T) -> String,
    ) -> Result<Tensor, String> {
        made(
            tensor.shape(),
            values::<T>(tensor)?
                .iter()
                .map(|value| Bytes::from(write(value)))
                .collect(),
        )
    }
    Ok(match dtype {
        DType::I32 => from(|[tensor]| texts(&tensor, i32::to_string)),
        DType::I64 => from(|[tensor]| texts(&tensor, i64::to_string)),
        DType::Bool => from(|[tensor]| texts(&tensor, bool::to_string)),
        DType::F32 => from(move |[tensor]| texts(&tensor, |value: &f32| format!("{value:.digits$}"))),
        DType::F64 => from(move |[tensor]| texts(&tensor, |value: &f64| format!("{value:.digits$}"))),
        other => return Err(not_for(other)),
    })
}

fn to_number(node: &NodeDef) -> Made {
    fn numbers<T: crate::tensor::Element + std::str::FromStr>(texts: &Tensor) -> Result<Tensor, String> {
        let parse = |text: &Bytes| {
            let trimmed = std::str::from_utf8(text).unwrap_or_default().trim();
            trimmed
                .parse()
                .map_err(|_| format!("`{}` is no number", String::from_utf8_lossy(text)))
        };
        let numbers = values::<Bytes>(texts)?
            .iter()
            .map(parse)
            .collect::<Result<Vec<T>, _>>()?;
        made(texts.shape(), numbers)
    }
    Ok(match node.dtype("out_type").unwrap_or(DType::F32) {
        DType::F32 => from(|[texts]| numbers::<f32>(&texts)),
        DType::F64 => from(|[texts]| numbers::<f64>(&texts)),
        DType::I32 => from(|[texts]| numbers::<i32>(&texts)),
        DType::I64 => from(|[texts]| numbers::<i64>(&texts)),
        other => return Err(not_for(other)),
    })
}

/// Single texts are repeated beside lists of them.
fn join(given: &[Tensor], separator: &[u8]) -> Result<Tensor, String> {
    let shape: Shape = given
        .iter()
        .find(|texts| texts.rank() > 0)
        .map_or_else(Shape::new, |texts| texts.shape().into());
    let mut joined: Vec<Vec<u8>> = vec![Vec::new(); super::counted(&shape)?];
    for (index, texts) in given.iter().enumerate() {
        for (joined, text) in joined.iter_mut().zip(stretched::<Bytes>(texts, &shape)?) {
            if index > 0 {
                joined.extend_from_slice(separator);
            }
            joined.extend_from_slice(&text);
        }
    }
    made(&shape, joined.into_iter().map(Bytes::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{AttrValue, attr_value::Value};

    #[test]
    fn buckets_are_those_of_tensorflow() {
        let node = NodeDef {
            op: "StringToHashBucketFast".to_owned(),
            attr: [(
                "num_buckets".to_owned(),
                AttrValue {
                    value: Some(Value::I(1000)),
                },
            )]
            .into(),
            ..NodeDef::default()
        };
        let kernel = kernel(&node).unwrap().unwrap();
        // Computed by TensorFlow.
        for (text, bucket) in [("a", 939_i64), ("68fd1e64", 598), ("", 263), ("é", 25)] {
            let texts = Tensor::list(vec![Bytes::from(text)]);
            assert_eq!(
                kernel(smallvec::smallvec![texts]).unwrap()[0],
                Tensor::list(vec![bucket]),
                "{text}"
            );
        }
    }
}
