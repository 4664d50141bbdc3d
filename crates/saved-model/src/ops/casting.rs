//! Values of one type as those of another.

use super::{Made, from, made, not_for};
use crate::{
    graph::Attributes as _,
    proto::NodeDef,
    tensor::{DType, Tensor},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    (node.op == "Cast").then(|| cast(node))
}

fn cast(node: &NodeDef) -> Made {
    let to = node.dtype("DstT")?;
    let from_type = node.dtype("SrcT")?;
    for dtype in [from_type, to] {
        if matches!(dtype, DType::Text | DType::List) {
            return Err(not_for(dtype));
        }
    }
    Ok(from(move |[tensor]| cast_to(tensor, to)))
}

/// Values of another type, as C casts them.
pub(super) fn cast_to(tensor: Tensor, to: DType) -> Result<Tensor, String> {
    if tensor.dtype() == to {
        return Ok(tensor);
    }
    macro_rules! cast {
        ($values:expr, $($variant:ident => $type:ty,)*) => {
            match to {
                $(DType::$variant => made(tensor.shape(), $values.iter().map(|value| *value as $type).collect::<Vec<_>>()),)*
                DType::Bool => made(tensor.shape(), $values.iter().map(|value| *value != Default::default()).collect::<Vec<bool>>()),
                other => Err(not_for(other)),
            }
        };
    }
    macro_rules! from_each {
        ($($variant:ident),*) => {
            match tensor.data() {
                $(crate::tensor::Data::$variant(values) => cast!(values,
                    F32 => f32, F64 => f64, I8 => i8, I16 => i16, I32 => i32, I64 => i64,
                    U8 => u8, U16 => u16, U32 => u32, U64 => u64,
                ),)*
                crate::tensor::Data::Bool(values) => {
                    let numbers = made(tensor.shape(), values.iter().map(|value| u8::from(*value)).collect::<Vec<_>>())?;
                    cast_to(numbers, to)
                }
                other => Err(not_for(other.dtype())),
            }
        };
    }
    from_each!(F32, F64, I8, I16, I32, I64, U8, U16, U32, U64)
}
