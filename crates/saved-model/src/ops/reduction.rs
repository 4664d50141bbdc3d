//! Many values become one.

use super::{Made, around, axis, from, integer, integers, made, not_for, shapes::transpose, values};
use crate::{
    graph::Attributes as _,
    ops::numbers::{Number, by_number},
    proto::NodeDef,
    tensor::{DType, Element, Shape, Tensor},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    let keep = node.flag("keep_dims");
    Some(match node.op.as_str() {
        "Sum" => by_number!(node, "T", T => from(move |[tensor, axes]| {
            reduce(tensor, &axes, keep, T::ZERO, <T as Number>::plus)
        })),
        "Prod" => by_number!(node, "T", T => from(move |[tensor, axes]| {
            reduce(tensor, &axes, keep, T::ONE, <T as Number>::times)
        })),
        "Mean" => mean(node, keep),
        "Max" => extreme(node, keep, true),
        "Min" => extreme(node, keep, false),
        "All" => Ok(from(move |[tensor, axes]| {
            reduce(tensor, &axes, keep, true, |left, right| left && right)
        })),
        "Any" => Ok(from(move |[tensor, axes]| {
            reduce(tensor, &axes, keep, false, |left, right| left || right)
        })),
        "ArgMax" => place(node, true),
        "ArgMin" => place(node, false),
        "Cumsum" => {
            let (exclusive, reverse) = (node.flag("exclusive"), node.flag("reverse"));
            by_number!(node, "T", T => from(move |[tensor, place]| {
                running::<T>(&tensor, integer(&place)?, exclusive, reverse)
            }))
        }
        _ => return None,
    })
}

/// Axes that go together at the end, and the shape that is left.
fn arranged(tensor: Tensor, axes: &Tensor, keep: bool) -> Result<(Tensor, usize, Shape), String> {
    let rank = tensor.rank();
    let mut gone = vec![false; rank];
    for place in integers(axes)? {
        gone[axis(place, rank)?] = true;
    }
    let kept = (0..rank).filter(|place| !gone[*place]);
    let order: Vec<usize> = kept.chain((0..rank).filter(|place| gone[*place])).collect();
    let mut left = Shape::new();
    let mut width = 1;
    for (place, size) in tensor.shape().iter().enumerate() {
        if gone[place] {
            width *= size;
            if keep {
                left.push(1);
            }
        } else {
            left.push(*size);
        }
    }
    Ok((transpose(tensor, &order)?, width, left))
}

fn reduce<T: Element + Copy>(
    tensor: Tensor,
    axes: &Tensor,
    keep: bool,
    start: T,
    combine: impl Fn(T, T) -> T,
) -> Result<Tensor, String> {
    let (tensor, width, shape) = arranged(tensor, axes, keep)?;
    let values = values::<T>(&tensor)?;
    let count = super::counted(&shape)?;
    let rows = (0..count).map(|row| &values[row * width..(row + 1) * width]);
    made(
        &shape,
        rows.map(|row| row.iter().fold(start, |sum, value| combine(sum, *value)))
            .collect(),
    )
}

fn mean(node: &NodeDef, keep: bool) -> Made {
    match node.dtype("T")? {
        DType::F32 => Ok(from(move |[tensor, axes]| {
            let (tensor, width, shape) = arranged(tensor, &axes, keep)?;
            let values = values::<f32>(&tensor)?;
            let count = super::counted(&shape)?;
            let rows = (0..count).map(|row| &values[row * width..(row + 1) * width]);
            // In double width: long rows of floats lose digits otherwise.
            let mean =
                |row: &[f32]| (row.iter().map(|value| f64::from(*value)).sum::<f64>() / width as f64) as f32;
            made(&shape, rows.map(mean).collect())
        })),
        DType::F64 => Ok(from(move |[tensor, axes]| {
            let (tensor, width, shape) = arranged(tensor, &axes, keep)?;
            let values = values::<f64>(&tensor)?;
            let count = super::counted(&shape)?;
            let rows = (0..count).map(|row| &values[row * width..(row + 1) * width]);
            made(
                &shape,
                rows.map(|row| row.iter().sum::<f64>() / width as f64).collect(),
            )
        })),
        other => Err(not_for(other)),
    }
}

