//! What the Open Inference Protocol calls things, over gRPC and REST alike. It has no signatures: a request may name
//! one as a parameter.

use std::sync::Arc;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use saved_model::{DEFAULT_SIGNATURE, DType, Port, Tensor};

use crate::{
    app::App,
    catalogue::{Choice, Version},
    failure::{Failure, Outcome},
};

pub(crate) const SERVER: &str = "trainyard";
/// What is understood beside the protocol itself.
pub(crate) const EXTENSIONS: [&str; 1] = ["binary_tensor_data"];
/// What models of each kind are called.
pub(crate) const TENSORFLOW: &str = "tensorflow_savedmodel";
pub(crate) const ONNX: &str = "onnx_onnxv1";
/// The parameter that names a signature.
pub(crate) const SIGNATURE: &str = "signature_name";

/// What a type is called. Text is bytes here.
pub(crate) fn datatype(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "FP32",
        DType::F64 => "FP64",
        DType::I8 => "INT8",
        DType::I16 => "INT16",
        DType::I32 => "INT32",
        DType::I64 => "INT64",
        DType::U8 => "UINT8",
        DType::U16 => "UINT16",
        DType::U32 => "UINT32",
        DType::U64 => "UINT64",
        DType::Bool => "BOOL",
        DType::Text | DType::List => "BYTES",
    }
}

pub(crate) fn dtype(datatype: &str) -> Outcome<DType> {
    Ok(match datatype {
        "FP32" => DType::F32,
        "FP64" => DType::F64,
        "INT8" => DType::I8,
        "INT16" => DType::I16,
        "INT32" => DType::I32,
        "INT64" => DType::I64,
        "UINT8" => DType::U8,
        "UINT16" => DType::U16,
        "UINT32" => DType::U32,
        "UINT64" => DType::U64,
        "BOOL" => DType::Bool,
        "BYTES" => DType::Text,
        other => {
            return Err(Failure::invalid(format!(
                "values of type `{other}` are not supported"
            )));
        }
    })
}

/// Sizes as they are told; -1 where one may be any, and so a shape that may be any.
pub(crate) fn sizes(port: &Port) -> Vec<i64> {
    let Some(shape) = &port.shape else { return vec![-1] };
    shape
        .iter()
        .map(|size| size.map_or(-1, |size| size as i64))
        .collect()
}

pub(crate) fn shape(sizes: &[i64]) -> Outcome<Vec<usize>> {
    let size =
        |size: &i64| usize::try_from(*size).map_err(|_| Failure::invalid(format!("a size cannot be {size}")));
    sizes.iter().map(size).collect()
}

pub(crate) fn find(app: &App, name: &str, version: &str) -> Outcome<Arc<Version>> {
    let choice = match version {
        "" => Choice::Latest,
        number => Choice::Number(
            number
                .parse()
                .map_err(|_| Failure::invalid(format!("`{number}` is no version: versions are numbers")))?,
        ),
    };
    app.catalogue.find(name, &choice)
}

/// The signature that is meant: the one that is named, the usual ones, or the only one.
pub(crate) fn signature<'a>(version: &'a Version, named: Option<&'a str>) -> Outcome<&'a str> {
    if let Some(name) = named {
        return version.signature(name).map(|_| name);
    }
    let signatures = version.model.signatures();
    let usual = [DEFAULT_SIGNATURE, "predict"];
    let usual = usual.into_iter().find(|name| signatures.contains_key(*name));
    let only = || match signatures.keys().collect::<Vec<_>>()[..] {
        [only] => Some(only.as_str()),
        _ => None,
    };
    usual.or_else(only).ok_or_else(|| {
        let known: Vec<String> = signatures.keys().map(|name| format!("`{name}`")).collect();
        Failure::invalid(format!(
            "the model has several signatures ({}); name one in the parameter `{SIGNATURE}`",
            known.join(", ")
        ))
    })
}

/// A tensor from its values as they lie in memory, or from texts with their length before them.
pub(crate) fn from_raw(dtype: DType, shape: &[usize], raw: Bytes) -> Outcome<Tensor> {
    if dtype != DType::Text {
        return Tensor::from_bytes(dtype, shape, &raw).map_err(|error| Failure::invalid(error.to_string()));
    }
    let texts = texts(raw)?;
    let given = texts.len();
    Tensor::new(shape, texts).ok_or_else(|| Failure::invalid(format!("its shape has not {given} values")))
}

/// Each text has its length before it.
fn texts(mut raw: Bytes) -> Outcome<Vec<Bytes>> {
    let mut texts = Vec::new();
    while !raw.is_empty() {
        let length = raw.try_get_u32_le().ok().map(|length| length as usize);
        let Some(length) = length.filter(|length| *length <= raw.len()) else {
            return Err(Failure::invalid("its raw contents end in the middle of a value"));
        };
        texts.push(raw.split_to(length));
    }
    Ok(texts)
}

/// The values of a tensor as they lie in memory, little end first; texts with their length before them.
pub(crate) fn raw_of(tensor: &Tensor) -> Bytes {
    if let Some(bytes) = tensor.to_bytes() {
        return bytes;
    }
    let mut bytes = BytesMut::new();
    for text in tensor.values::<Bytes>().unwrap_or_default() {
        bytes.put_u32_le(text.len() as u32);
        bytes.put_slice(text);
    }
    bytes.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_their_length_before_them() {
        let tensor = Tensor::list::<Bytes>(vec!["plum".into(), "".into(), "kiwi".into()]);
        let raw = raw_of(&tensor);
        assert_eq!(texts(raw.clone()).unwrap(), tensor.values::<Bytes>().unwrap());
        assert!(texts(raw.slice(..raw.len() - 1)).is_err());
    }
}
