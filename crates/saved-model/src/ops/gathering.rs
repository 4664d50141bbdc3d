//! Values picked by where they are.

use super::{Made, axis, counted, from, integer, integers, made, size, values};
use crate::{
    graph::Attributes as _,
    ops::numbers::{Number, by_number},
    plan::Kernel,
    proto::NodeDef,
    tensor::{Element, Shape, Tensor, with_buffer},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "Gather" => Ok(from(|[tensor, indices]| gather(&tensor, &indices, 0, 0))),
        "GatherV2" => {
            let batch = node.int("batch_dims").unwrap_or_default();
            Ok(from(move |[tensor, indices, place]| {
                let batch = if batch < 0 {
                    batch + indices.rank() as i64
                } else {
                    batch
                };
                gather(
                    &tensor,
                    &indices,
                    axis(integer(&place)?, tensor.rank())?,
                    size(batch)?,
                )
            }))
        }
        "GatherNd" => Ok(from(
            |[tensor, places]| with_buffer!(tensor.data(), buffer => gather_nd(buffer, tensor.shape(), &places)),
        )),
        "ScatterNd" => by_number!(node, "T", T => from(|[places, updates, sizes]| {
            let shape = integers(&sizes)?.into_iter().map(size).collect::<Result<Vec<_>, _>>()?;
            let mut result = vec![T::ZERO; counted(&shape)?];
            scatter(&mut result, &shape, &places, values::<T>(&updates)?, T::plus)?;
            made(&shape, result)
        })),
        "TensorScatterUpdate" => by_number!(node, "T", T => from(|[tensor, places, updates]| {
            let mut result = values::<T>(&tensor)?.to_vec();
            scatter(&mut result, tensor.shape(), &places, values::<T>(&updates)?, |_, new| new)?;
            made(tensor.shape(), result)
        })),
        "Where" => Ok(from(
            |[tensor]| with_buffer!(tensor.data(), buffer => places(buffer, tensor.shape())),
        )),
        _ => return None,
    })
}

/// Rows of a variable, by their numbers or by places in several dimensions.
pub(crate) fn resource_gather(node: &NodeDef) -> Result<Kernel, String> {
    if node.op == "ResourceGatherNd" {
        return Ok(from(
            |[tensor, places]| with_buffer!(tensor.data(), buffer => gather_nd(buffer, tensor.shape(), &places)),
        ));
    }
    let batch = size(node.int("batch_dims").unwrap_or_default())?;
    Ok(from(move |[tensor, indices]| {
        gather(&tensor, &indices, batch, batch)
    }))
}

/// Places along one axis, in a given order.
pub(super) fn rows(tensor: &Tensor, place: usize, order: &[usize]) -> Result<Tensor, String> {
    with_buffer!(tensor.data(), buffer => pick(buffer, tensor.shape(), place, 0, order, &[order.len()]))
}

fn gather(tensor: &Tensor, indices: &Tensor, place: usize, batch: usize) -> Result<Tensor, String> {
    let whole = *tensor.shape().get(place).ok_or("a single value has no rows")?;
    let fits =
        batch <= place && batch <= indices.rank() && tensor.shape()[..batch] == indices.shape()[..batch];
    if !fits {
        return Err(format!(
            "indices {indices:?} do not fit {tensor:?} in {batch} dimensions"
        ));
    }
    let row = |index: i64| {
        usize::try_from(index)
            .ok()
            .filter(|index| *index < whole)
            .ok_or_else(|| format!("the index {index} is not in [0, {whole})"))
    };
    let rows = match indices.values::<i32>() {
        Some(values) => values
            .iter()
            .map(|index| row(i64::from(*index)))
            .collect::<Result<Vec<_>, _>>()?,
        None => values::<i64>(indices)?
            .iter()
            .map(|index| row(*index))
            .collect::<Result<Vec<_>, _>>()?,
    };
    with_buffer!(tensor.data(), buffer => pick(buffer, tensor.shape(), place, batch, &rows, indices.shape()))
}

fn pick<T: Element>(
    from: &[T],
    shape: &[usize],
    place: usize,
    batch: usize,
    rows: &[usize],
    indices: &[usize],
) -> Result<Tensor, String> {
    let mut sizes = Shape::from_slice(&shape[..place]);
    sizes.extend_from_slice(&indices[batch..]);
    sizes.extend_from_slice(&shape[place + 1..]);
    let mut result = Vec::with_capacity(counted(&sizes)?);
    let batches: usize = shape[..batch].iter().product();
    let outer: usize = shape[batch..place].iter().product();
    let inner: usize = shape[place + 1..].iter().product();
    let whole = shape[place];
    let count = rows.len() / batches.max(1);
    for group in 0..batches {
        let rows = &rows[group * count..(group + 1) * count];
        for block in 0..outer {
            let start = (group * outer + block) * whole;
            for row in rows {
                let at = (start + row) * inner;
                result.extend_from_slice(&from[at..at + inner]);
            }
        }
    }
    made(&sizes, result)
}

