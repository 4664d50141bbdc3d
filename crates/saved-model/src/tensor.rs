//! Tensors: a shape and a shared buffer of values of one type.

mod wire;

use std::{fmt, sync::Arc};

use bytes::Bytes;
use smallvec::SmallVec;

pub use wire::WireError;

/// The size of each dimension.
pub type Shape = SmallVec<[usize; 4]>;

/// How many values a tensor may have: more is a mistake or an attack, and would be killed for want of memory anyway.
pub(crate) const MOST_VALUES: usize = 1 << 31;

/// The types of values there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bool,
    Text,
    /// A list of tensors, as loops collect them; never on the wire.
    List,
}

impl DType {
    /// From TensorFlow's number of a type.
    pub fn from_number(number: i32) -> Option<Self> {
        // References to variables, which graphs of TensorFlow 1 have, are numbered 100 higher.
        Some(match number % 100 {
            1 => Self::F32,
            2 => Self::F64,
            3 => Self::I32,
            4 => Self::U8,
            5 => Self::I16,
            6 => Self::I8,
            7 => Self::Text,
            9 => Self::I64,
            10 => Self::Bool,
            17 => Self::U16,
            21 => Self::List,
            22 => Self::U32,
            23 => Self::U64,
            _ => return None,
        })
    }

    pub fn number(self) -> i32 {
        match self {
            Self::F32 => 1,
            Self::F64 => 2,
            Self::I32 => 3,
            Self::U8 => 4,
            Self::I16 => 5,
            Self::I8 => 6,
            Self::Text => 7,
            Self::I64 => 9,
            Self::Bool => 10,
            Self::U16 => 17,
            Self::List => 21,
            Self::U32 => 22,
            Self::U64 => 23,
        }
    }

    /// TensorFlow's name of a type, whether it is known here or not.
    pub fn name_of(number: i32) -> &'static str {
        match number % 100 {
            1 => "DT_FLOAT",
            2 => "DT_DOUBLE",
            3 => "DT_INT32",
            4 => "DT_UINT8",
            5 => "DT_INT16",
            6 => "DT_INT8",
            7 => "DT_STRING",
            8 => "DT_COMPLEX64",
            9 => "DT_INT64",
            10 => "DT_BOOL",
            11 => "DT_QINT8",
            12 => "DT_QUINT8",
            13 => "DT_QINT32",
            14 => "DT_BFLOAT16",
            15 => "DT_QINT16",
            16 => "DT_QUINT16",
            17 => "DT_UINT16",
            18 => "DT_COMPLEX128",
            19 => "DT_HALF",
            20 => "DT_RESOURCE",
            21 => "DT_VARIANT",
            22 => "DT_UINT32",
            23 => "DT_UINT64",
            _ => "DT_INVALID",
        }
    }

    pub fn name(self) -> &'static str {
        Self::name_of(self.number())
    }

    /// Bytes of one value in memory; none for what has no fixed size.
    pub(crate) fn width(self) -> Option<usize> {
        Some(match self {
            Self::I8 | Self::U8 | Self::Bool => 1,
            Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
            Self::Text | Self::List => return None,
        })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The values of a tensor, row after row. Buffers are shared; whoever has one alone may change it in place.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    F32(Arc<Vec<f32>>),
    F64(Arc<Vec<f64>>),
    I8(Arc<Vec<i8>>),
    I16(Arc<Vec<i16>>),
    I32(Arc<Vec<i32>>),
    I64(Arc<Vec<i64>>),
    U8(Arc<Vec<u8>>),
    U16(Arc<Vec<u16>>),
    U32(Arc<Vec<u32>>),
    U64(Arc<Vec<u64>>),
    Bool(Arc<Vec<bool>>),
    Text(Arc<Vec<Bytes>>),
    List(Arc<Vec<Option<Tensor>>>),
}

