//! From tensors of the wire and back.

use std::sync::Arc;

use bytes::Bytes;

use super::{DType, Data, Element, Shape, Tensor, count};
use crate::proto::{TensorProto, TensorShapeProto};

/// Why a tensor cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("values of type {} are not supported", DType::name_of(*number))]
    Type { number: i32 },
    #[error("its shape is not fully known")]
    OpenShape,
    #[error("its shape has more values than fit")]
    TooLarge,
    #[error("its shape has {wanted} values, but {given} are given")]
    Count { wanted: usize, given: usize },
    #[error("a list of tensors is not for clients")]
    List,
}

impl TryFrom<&TensorProto> for Tensor {
    type Error = WireError;

    fn try_from(wire: &TensorProto) -> Result<Self, WireError> {
        Self::try_from(wire.clone())
    }
}

impl TryFrom<TensorProto> for Tensor {
    type Error = WireError;

    fn try_from(wire: TensorProto) -> Result<Self, WireError> {
        let number = wire.dtype;
        let dtype = DType::from_number(number).ok_or(WireError::Type { number })?;
        let shape = closed(wire.tensor_shape.as_ref())?;
        let wanted = count(&shape).ok_or(WireError::TooLarge)?;
        let data = match dtype {
            DType::Text => listed(wire.string_val, wanted)?,
            DType::List => return Err(WireError::List),
            _ if !wire.tensor_content.is_empty() => packed(dtype, &wire.tensor_content, wanted)?,
            DType::F32 => listed(wire.float_val, wanted)?,
            DType::F64 => listed(wire.double_val, wanted)?,
            DType::I32 => listed(wire.int_val, wanted)?,
            DType::I8 => listed(narrowed(&wire.int_val, |value| value as i8), wanted)?,
            DType::I16 => listed(narrowed(&wire.int_val, |value| value as i16), wanted)?,
            DType::U8 => listed(narrowed(&wire.int_val, |value| value as u8), wanted)?,
            DType::U16 => listed(narrowed(&wire.int_val, |value| value as u16), wanted)?,
            DType::I64 => listed(wire.int64_val, wanted)?,
            DType::U32 => listed(wire.uint32_val, wanted)?,
            DType::U64 => listed(wire.uint64_val, wanted)?,
            DType::Bool => listed(wire.bool_val, wanted)?,
        };
        Ok(Self { shape, data })
    }
}

impl TensorProto {
    /// The memory its values take once it is a tensor, where it can be one: a few bytes may stand for very many
    /// values.
    pub fn tensor_bytes(&self) -> usize {
        let dtype = DType::from_number(self.dtype);
        let width = dtype.map_or(0, |dtype| dtype.width().unwrap_or(size_of::<Bytes>()));
        let values = closed(self.tensor_shape.as_ref())
            .ok()
            .and_then(|shape| count(&shape));
        values.unwrap_or_default().saturating_mul(width)
    }
}

impl From<&Tensor> for TensorProto {
    /// With one value a field, as TensorFlow Serving answers and its clients expect.
    fn from(tensor: &Tensor) -> Self {
        let sizes: Vec<i64> = tensor.shape().iter().map(|size| *size as i64).collect();
        let mut wire = Self {
            dtype: tensor.dtype().number(),
            tensor_shape: Some(TensorShapeProto::of(&sizes)),
            ..Self::default()
        };
        match tensor.data() {
            Data::F32(values) => wire.float_val.clone_from(values),
            Data::F64(values) => wire.double_val.clone_from(values),
            Data::I8(values) => wire.int_val = values.iter().map(|value| i32::from(*value)).collect(),
            Data::I16(values) => wire.int_val = values.iter().map(|value| i32::from(*value)).collect(),
            Data::I32(values) => wire.int_val.clone_from(values),
            Data::I64(values) => wire.int64_val.clone_from(values),
            Data::U8(values) => wire.int_val = values.iter().map(|value| i32::from(*value)).collect(),
            Data::U16(values) => wire.int_val = values.iter().map(|value| i32::from(*value)).collect(),
            Data::U32(values) => wire.uint32_val.clone_from(values),
            Data::U64(values) => wire.uint64_val.clone_from(values),
            Data::Bool(values) => wire.bool_val.clone_from(values),
            Data::Text(values) => wire.string_val.clone_from(values),
            Data::List(_) => {}
        }
        wire
    }
}

