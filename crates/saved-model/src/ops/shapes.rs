//! Ops that tell and change shapes: sizes, axes and their order.

use super::{
    Made, axis,
    broadcast::{shape_of, stretched},
    counted, from, integer, integer_list, integers, made, size,
};
use crate::{
    graph::Attributes as _,
    plan::Inputs,
    proto::{NodeDef, attr_value::Value},
    tensor::{DType, Element, Shape, Tensor, with_buffer},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "Shape" => shape_kernel(node),
        "ShapeN" => index_type(node).map(|dtype| -> crate::plan::Kernel {
            Box::new(move |inputs: Inputs| inputs.iter().map(|tensor| shape(tensor, dtype)).collect())
        }),
        "Size" => index_type(node).map(|dtype| {
            from(move |[tensor]| {
                integer_list(dtype, std::iter::once(tensor.len() as i64))?
                    .reshaped(Shape::new())
                    .ok_or_else(String::new)
            })
        }),
        "Rank" => Ok(from(|[tensor]| Ok(Tensor::scalar(tensor.rank() as i32)))),
        "Reshape" => Ok(from(|[tensor, sizes]| reshape(tensor, &integers(&sizes)?))),
        "ExpandDims" => Ok(from(|[tensor, place]| {
            let place = axis(integer(&place)?, tensor.rank() + 1)?;
            let mut shape = Shape::from_slice(tensor.shape());
            shape.insert(place, 1);
            tensor.reshaped(shape).ok_or_else(String::new)
        })),
        "Squeeze" => {
            let axes = match node.ints("squeeze_dims") {
                axes if axes.is_empty() => node.ints("axis"),
                axes => axes,
            };
            Ok(from(move |[tensor]| squeeze(tensor, &axes)))
        }
        "EnsureShape" => ensure_shape(node),
        "Transpose" => Ok(from(|[tensor, order]| {
            let rank = tensor.rank();
            let order = integers(&order)?.into_iter().map(|place| axis(place, rank));
            transpose(tensor, &order.collect::<Result<Vec<_>, _>>()?)
        })),
        "BroadcastTo" => Ok(from(|[tensor, sizes]| {
            let shape = integers(&sizes)?
                .into_iter()
                .map(size)
                .collect::<Result<Vec<_>, _>>()?;
            with_buffer!(tensor.data(), buffer => stretch(buffer, &tensor, &shape))
        })),
        "BroadcastArgs" => Ok(from(|[left, right]| {
            let sizes = |tensor: &Tensor| {
                integers(tensor)?
                    .into_iter()
                    .map(size)
                    .collect::<Result<Vec<_>, _>>()
            };
            let shape = shape_of(&sizes(&left)?, &sizes(&right)?)?;
            integer_list(left.dtype(), shape.iter().map(|size| *size as i64))
        })),
        _ => return None,
    })
}

fn index_type(node: &NodeDef) -> Result<DType, String> {
    match node.type_number("out_type") {
        0 => Ok(DType::I32),
        _ => node.dtype("out_type"),
    }
}

fn shape_kernel(node: &NodeDef) -> Made {
    let dtype = index_type(node)?;
    Ok(from(move |[tensor]| shape(&tensor, dtype)))
}

fn shape(tensor: &Tensor, dtype: DType) -> Result<Tensor, String> {
    integer_list(dtype, tensor.shape().iter().map(|size| *size as i64))
}

pub(super) fn reshape(tensor: Tensor, sizes: &[i64]) -> Result<Tensor, String> {
    let known = sizes.iter().filter(|size| **size != -1);
    let known = known.map(|value| size(*value)).collect::<Result<Vec<_>, _>>()?;
    let product = counted(&known)?;
    let say = |tensor: &Tensor| format!("shape {:?} does not become {sizes:?}", tensor.shape());
    let open = sizes.len() - known.len();
    let rest = match open {
        0 => 0,
        1 if product > 0 && tensor.len().is_multiple_of(product) => tensor.len() / product,
        _ => return Err(say(&tensor)),
    };
    let shape: Shape = sizes
        .iter()
        .map(|size| usize::try_from(*size).unwrap_or(rest))
        .collect();
    let message = say(&tensor);
    tensor.reshaped(shape).ok_or(message)
}

fn squeeze(tensor: Tensor, axes: &[i64]) -> Result<Tensor, String> {
    let rank = tensor.rank();
    let axes = axes
        .iter()
        .map(|place| axis(*place, rank))
        .collect::<Result<Vec<_>, _>>()?;
    let mut shape = Shape::new();
    for (place, &size) in tensor.shape().iter().enumerate() {
        let is_named = axes.contains(&place);
        if is_named && size != 1 {
            return Err(format!("axis {place} of shape {:?} is not 1", tensor.shape()));
        }
        if !(is_named || axes.is_empty() && size == 1) {
            shape.push(size);
        }
    }
    tensor.reshaped(shape).ok_or_else(String::new)
}