/// Does the same for the buffer of whichever type.
macro_rules! with_buffer {
    ($data:expr, $values:ident => $body:expr) => {
        match $data {
            $crate::tensor::Data::F32($values) => $body,
            $crate::tensor::Data::F64($values) => $body,
            $crate::tensor::Data::I8($values) => $body,
            $crate::tensor::Data::I16($values) => $body,
            $crate::tensor::Data::I32($values) => $body,
            $crate::tensor::Data::I64($values) => $body,
            $crate::tensor::Data::U8($values) => $body,
            $crate::tensor::Data::U16($values) => $body,
            $crate::tensor::Data::U32($values) => $body,
            $crate::tensor::Data::U64($values) => $body,
            $crate::tensor::Data::Bool($values) => $body,
            $crate::tensor::Data::Text($values) => $body,
            $crate::tensor::Data::List($values) => $body,
        }
    };
}
pub(crate) use with_buffer;

impl Data {
    pub fn dtype(&self) -> DType {
        match self {
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::I8(_) => DType::I8,
            Self::I16(_) => DType::I16,
            Self::I32(_) => DType::I32,
            Self::I64(_) => DType::I64,
            Self::U8(_) => DType::U8,
            Self::U16(_) => DType::U16,
            Self::U32(_) => DType::U32,
            Self::U64(_) => DType::U64,
            Self::Bool(_) => DType::Bool,
            Self::Text(_) => DType::Text,
            Self::List(_) => DType::List,
        }
    }

    pub fn len(&self) -> usize {
        with_buffer!(self, values => values.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A type of values.
pub trait Element: Clone + Default + PartialEq + Send + Sync + 'static {
    const DTYPE: DType;
    fn data(values: Arc<Vec<Self>>) -> Data;
    fn of(data: &Data) -> Option<&Arc<Vec<Self>>>;
    fn from_data(data: Data) -> Result<Arc<Vec<Self>>, Data>;
}

macro_rules! element {
    ($($type:ty => $variant:ident,)*) => {$(
        impl Element for $type {
            const DTYPE: DType = DType::$variant;
            fn data(values: Arc<Vec<Self>>) -> Data {
                Data::$variant(values)
            }
            fn of(data: &Data) -> Option<&Arc<Vec<Self>>> {
                match data {
                    Data::$variant(values) => Some(values),
                    _ => None,
                }
            }
            fn from_data(data: Data) -> Result<Arc<Vec<Self>>, Data> {
                match data {
                    Data::$variant(values) => Ok(values),
                    other => Err(other),
                }
            }
        }
    )*};
}

element! {
    f32 => F32,
    f64 => F64,
    i8 => I8,
    i16 => I16,
    i32 => I32,
    i64 => I64,
    u8 => U8,
    u16 => U16,
    u32 => U32,
    u64 => U64,
    bool => Bool,
    Bytes => Text,
    Option<Tensor> => List,
}

/// Values in a shape. Cloning one shares its values.
#[derive(Clone, PartialEq)]
pub struct Tensor {
    shape: Shape,
    data: Data,
}

impl fmt::Debug for Tensor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        write!(formatter, "{}{:?}", self.dtype(), self.shape.as_slice())?;
        if self.data.len() <= SHOWN {
            with_buffer!(&self.data, values => write!(formatter, " {values:?}"))?;
        }
        Ok(())
    }
}

impl Tensor {
    /// `None` where the shape has another number of values.
    pub fn new<T: Element>(shape: impl Into<Shape>, values: Vec<T>) -> Option<Self> {
        Self::from_parts(shape.into(), T::data(Arc::new(values)))
    }

    pub(crate) fn from_parts(shape: Shape, data: Data) -> Option<Self> {
        (count(&shape)? == data.len()).then_some(Self { shape, data })
    }

    pub fn scalar<T: Element>(value: T) -> Self {
        Self {
            shape: Shape::new(),
            data: T::data(Arc::new(vec![value])),
        }
    }