/// Places in the first dimensions of a shape, as offsets of what is there and how wide that is.
fn offsets(shape: &[usize], places: &Tensor) -> Result<(Vec<usize>, usize), String> {
    let depth = *places.shape().last().ok_or("a place has coordinates")?;
    if depth > shape.len() {
        return Err(format!(
            "places of {depth} coordinates are not in shape {shape:?}"
        ));
    }
    let (outer, inner) = shape.split_at(depth);
    let width: usize = inner.iter().product();
    let count = places.shape()[..places.rank() - 1].iter().product();
    let coordinates = integers(places)?;
    let mut offsets = Vec::with_capacity(count);
    for index in 0..count {
        let mut offset = 0;
        for (coordinate, size) in coordinates[index * depth..(index + 1) * depth].iter().zip(outer) {
            let coordinate = usize::try_from(*coordinate)
                .ok()
                .filter(|coordinate| coordinate < size);
            offset =
                offset * size + coordinate.ok_or_else(|| format!("a place is not in shape {shape:?}"))?;
        }
        offsets.push(offset * width);
    }
    Ok((offsets, width))
}

fn gather_nd<T: Element>(from: &[T], shape: &[usize], places: &Tensor) -> Result<Tensor, String> {
    let (offsets, width) = offsets(shape, places)?;
    let depth = places.shape().last().copied().unwrap_or_default();
    let mut sizes = Shape::from_slice(&places.shape()[..places.rank() - 1]);
    sizes.extend_from_slice(&shape[depth..]);
    let mut result = Vec::with_capacity(counted(&sizes)?);
    for at in offsets {
        result.extend_from_slice(&from[at..at + width]);
    }
    made(&sizes, result)
}

fn scatter<T: Number>(
    into: &mut [T],
    shape: &[usize],
    places: &Tensor,
    updates: &[T],
    combine: impl Fn(T, T) -> T,
) -> Result<(), String> {
    let (offsets, width) = offsets(shape, places)?;
    if updates.len() != offsets.len() * width {
        return Err(format!(
            "{} values do not fit {} places",
            updates.len(),
            offsets.len()
        ));
    }
    for (at, new) in offsets.into_iter().zip(updates.chunks(width.max(1))) {
        for (old, new) in into[at..at + width].iter_mut().zip(new) {
            *old = combine(*old, *new);
        }
    }
    Ok(())
}

/// Where values are that are not zero.
fn places<T: Element>(from: &[T], shape: &[usize]) -> Result<Tensor, String> {
    let zero = T::default();
    let mut result = Vec::new();
    let mut count = 0;
    for (at, _) in from.iter().enumerate().filter(|(_, value)| **value != zero) {
        let start = result.len();
        let mut rest = at;
        for size in shape.iter().rev() {
            result.push((rest % size) as i64);
            rest /= size;
        }
        result[start..].reverse();
        count += 1;
    }
    made(&[count, shape.len()], result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(shape: &[usize]) -> Tensor {
        let count: usize = shape.iter().product();
        Tensor::new(shape, (0..count as i32).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn rows_are_picked_along_any_axis() {
        let table = tensor(&[3, 2]);
        let indices = Tensor::new([1_usize, 2].as_slice(), vec![2_i64, 0]).unwrap();
        let picked = gather(&table, &indices, 0, 0).unwrap();
        assert_eq!(
            picked,
            Tensor::new([1_usize, 2, 2].as_slice(), vec![4, 5, 0, 1]).unwrap()
        );
        let picked = gather(&table, &Tensor::list(vec![1_i32]), 1, 0).unwrap();
        assert_eq!(
            picked,
            Tensor::new([3_usize, 1].as_slice(), vec![1, 3, 5]).unwrap()
        );
        let error = gather(&table, &Tensor::scalar(3_i32), 0, 0).unwrap_err();
        assert_eq!(error, "the index 3 is not in [0, 3)");
    }

    #[test]
    fn each_of_a_batch_has_indices_of_its_own() {
        let table = tensor(&[2, 3]);
        let indices = Tensor::new([2_usize, 2].as_slice(), vec![0_i32, 2, 1, 1]).unwrap();
        let picked = gather(&table, &indices, 1, 1).unwrap();
        assert_eq!(
            picked,
            Tensor::new([2_usize, 2].as_slice(), vec![0, 2, 4, 4]).unwrap()
        );
    }

    #[test]
    fn places_are_found_and_followed() {
        let tensor = Tensor::new([2_usize, 2].as_slice(), vec![0, 5, 6, 0]).unwrap();
        let found = places(tensor.values::<i32>().unwrap(), tensor.shape()).unwrap();
        assert_eq!(
            found,
            Tensor::new([2_usize, 2].as_slice(), vec![0_i64, 1, 1, 0]).unwrap()
        );
        let picked = gather_nd(tensor.values::<i32>().unwrap(), tensor.shape(), &found).unwrap();
        assert_eq!(picked, Tensor::list(vec![5, 6]));
    }
}