fn ensure_shape(node: &NodeDef) -> Made {
    let wanted = match node.value("shape") {
        Some(Value::Shape(shape)) if !shape.unknown_rank => {
            Some(shape.dim.iter().map(|dim| dim.size).collect::<Vec<i64>>())
        }
        _ => None,
    };
    Ok(from(move |[tensor]| {
        if let Some(wanted) = &wanted {
            let fits = wanted.len() == tensor.rank()
                && wanted
                    .iter()
                    .zip(tensor.shape())
                    .all(|(wanted, size)| *wanted < 0 || *wanted == *size as i64);
            if !fits {
                return Err(format!("shape {:?} is not {wanted:?}", tensor.shape()));
            }
        }
        Ok(tensor)
    }))
}

/// Axes in another order.
pub(super) fn transpose(tensor: Tensor, order: &[usize]) -> Result<Tensor, String> {
    let rank = tensor.rank();
    let mut seen = vec![false; rank];
    for &place in order {
        *seen.get_mut(place).ok_or("this is no order of the axes")? = true;
    }
    if order.len() != rank || seen.contains(&false) {
        return Err("this is no order of the axes".to_owned());
    }
    // Axes of one value may be anywhere.
    let moving = order.iter().filter(|place| tensor.shape()[**place] != 1);
    if moving.is_sorted() {
        let shape: Shape = order.iter().map(|place| tensor.shape()[*place]).collect();
        return tensor.reshaped(shape).ok_or_else(String::new);
    }
    with_buffer!(tensor.data(), buffer => reorder(buffer, tensor.shape(), order))
}

fn reorder<T: Element>(from: &[T], shape: &[usize], order: &[usize]) -> Result<Tensor, String> {
    let mut strides = vec![1; shape.len()];
    for place in (0..shape.len().saturating_sub(1)).rev() {
        strides[place] = strides[place + 1] * shape[place + 1];
    }
    let sizes: Shape = order.iter().map(|place| shape[*place]).collect();
    let steps: Shape = order.iter().map(|place| strides[*place]).collect();
    let mut result = Vec::with_capacity(from.len());
    let Some((&width, outer)) = sizes.split_last() else {
        return made(&sizes, from.to_vec());
    };
    let step = steps[outer.len()];
    if from.is_empty() {
        return made(&sizes, result);
    }
    let mut place = vec![0; outer.len()];
    let mut at = 0;
    'all: loop {
        if step == 1 {
            result.extend_from_slice(&from[at..at + width]);
        } else {
            result.extend((0..width).map(|index| from[at + index * step].clone()));
        }
        for axis in (0..outer.len()).rev() {
            place[axis] += 1;
            at += steps[axis];
            if place[axis] < outer[axis] {
                continue 'all;
            }
            at -= steps[axis] * outer[axis];
            place[axis] = 0;
        }
        break;
    }
    made(&sizes, result)
}

fn stretch<T: Element>(_of_type: &[T], tensor: &Tensor, shape: &[usize]) -> Result<Tensor, String> {
    made(shape, stretched::<T>(tensor, shape)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(shape: &[usize]) -> Tensor {
        let count: usize = shape.iter().product();
        Tensor::new(shape, (0..count as i32).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn axes_change_places() {
        let turned = transpose(tensor(&[2, 3]), &[1, 0]).unwrap();
        assert_eq!(
            turned,
            Tensor::new([3_usize, 2].as_slice(), vec![0, 3, 1, 4, 2, 5]).unwrap()
        );
        let turned = transpose(tensor(&[2, 2, 2]), &[2, 0, 1]).unwrap();
        assert_eq!(turned.values::<i32>(), Some([0, 2, 4, 6, 1, 3, 5, 7].as_slice()));
        assert_eq!(
            transpose(tensor(&[1, 4, 1]), &[1, 2, 0]).unwrap().shape(),
            [4, 1, 1]
        );
        assert!(transpose(tensor(&[2, 3]), &[0, 0]).is_err());
    }

    #[test]
    fn one_size_may_be_left_open() {
        assert_eq!(reshape(tensor(&[2, 6]), &[3, -1]).unwrap().shape(), [3, 4]);
        assert_eq!(reshape(tensor(&[0, 6]), &[-1, 6]).unwrap().shape(), [0, 6]);
        assert!(reshape(tensor(&[2, 6]), &[5, -1]).is_err());
        assert!(reshape(tensor(&[2, 6]), &[-1, -1]).is_err());
    }
}