    /// One dimension.
    pub fn list<T: Element>(values: Vec<T>) -> Self {
        Self {
            shape: Shape::from_slice(&[values.len()]),
            data: T::data(Arc::new(values)),
        }
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    pub fn dtype(&self) -> DType {
        self.data.dtype()
    }

    pub fn data(&self) -> &Data {
        &self.data
    }

    pub fn len(&self) -> usize {
        self.data.len()
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The values, where they are of this type.
    pub fn values<T: Element>(&self) -> Option<&[T]> {
        T::of(&self.data).map(|values| values.as_slice())
    }

    /// The same values in another shape of as many.
    pub fn reshaped(self, shape: impl Into<Shape>) -> Option<Self> {
        Self::from_parts(shape.into(), self.data)
    }

    pub(crate) fn into_parts(self) -> (Shape, Data) {
        (self.shape, self.data)
    }

    /// About how much memory the values take.
    pub fn bytes(&self) -> usize {
        match &self.data {
            Data::Text(values) => values.iter().map(|value| value.len() + size_of::<Bytes>()).sum(),
            Data::List(values) => values.iter().flatten().map(Self::bytes).sum(),
            data => data.len() * data.dtype().width().unwrap_or_default(),
        }
    }

    /// Some rows of the first dimension. `None` where there are not as many.
    pub fn rows(&self, from: usize, count: usize) -> Option<Self> {
        let (&all, rest) = self.shape.split_first()?;
        let end = from.checked_add(count).filter(|end| *end <= all)?;
        let width: usize = rest.iter().product();
        let data = with_buffer!(&self.data, values => slice_of(values, from * width, end * width));
        let mut shape = self.shape.clone();
        shape[0] = count;
        Some(Self { shape, data })
    }

    /// Tensors of the same type one below the other. `None` where they do not fit or there are none.
    pub fn stacked(tensors: &[Self]) -> Option<Self> {
        let first = tensors.first()?;
        let rest = first.shape.get(1..)?;
        let mut rows = 0;
        for tensor in tensors {
            let fits = tensor.dtype() == first.dtype() && tensor.shape.get(1..) == Some(rest);
            rows += fits.then(|| tensor.shape[0])?;
        }
        let mut shape = first.shape.clone();
        shape[0] = rows;
        let data = with_buffer!(&first.data, values => join(values, tensors));
        Self::from_parts(shape, data)
    }
}

fn slice_of<T: Element>(values: &[T], from: usize, to: usize) -> Data {
    T::data(Arc::new(values[from..to].to_vec()))
}

fn join<T: Element>(first: &[T], tensors: &[Tensor]) -> Data {
    let mut joined = Vec::with_capacity(first.len() * tensors.len());
    for values in tensors.iter().filter_map(Tensor::values) {
        joined.extend_from_slice(values);
    }
    T::data(Arc::new(joined))
}

/// How many values a shape has; none where that is out of all bounds.
pub(crate) fn count(shape: &[usize]) -> Option<usize> {
    shape
        .iter()
        .try_fold(1_usize, |product, size| product.checked_mul(*size))
        .filter(|product| *product <= MOST_VALUES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_with_another_number_of_values_is_refused() {
        assert_eq!(Tensor::new([2_usize, 2].as_slice(), vec![1.0_f32; 3]), None);
        assert_eq!(Tensor::new([usize::MAX, 2].as_slice(), vec![1.0_f32; 3]), None);
    }

    #[test]
    fn what_is_stacked_can_be_taken_apart() {
        let upper = Tensor::new([1_usize, 2].as_slice(), vec![1_i64, 2]).unwrap();
        let lower = Tensor::new([2_usize, 2].as_slice(), vec![3_i64, 4, 5, 6]).unwrap();
        let both = Tensor::stacked(&[upper.clone(), lower.clone()]).unwrap();
        assert_eq!(both.shape(), [3, 2]);
        assert_eq!((both.rows(0, 1), both.rows(1, 2)), (Some(upper), Some(lower)));
        assert_eq!(both.rows(2, 2), None);
    }

    #[test]
    fn tensors_of_other_widths_are_not_stacked() {
        let narrow = Tensor::new([1_usize, 2].as_slice(), vec![1_i64, 2]).unwrap();
        let wide = Tensor::new([1_usize, 3].as_slice(), vec![1_i64, 2, 3]).unwrap();
        assert_eq!(Tensor::stacked(&[narrow, wide]), None);
    }
}
