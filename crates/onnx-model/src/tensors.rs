//! Tensors and types of ONNX.

use saved_model::{DType, Tensor};

use crate::proto::{TensorProto, ValueInfoProto};

/// From ONNX's number of a type.
pub(crate) fn dtype(number: i32) -> Option<DType> {
    Some(match number {
        1 => DType::F32,
        2 => DType::U8,
        3 => DType::I8,
        4 => DType::U16,
        5 => DType::I16,
        6 => DType::I32,
        7 => DType::I64,
        9 => DType::Bool,
        11 => DType::F64,
        12 => DType::U32,
        13 => DType::U64,
        _ => return None,
    })
}

/// Values are raw, or in the list of their type.
pub(crate) fn tensor(wire: &TensorProto) -> Result<Tensor, String> {
    let dtype =
        dtype(wire.data_type).ok_or_else(|| format!("its type {} is not supported", wire.data_type))?;
    if wire.data_location == 1 {
        return Err("its values are in another file".to_owned());
    }
    let shape: Result<Vec<usize>, String> = wire
        .dims
        .iter()
        .map(|size| usize::try_from(*size).map_err(|_| format!("{size} is no size")))
        .collect();
    let shape = shape?;
    if !wire.raw_data.is_empty() {
        return Tensor::from_bytes(dtype, shape.as_slice(), &wire.raw_data)
            .map_err(|error| error.to_string());
    }
    let small = |wide: &i32| *wide;
    let shape = shape.as_slice();
    let tensor = match dtype {
        DType::F32 => Tensor::new(shape, wire.float_data.clone()),
        DType::F64 => Tensor::new(shape, wire.double_data.clone()),
        DType::I64 => Tensor::new(shape, wire.int64_data.clone()),
        DType::I32 => Tensor::new(shape, wire.int32_data.iter().map(small).collect()),
        DType::Bool => Tensor::new(shape, wire.int32_data.iter().map(|value| *value != 0).collect()),
        other => return Err(format!("its values of type {other} are not raw")),
    };
    tensor.ok_or_else(|| "its values do not fit its shape".to_owned())
}

/// The type of an input or output, and its sizes, -1 where one may be any; none where even the rank may be any.
pub(crate) fn described(info: &ValueInfoProto) -> Result<(DType, Option<Vec<i64>>), String> {
    let tensor = info.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref());
    let tensor = tensor.ok_or_else(|| "it is no tensor".to_owned())?;
    let dtype =
        dtype(tensor.elem_type).ok_or_else(|| format!("its type {} is not supported", tensor.elem_type))?;
    let sizes = tensor.shape.as_ref().map(|shape| {
        let sizes = shape.dim.iter().map(|dim| dim.dim_value.unwrap_or(-1).max(-1));
        // A size of nought is how some exporters write one that may be any.
        sizes.map(|size| if size == 0 { -1 } else { size }).collect()
    });
    Ok((dtype, sizes))
}
