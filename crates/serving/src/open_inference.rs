//! What the Open Inference Protocol calls things, over gRPC and REST alike. It has no signatures: a request may name
//! one as a parameter.

use std::sync::Arc;

use saved_model::{DEFAULT_SIGNATURE, DType, Port};

use crate::{
    app::App,
    catalogue::{Choice, Version},
    failure::{Failure, Outcome},
};

pub(crate) const SERVER: &str = "trainyard";
pub(crate) const PLATFORM: &str = "tensorflow_savedmodel";
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
