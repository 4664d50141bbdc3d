//! Ops that put tensors together along an axis, and take them apart.

use smallvec::SmallVec;

use super::{Made, around, axis, counted, from, from_all, integer, integers, made, size, to_several, values};
use crate::{
    graph::Attributes as _,
    plan::Outputs,
    proto::NodeDef,
    tensor::{Element, Shape, Tensor, with_buffer},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "Concat" => Ok(from_all(|mut inputs| {
            let place = integer(&inputs.remove(0))?;
            concat(&inputs, place)
        })),
        "ConcatV2" => Ok(from_all(|mut inputs| {
            let place = inputs.pop().ok_or("it has no inputs")?;
            concat(&inputs, integer(&place)?)
        })),
        "Split" => {
            let count = node.size("num_split").max(1);
            Ok(to_several(move |[place, tensor]| {
                let place = axis(integer(&place)?, tensor.rank())?;
                let whole = tensor.shape()[place];
                if whole % count != 0 {
                    return Err(format!("{whole} cannot be split into {count}"));
                }
                split(&tensor, place, &vec![whole / count; count])
            }))
        }
        "SplitV" => Ok(to_several(|[tensor, sizes, place]| {
            let place = axis(integer(&place)?, tensor.rank())?;
            let mut sizes = integers(&sizes)?;
            let whole = tensor.shape()[place] as i64;
            let known: i64 = sizes.iter().filter(|size| **size >= 0).sum();
            for size in sizes.iter_mut().filter(|size| **size == -1) {
                *size = whole - known;
            }
            let sizes = sizes.into_iter().map(size).collect::<Result<Vec<_>, _>>()?;
            if sizes.iter().sum::<usize>() as i64 != whole {
                return Err(format!("{whole} cannot be split into {sizes:?}"));
            }
            split(&tensor, place, &sizes)
        })),
        "Pack" => {
            let place = node.int("axis").unwrap_or_default();
            Ok(from_all(move |inputs| pack(&inputs, place)))
        }
        "Unpack" => {
            let place = node.int("axis").unwrap_or_default();
            Ok(to_several(move |[tensor]| unpack(&tensor, place)))
        }
        "Tile" => Ok(from(|[tensor, times]| tile(tensor, &integers(&times)?))),
        _ => return None,
    })
}

fn concat(tensors: &[Tensor], place: i64) -> Result<Tensor, String> {
    let first = tensors.first().ok_or("there is nothing to put together")?;
    if tensors.len() == 1 {
        return Ok(first.clone());
    }
    let place = axis(place, first.rank())?;
    for tensor in tensors {
        let fits = tensor.rank() == first.rank()
            && tensor.dtype() == first.dtype()
            && (0..first.rank()).all(|axis| axis == place || tensor.shape()[axis] == first.shape()[axis]);
        if !fits {
            return Err(format!(
                "{tensor:?} and {first:?} do not fit together along axis {place}"
            ));
        }
    }
    with_buffer!(first.data(), buffer => concat_values(buffer, tensors, place))
}

fn concat_values<T: Element>(_of_type: &[T], tensors: &[Tensor], place: usize) -> Result<Tensor, String> {
    let mut shape = Shape::from_slice(tensors[0].shape());
    shape[place] = tensors.iter().map(|tensor| tensor.shape()[place]).sum();
    let outer: usize = shape[..place].iter().product();
    let mut parts: SmallVec<[(&[T], usize); 8]> = SmallVec::new();
    for tensor in tensors {
        parts.push((values(tensor)?, tensor.shape()[place..].iter().product()));
    }
    let mut result = Vec::with_capacity(counted(&shape)?);
    for row in 0..outer {
        for (part, width) in &parts {
            result.extend_from_slice(&part[row * width..(row + 1) * width]);
        }
    }
    made(&shape, result)
}

fn split(tensor: &Tensor, place: usize, sizes: &[usize]) -> Result<Outputs, String> {
    let mut outputs = Outputs::new();
    let mut start = 0;
    for &size in sizes {
        outputs
            .push(with_buffer!(tensor.data(), buffer => part(buffer, tensor.shape(), place, start, size))?);
        start += size;
    }
    Ok(outputs)
}

