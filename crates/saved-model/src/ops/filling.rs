//! Ops that make tensors of few values: one for all, series, places.

use super::{
    Made, around, axis,
    casting::cast_to,
    counted, from, integer, integers, made,
    numbers::{Number, by_number},
    scalar, size, values,
};
use crate::{
    graph::Attributes as _,
    proto::NodeDef,
    tensor::{DType, Element, Shape, Tensor, with_buffer},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "Fill" => Ok(from(|[sizes, value]| {
            let shape = integers(&sizes)?
                .into_iter()
                .map(size)
                .collect::<Result<Vec<_>, _>>()?;
            with_buffer!(value.data(), buffer => fill(buffer, &shape))
        })),
        "ZerosLike" => Ok(from(
            |[tensor]| with_buffer!(tensor.data(), buffer => defaults(buffer, tensor.shape())),
        )),
        "OnesLike" => {
            by_number!(node, "T", T => from(|[tensor]| made(tensor.shape(), vec![T::ONE; tensor.len()])))
        }
        "Range" => by_number!(node, "Tidx", T => from(|[start, limit, delta]| {
            range::<T>(scalar(&start)?, scalar(&limit)?, scalar(&delta)?)
        })),
        "LinSpace" => Ok(from(|[start, stop, count]| {
            let (start, stop) = (scalar::<f32>(&start)?, scalar::<f32>(&stop)?);
            let count = size(integer(&count)?)?;
            counted(&[count])?;
            let step = (stop - start) / count.saturating_sub(1).max(1) as f32;
            Ok(Tensor::list(
                (0..count).map(|index| start + step * index as f32).collect(),
            ))
        })),
        "OneHot" => {
            let place = node.int("axis").unwrap_or(-1);
            Ok(from(
                move |[indices, depth, on, off]| with_buffer!(on.data(), buffer => one_hot(buffer, &indices, &depth, &off, place)),
            ))
        }
        _ => return None,
    })
}

fn fill<T: Element>(value: &[T], shape: &[usize]) -> Result<Tensor, String> {
    match value {
        [value] => made(shape, vec![value.clone(); counted(shape)?]),
        _ => Err("one value fills a shape".to_owned()),
    }
}

fn defaults<T: Element>(_of_type: &[T], shape: &[usize]) -> Result<Tensor, String> {
    made(shape, vec![T::default(); counted(shape)?])
}

fn range<T: Number>(start: T, limit: T, delta: T) -> Result<Tensor, String> {
    if delta == T::ZERO {
        return Err("a range needs a step".to_owned());
    }
    let mut result = Vec::new();
    let mut value = start;
    while if delta > T::ZERO {
        value < limit
    } else {
        value > limit
    } {
        result.push(value);
        if result.len() > crate::tensor::MOST_VALUES {
            return Err("the range is too large".to_owned());
        }
        let next = value.plus(delta);
        // At the end of what a number can be it goes no further.
        if (next > value) != (delta > T::ZERO) {
            break;
        }
        value = next;
    }
    Ok(Tensor::list(result))
}

fn one_hot<T: Element>(
    on: &[T],
    indices: &Tensor,
    depth: &Tensor,
    off: &Tensor,
    place: i64,
) -> Result<Tensor, String> {
    let [on] = on else {
        return Err("one value is wanted".to_owned());
    };
    let off: T = scalar(off)?;
    let depth = size(integer(depth)?)?;
    let place = axis(place, indices.rank() + 1)?;
    let mut shape = Shape::from_slice(indices.shape());
    shape.insert(place, depth);
    let (outer, _, inner) = around(&shape, place);
    let mut result = vec![off; counted(&shape)?];
    let wide = cast_to(indices.clone(), DType::I64)?;
    let indices = values::<i64>(&wide)?;
    for row in 0..outer {
        for column in 0..inner {
            let index = indices[row * inner + column];
            if let Ok(index) = usize::try_from(index)
                && index < depth
            {
                result[(row * depth + index) * inner + column] = on.clone();
            }
        }
    }
    made(&shape, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_before_its_limit() {
        assert_eq!(range(1_i32, 6, 2).unwrap(), Tensor::list(vec![1, 3, 5]));
        assert_eq!(range(3_i32, 0, -1).unwrap(), Tensor::list(vec![3, 2, 1]));
        assert_eq!(range(3_i32, 0, 1).unwrap().len(), 0);
        assert!(range(0_i64, 1, 0).is_err());
    }
}