fn closed(shape: Option<&TensorShapeProto>) -> Result<Shape, WireError> {
    let Some(shape) = shape else {
        return Ok(Shape::new());
    };
    if shape.unknown_rank {
        return Err(WireError::OpenShape);
    }
    let size = |size: i64| usize::try_from(size).map_err(|_| WireError::OpenShape);
    shape.dim.iter().map(|dim| size(dim.size)).collect()
}

fn narrowed<T>(values: &[i32], narrow: impl Fn(i32) -> T) -> Vec<T> {
    values.iter().map(|value| narrow(*value)).collect()
}

/// Values given one by one. The last stands for all that are not given, and none for zeros, as in TensorFlow.
fn listed<T: Element>(mut values: Vec<T>, wanted: usize) -> Result<Data, WireError> {
    let given = values.len();
    if given > wanted {
        return Err(WireError::Count { wanted, given });
    }
    let last = values.last().cloned().unwrap_or_default();
    values.resize(wanted, last);
    Ok(T::data(Arc::new(values)))
}

/// Values as they lie in memory, little end first.
pub(crate) fn packed(dtype: DType, bytes: &[u8], wanted: usize) -> Result<Data, WireError> {
    macro_rules! read {
        ($type:ty) => {
            <$type as Element>::data(Arc::new(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .copied()
                    .map(<$type>::from_le_bytes)
                    .collect(),
            ))
        };
    }
    let width = dtype.width().ok_or(WireError::List)?;
    if wanted.checked_mul(width) != Some(bytes.len()) {
        let given = bytes.len() / width;
        return Err(WireError::Count { wanted, given });
    }
    Ok(match dtype {
        DType::F32 => read!(f32),
        DType::F64 => read!(f64),
        DType::I8 => read!(i8),
        DType::I16 => read!(i16),
        DType::I32 => read!(i32),
        DType::I64 => read!(i64),
        DType::U8 => u8::data(Arc::new(bytes.to_vec())),
        DType::U16 => read!(u16),
        DType::U32 => read!(u32),
        DType::U64 => read!(u64),
        DType::Bool => bool::data(Arc::new(bytes.iter().map(|byte| *byte != 0).collect())),
        DType::Text | DType::List => return Err(WireError::List),
    })
}

impl Tensor {
    /// From values as they lie in memory, little end first.
    pub fn from_bytes(dtype: DType, shape: impl Into<Shape>, bytes: &[u8]) -> Result<Self, WireError> {
        let shape = shape.into();
        let wanted = count(&shape).ok_or(WireError::TooLarge)?;
        let data = packed(dtype, bytes, wanted)?;
        Ok(Self { shape, data })
    }

