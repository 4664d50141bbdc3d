//! Ops about the order of values and how often they occur.

use bytes::Bytes;

use super::{
    Made, around, axis, counted, from, integer, integer_list, integers, made, not_for,
    numbers::{Number, by_number},
    size, to_several, values,
};
use crate::{
    graph::Attributes as _,
    plan::{Inputs, Outputs},
    proto::NodeDef,
    tensor::{DType, Element, Shape, Tensor, with_buffer},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "ReverseV2" => Ok(from(|[tensor, axes]| {
            let mut tensor = tensor;
            for place in integers(&axes)? {
                let place = axis(place, tensor.rank())?;
                tensor = with_buffer!(tensor.data(), buffer => reverse(buffer, tensor.shape(), place))?;
            }
            Ok(tensor)
        })),
        "InvertPermutation" => Ok(from(|[order]| {
            let order_values = integers(&order)?;
            let mut inverse = vec![0; order_values.len()];
            for (place, value) in order_values.iter().enumerate() {
                *inverse.get_mut(size(*value)?).ok_or("this is no permutation")? = place as i64;
            }
            integer_list(order.dtype(), inverse.into_iter())
        })),
        "Bucketize" => {
            let boundaries = node.floats("boundaries");
            by_number!(node, "T", T => from({
                let boundaries = boundaries.clone();
                move |[tensor]| {
                    let place = |value: &T| {
                        boundaries.partition_point(|boundary| (*value).wide() >= f64::from(*boundary)) as i32
                    };
                    made(tensor.shape(), values::<T>(&tensor)?.iter().map(place).collect())
                }
            }))
        }
        "DenseBincount" | "Bincount" => bincount(node),
        "TopKV2" => {
            let has_index_type = node.type_number("index_type");
            if has_index_type == DType::I64.number() {
                return Some(Err(not_for(DType::I64)));
            }
            by_number!(node, "T", T => to_several(|[tensor, count]| top::<T>(&tensor, size(integer(&count)?)?)))
        }
        "Unique" | "UniqueV2" => {
            let indices = match node.type_number("out_idx") {
                0 => Ok(DType::I32),
                _ => node.dtype("out_idx"),
            };
            indices.map(|indices| -> crate::plan::Kernel {
                Box::new(move |inputs: Inputs| {
                    let tensor = inputs.first().ok_or("it has no input")?;
                    if tensor.rank() != 1 {
                        return Err("only lists have unique values here".to_owned());
                    }
                    unique(tensor, indices)
                })
            })
        }
        _ => return None,
    })
}

fn reverse<T: Element>(from: &[T], shape: &[usize], place: usize) -> Result<Tensor, String> {
    let (outer, whole, inner) = around(shape, place);
    let mut result = Vec::with_capacity(from.len());
    for row in 0..outer {
        for index in (0..whole).rev() {
            let at = (row * whole + index) * inner;
            result.extend_from_slice(&from[at..at + inner]);
        }
    }
    made(shape, result)
}

/// How often each number occurs, in rows or in all.
fn bincount(node: &NodeDef) -> Made {
    let is_binary = node.flag("binary_output");
    Ok(from(move |[tensor, bins, weights]| {
        let bins = size(integer(&bins)?)?;
        let indices = integers(&tensor)?;
        let (rows, width) = match tensor.shape() {
            [width] => (1, *width),
            [rows, width] => (*rows, *width),
            _ => return Err("rows of numbers are counted".to_owned()),
        };
        let shape: Shape = if tensor.rank() == 2 {
            Shape::from_slice(&[rows, bins])
        } else {
            Shape::from_slice(&[bins])
        };
        let count = counted(&shape)?;
        fn total<T: Number>(
            weights: &Tensor,
            indices: &[i64],
            width: usize,
            bins: usize,
            count: usize,
            is_binary: bool,
        ) -> Result<Vec<T>, String> {
            let weights = values::<T>(weights)?;
            let mut result = vec![T::ZERO; count];
            for (at, index) in indices.iter().enumerate() {
                let index = size(*index)?;
                if index < bins {
                    let place = &mut result[at / width.max(1) * bins + index];
                    let weight = weights.get(at).copied().unwrap_or(T::ONE);
                    *place = if is_binary { T::ONE } else { place.plus(weight) };
                }
            }
            Ok(result)
        }
        match weights.dtype() {
            DType::F32 => made(
                &shape,
                total::<f32>(&weights, &indices, width, bins, count, is_binary)?,
            ),
            DType::I32 => made(
                &shape,
                total::<i32>(&weights, &indices, width, bins, count, is_binary)?,
            ),
            DType::I64 => made(
                &shape,
                total::<i64>(&weights, &indices, width, bins, count, is_binary)?,
            ),
            other => Err(not_for(other)),
        }
    }))
}

/// The largest of each row, the first of equals first.
fn top<T: Number>(tensor: &Tensor, count: usize) -> Result<Outputs, String> {
    let (&width, outer) = tensor.shape().split_last().ok_or("it needs rows")?;
    if count > width {
        return Err(format!("there are no {count} of {width}"));
    }
    let mut shape = Shape::from_slice(outer);
    shape.push(count);
    let (mut largest, mut places) = (Vec::new(), Vec::new());
    for row in values::<T>(tensor)?.chunks(width.max(1)) {
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|left, right| {
            let order = row[*right].partial_cmp(&row[*left]);
            order.unwrap_or(std::cmp::Ordering::Equal).then(left.cmp(right))
        });
        for &place in order.iter().take(count) {
            largest.push(row[place]);
            places.push(place as i32);
        }
    }
    Ok(smallvec::smallvec![made(&shape, largest)?, made(&shape, places)?])
}

fn unique(tensor: &Tensor, indices: DType) -> Result<Outputs, String> {
    fn first_places<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) -> (Vec<usize>, Vec<i64>) {
        let mut seen = std::collections::HashMap::new();
        let (mut firsts, mut places) = (Vec::new(), Vec::new());
        for (at, key) in keys.enumerate() {
            let next = firsts.len();
            let place = *seen.entry(key).or_insert(next);
            if place == next {
                firsts.push(at);
            }
            places.push(place as i64);
        }
        (firsts, places)
    }
    fn pick<T: Element>(from: &[T], firsts: &[usize]) -> Tensor {
        Tensor::list(firsts.iter().map(|at| from[*at].clone()).collect())
    }
    let (firsts, places) = match tensor.dtype() {
        DType::I64 => first_places(values::<i64>(tensor)?.iter()),
        DType::I32 => first_places(values::<i32>(tensor)?.iter()),
        DType::Text => first_places(values::<Bytes>(tensor)?.iter()),
        DType::F32 => first_places(values::<f32>(tensor)?.iter().map(|value| value.to_bits())),
        other => return Err(not_for(other)),
    };
    let kept = with_buffer!(tensor.data(), buffer => pick(buffer, &firsts));
    Ok(smallvec::smallvec![
        kept,
        integer_list(indices, places.into_iter())?
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_are_told_by_where_they_were_first() {
        let list = Tensor::list(["a", "b", "a"].map(Bytes::from_static_str).to_vec());
        let outputs = unique(&list, DType::I32).unwrap();
        assert_eq!(outputs[0].len(), 2);
        assert_eq!(outputs[1], Tensor::list(vec![0, 1, 0]));
    }

    trait FromStaticStr {
        fn from_static_str(text: &'static str) -> Self;
    }

    impl FromStaticStr for Bytes {
        fn from_static_str(text: &'static str) -> Self {
            Self::from_static(text.as_bytes())
        }
    }
}
