//! Lists of tensors, by which loops collect and hand out what they work on.

use std::sync::Arc;

use super::{Made, from, integer, integers, made_of, not_for, size, values};
use crate::{
    graph::Attributes as _,
    proto::NodeDef,
    tensor::{DType, Data, Element, Shape, Tensor},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "TensorListReserve" => Ok(from(|[_shape, count]| {
            let count = size(integer(&count)?)?;
            super::counted(&[count])?;
            list(vec![None; count])
        })),
        "TensorListFromTensor" => Ok(from(|[tensor, _shape]| {
            let count = *tensor.shape().first().ok_or("a single value has no rows")?;
            let row = |index: usize| {
                let row = tensor.rows(index, 1)?;
                let shape = Shape::from_slice(&row.shape()[1..]);
                row.reshaped(shape)
            };
            list((0..count).map(row).collect())
        })),
        "TensorListGetItem" => {
            let dtype = node.dtype("element_dtype");
            dtype.map(|dtype| {
                from(move |[list, index, shape]| match item(&list, &index)? {
                    Some(tensor) => Ok(tensor.clone()),
                    None => zeros(dtype, &integers(&shape)?),
                })
            })
        }
        "TensorListSetItem" => Ok(from(|[list, index, tensor]| {
            let at = place(&list, &index)?;
            let (shape, data) = list.into_parts();
            let Data::List(mut items) = data else {
                return Err("this is no list".to_owned());
            };
            Arc::make_mut(&mut items)[at] = Some(tensor);
            made_of(shape, Data::List(items))
        })),
        "TensorListLength" => Ok(from(|[list]| {
            Ok(Tensor::scalar(values::<Option<Tensor>>(&list)?.len() as i32))
        })),
        "TensorListStack" => Ok(from(|[list, shape]| stack(&list, &integers(&shape)?))),
        _ => return None,
    })
}

/// A list is one value of its own kind; its length is kept as its shape, which nobody looks at.
fn list(items: Vec<Option<Tensor>>) -> Result<Tensor, String> {
    let shape = Shape::from_slice(&[items.len()]);
    made_of(shape, Data::List(Arc::new(items)))
}

fn place(list: &Tensor, index: &Tensor) -> Result<usize, String> {
    let (index, count) = (integer(index)?, values::<Option<Tensor>>(list)?.len());
    usize::try_from(index)
        .ok()
        .filter(|index| *index < count)
        .ok_or_else(|| format!("there is no item {index} of {count}"))
}

fn item<'a>(list: &'a Tensor, index: &Tensor) -> Result<Option<&'a Tensor>, String> {
    let at = place(list, index)?;
    Ok(values::<Option<Tensor>>(list)?[at].as_ref())
}

fn zeros(dtype: DType, shape: &[i64]) -> Result<Tensor, String> {
    let shape = shape
        .iter()
        .map(|value| size(*value))
        .collect::<Result<Vec<_>, _>>()?;
    let count = super::counted(&shape)?;
    fn of<T: Element>(shape: &[usize], count: usize) -> Result<Tensor, String> {
        super::made(shape, vec![T::default(); count])
    }
    match dtype {
        DType::F32 => of::<f32>(&shape, count),
        DType::I32 => of::<i32>(&shape, count),
        DType::I64 => of::<i64>(&shape, count),
        DType::Bool => of::<bool>(&shape, count),
        other => Err(not_for(other)),
    }
}

fn stack(list: &Tensor, shape: &[i64]) -> Result<Tensor, String> {
    let items = values::<Option<Tensor>>(list)?;
    let known = items.iter().flatten().next();
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        let tensor = match (item, known) {
            (Some(tensor), _) => tensor.clone(),
            (None, Some(other)) => {
                let shape: Vec<i64> = other.shape().iter().map(|size| *size as i64).collect();
                zeros(other.dtype(), &shape)?
            }
            (None, None) => zeros(DType::F32, shape)?,
        };
        let mut wide = Shape::from_slice(&[1]);
        wide.extend_from_slice(tensor.shape());
        rows.push(tensor.reshaped(wide).ok_or_else(String::new)?);
    }
    Tensor::stacked(&rows).ok_or_else(|| "items of different shapes cannot be stacked".to_owned())
}