fn extreme(node: &NodeDef, keep: bool, is_greatest: bool) -> Made {
    match node.dtype("T")? {
        DType::F32 if is_greatest => Ok(from(move |[tensor, axes]| {
            reduce(tensor, &axes, keep, f32::NEG_INFINITY, Number::greater)
        })),
        DType::F32 => Ok(from(move |[tensor, axes]| {
            reduce(tensor, &axes, keep, f32::INFINITY, Number::lesser)
        })),
        DType::F64 if is_greatest => Ok(from(move |[tensor, axes]| {
            reduce(tensor, &axes, keep, f64::NEG_INFINITY, Number::greater)
        })),
        DType::F64 => Ok(from(move |[tensor, axes]| {
            reduce(tensor, &axes, keep, f64::INFINITY, Number::lesser)
        })),
        DType::I32 if is_greatest => Ok(from(move |[tensor, axes]| {
            reduce(tensor, &axes, keep, i32::MIN, i32::max)
        })),
        DType::I32 => Ok(from(move |[tensor, axes]| {
            reduce(tensor, &axes, keep, i32::MAX, i32::min)
        })),
        DType::I64 if is_greatest => Ok(from(move |[tensor, axes]| {
            reduce(tensor, &axes, keep, i64::MIN, i64::max)
        })),
        DType::I64 => Ok(from(move |[tensor, axes]| {
            reduce(tensor, &axes, keep, i64::MAX, i64::min)
        })),
        other => Err(not_for(other)),
    }
}

/// Where the greatest or the least is, the first of equals.
fn place(node: &NodeDef, is_greatest: bool) -> Made {
    let output = match node.type_number("output_type") {
        0 => DType::I64,
        _ => node.dtype("output_type")?,
    };
    if !matches!(output, DType::I32 | DType::I64) {
        return Err(not_for(output));
    }
    by_number!(node, "T", T => from(move |[tensor, place]| {
        let place = axis(integer(&place)?, tensor.rank())?;
        let (outer, whole, inner) = around(tensor.shape(), place);
        if whole == 0 {
            return Err("there is none among none".to_owned());
        }
        let values = values::<T>(&tensor)?;
        let mut places = Vec::with_capacity(outer * inner);
        for row in 0..outer {
            for column in 0..inner {
                let at = |index: usize| values[(row * whole + index) * inner + column];
                let mut best = 0;
                for index in 1..whole {
                    if if is_greatest { at(index) > at(best) } else { at(index) < at(best) } {
                        best = index;
                    }
                }
                places.push(best as i64);
            }
        }
        let mut shape = Shape::from_slice(tensor.shape());
        shape.remove(place);
        match output {
            DType::I32 => made(&shape, places.iter().map(|place| *place as i32).collect()),
            _ => made(&shape, places),
        }
    }))
}

fn running<T: Number>(tensor: &Tensor, place: i64, exclusive: bool, reverse: bool) -> Result<Tensor, String> {
    let place = axis(place, tensor.rank())?;
    let (outer, whole, inner) = around(tensor.shape(), place);
    let from = values::<T>(tensor)?;
    let mut result = vec![T::ZERO; from.len()];
    for row in 0..outer {
        for column in 0..inner {
            let mut sum = T::ZERO;
            for step in 0..whole {
                let index = if reverse { whole - 1 - step } else { step };
                let at = (row * whole + index) * inner + column;
                let next = sum.plus(from[at]);
                result[at] = if exclusive { sum } else { next };
                sum = next;
            }
        }
    }
    made(tensor.shape(), result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(shape: &[usize]) -> Tensor {
        let count: usize = shape.iter().product();
        Tensor::new(shape, (0..count).map(|value| value as f32).collect::<Vec<_>>()).unwrap()
    }

    fn sum(shape: &[usize], axes: &[i32], keep: bool) -> Tensor {
        reduce(
            tensor(shape),
            &Tensor::list(axes.to_vec()),
            keep,
            0.0_f32,
            |left, right| left + right,
        )
        .unwrap()
    }

    #[test]
    fn any_axes_are_added_up() {
        assert_eq!(sum(&[2, 3], &[0], false), Tensor::list(vec![3.0_f32, 5.0, 7.0]));
        assert_eq!(sum(&[2, 3], &[-1], true).shape(), [2, 1]);
        assert_eq!(sum(&[2, 3], &[0, 1], false), Tensor::scalar(15.0_f32));
        assert_eq!(
            sum(&[2, 2, 2], &[0, 2], false),
            Tensor::list(vec![10.0_f32, 18.0])
        );
        assert_eq!(sum(&[2, 3], &[], false), tensor(&[2, 3]));
        assert_eq!(sum(&[2, 0], &[1], false), Tensor::list(vec![0.0_f32, 0.0]));
    }

    #[test]
    fn sums_run_in_either_direction() {
        let list = tensor(&[4]);
        let forward = running::<f32>(&list, 0, false, false).unwrap();
        assert_eq!(forward, Tensor::list(vec![0.0_f32, 1.0, 3.0, 6.0]));
        let backward = running::<f32>(&list, 0, true, true).unwrap();
        assert_eq!(backward, Tensor::list(vec![6.0_f32, 5.0, 3.0, 0.0]));
    }
}