    /// The values as they lie in memory, little end first; none of text and lists.
    pub fn to_bytes(&self) -> Option<Bytes> {
        macro_rules! write {
            ($values:expr) => {
                $values
                    .iter()
                    .flat_map(|value| value.to_le_bytes())
                    .collect()
            };
        }
        let bytes: Vec<u8> = match self.data() {
            Data::F32(values) => write!(values),
            Data::F64(values) => write!(values),
            Data::I8(values) => write!(values),
            Data::I16(values) => write!(values),
            Data::I32(values) => write!(values),
            Data::I64(values) => write!(values),
            Data::U8(values) => values.to_vec(),
            Data::U16(values) => write!(values),
            Data::U32(values) => write!(values),
            Data::U64(values) => write!(values),
            Data::Bool(values) => values.iter().map(|value| u8::from(*value)).collect(),
            Data::Text(_) | Data::List(_) => return None,
        };
        Some(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(dtype: DType, sizes: &[i64]) -> TensorProto {
        TensorProto {
            dtype: dtype.number(),
            tensor_shape: Some(TensorShapeProto::of(sizes)),
            ..TensorProto::default()
        }
    }

    #[test]
    fn the_memory_of_a_tensor_is_known_before_it_is_one() {
        assert_eq!(wire(DType::F32, &[1 << 20, 2]).tensor_bytes(), 8 << 20);
        assert_eq!(wire(DType::Text, &[3]).tensor_bytes(), 3 * size_of::<Bytes>());
        // These are refused for what they are.
        assert_eq!(wire(DType::F32, &[-1]).tensor_bytes(), 0);
        assert_eq!(wire(DType::F64, &[1 << 40, 1 << 40]).tensor_bytes(), 0);
    }

    #[test]
    fn values_come_one_by_one_or_as_they_lie_in_memory() {
        let listed = TensorProto {
            float_val: vec![1.0, 2.0],
            ..wire(DType::F32, &[2])
        };
        let packed = TensorProto {
            tensor_content: Bytes::from_static(&[0, 0, 128, 63, 0, 0, 0, 64]),
            ..wire(DType::F32, &[2])
        };
        let both = [listed, packed].map(|wire| Tensor::try_from(&wire).unwrap());
        assert_eq!(both[0], both[1]);
        assert_eq!(both[0].values::<f32>(), Some([1.0, 2.0].as_slice()));
    }

    #[test]
    fn one_value_fills_a_shape_and_none_is_zero() {
        let one = TensorProto {
            int64_val: vec![7],
            ..wire(DType::I64, &[2, 2])
        };
        assert_eq!(
            Tensor::try_from(&one).unwrap().values(),
            Some([7_i64; 4].as_slice())
        );
        let none = Tensor::try_from(&wire(DType::I64, &[3])).unwrap();
        assert_eq!(none.values(), Some([0_i64; 3].as_slice()));
    }

    #[test]
    fn too_many_values_and_half_values_are_refused() {
        let many = TensorProto {
            bool_val: vec![true; 3],
            ..wire(DType::Bool, &[2])
        };
        assert_eq!(
            Tensor::try_from(&many),
            Err(WireError::Count { wanted: 2, given: 3 })
        );
        let half = TensorProto {
            tensor_content: Bytes::from_static(&[1, 2, 3]),
            ..wire(DType::F32, &[1])
        };
        assert_eq!(
            Tensor::try_from(&half),
            Err(WireError::Count { wanted: 1, given: 0 })
        );
    }

    #[test]
    fn sizes_that_are_not_known_or_not_possible_are_refused() {
        assert_eq!(
            Tensor::try_from(&wire(DType::F32, &[-1])),
            Err(WireError::OpenShape)
        );
        let huge = wire(DType::F32, &[i64::MAX, i64::MAX]);
        assert_eq!(Tensor::try_from(&huge), Err(WireError::TooLarge));
    }

    #[test]
    fn every_type_comes_back_as_it_went() {
        let tensors = [
            Tensor::list(vec![1.5_f32, -0.0]),
            Tensor::list(vec![1.5_f64]),
            Tensor::list(vec![-1_i8, 2]),
            Tensor::list(vec![-300_i16]),
            Tensor::list(vec![i32::MIN]),
            Tensor::list(vec![i64::MAX]),
            Tensor::list(vec![255_u8]),
            Tensor::list(vec![65535_u16]),
            Tensor::list(vec![u32::MAX]),
            Tensor::list(vec![u64::MAX]),
            Tensor::list(vec![true, false]),
            Tensor::list(vec![Bytes::from_static(b"\xff\x00")]),
        ];
        for tensor in tensors {
            assert_eq!(
                Tensor::try_from(&TensorProto::from(&tensor)).as_ref(),
                Ok(&tensor)
            );
            if let Some(bytes) = tensor.to_bytes() {
                assert_eq!(
                    Tensor::from_bytes(tensor.dtype(), tensor.shape(), &bytes),
                    Ok(tensor)
                );
            }
        }
    }
}