/// What lies along an axis from a start on.
fn part<T: Element>(
    from: &[T],
    shape: &[usize],
    place: usize,
    start: usize,
    size: usize,
) -> Result<Tensor, String> {
    let (outer, whole, inner) = around(shape, place);
    let mut shape = Shape::from_slice(shape);
    shape[place] = size;
    let mut result = Vec::with_capacity(outer * size * inner);
    for row in 0..outer {
        let at = (row * whole + start) * inner;
        result.extend_from_slice(&from[at..at + size * inner]);
    }
    made(&shape, result)
}

fn pack(tensors: &[Tensor], place: i64) -> Result<Tensor, String> {
    let first = tensors.first().ok_or("there is nothing to put together")?;
    let place = axis(place, first.rank() + 1)?;
    let widened = tensors.iter().map(|tensor| {
        let mut shape = Shape::from_slice(tensor.shape());
        if place > shape.len() {
            return Err(format!("{tensor:?} does not fit {first:?}"));
        }
        shape.insert(place, 1);
        tensor.clone().reshaped(shape).ok_or_else(String::new)
    });
    concat(&widened.collect::<Result<Vec<_>, _>>()?, place as i64)
}

fn unpack(tensor: &Tensor, place: i64) -> Result<Outputs, String> {
    let place = axis(place, tensor.rank())?;
    let parts = split(tensor, place, &vec![1; tensor.shape()[place]])?;
    let narrowed = parts.into_iter().map(|part| {
        let mut shape = Shape::from_slice(part.shape());
        shape.remove(place);
        part.reshaped(shape).ok_or_else(String::new)
    });
    narrowed.collect()
}

fn tile(tensor: Tensor, times: &[i64]) -> Result<Tensor, String> {
    if times.len() != tensor.rank() {
        return Err(format!("{times:?} does not fit shape {:?}", tensor.shape()));
    }
    let times = times
        .iter()
        .map(|value| size(*value))
        .collect::<Result<Vec<_>, _>>()?;
    let shape: Option<Shape> = tensor
        .shape()
        .iter()
        .zip(&times)
        .map(|(size, times)| size.checked_mul(*times))
        .collect();
    counted(&shape.ok_or("it is too large")?)?;
    let mut tensor = tensor;
    for (place, &times) in times.iter().enumerate().rev() {
        tensor = match times {
            1 => tensor,
            _ => with_buffer!(tensor.data(), buffer => repeat(buffer, tensor.shape(), place, times))?,
        };
    }
    Ok(tensor)
}

fn repeat<T: Element>(from: &[T], shape: &[usize], place: usize, times: usize) -> Result<Tensor, String> {
    let (outer, whole, inner) = around(shape, place);
    let width = whole * inner;
    let mut shape = Shape::from_slice(shape);
    shape[place] *= times;
    let mut result = Vec::with_capacity(from.len() * times);
    for row in 0..outer {
        for _ in 0..times {
            result.extend_from_slice(&from[row * width..(row + 1) * width]);
        }
    }
    made(&shape, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(shape: &[usize]) -> Tensor {
        let count: usize = shape.iter().product();
        Tensor::new(shape, (0..count as i32).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn what_is_put_together_can_be_split() {
        let (left, right) = (tensor(&[2, 1]), tensor(&[2, 2]));
        let both = concat(&[left.clone(), right.clone()], -1).unwrap();
        assert_eq!(both.values::<i32>(), Some([0, 0, 1, 1, 2, 3].as_slice()));
        assert_eq!(split(&both, 1, &[1, 2]).unwrap().as_slice(), [left, right]);
    }

    #[test]
    fn patterns_repeat_along_every_axis() {
        let tiled = tile(tensor(&[1, 2]), &[2, 2]).unwrap();
        assert_eq!(
            tiled,
            Tensor::new([2_usize, 4].as_slice(), vec![0, 1, 0, 1, 0, 1, 0, 1]).unwrap()
        );
    }
}
