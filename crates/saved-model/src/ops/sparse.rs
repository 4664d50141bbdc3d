//! Sparse tensors: places, values and a shape, in three tensors; and sums over segments of rows.

use super::{
    Made, from, from_all, integer, integers, made, not_for,
    numbers::{Number, by_number},
    scalar, size, to_several, values,
};
use crate::{
    graph::Attributes as _,
    plan::Outputs,
    proto::NodeDef,
    tensor::{DType, Element, Shape, Tensor, with_buffer},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "SparseReshape" => Ok(to_several(|[places, shape, wanted]| {
            reshape(&places, &integers(&shape)?, &integers(&wanted)?)
        })),
        "SparseReorder" => Ok(to_several(
            |[places, found, shape]| with_buffer!(found.data(), buffer => reorder(buffer, &places, &integers(&shape)?)),
        )),
        "SparseFillEmptyRows" => Ok(to_several(
            |[places, found, shape, default]| with_buffer!(found.data(), buffer => fill_empty_rows(buffer, &places, &integers(&shape)?, &default)),
        )),
        "SparseSegmentSum" | "SparseSegmentSumWithNumSegments" => sparse_segments(node, Combine::Sum),
        "SparseSegmentMean" | "SparseSegmentMeanWithNumSegments" => sparse_segments(node, Combine::Mean),
        "SparseSegmentSqrtN" | "SparseSegmentSqrtNWithNumSegments" => sparse_segments(node, Combine::SqrtN),
        "SegmentSum" => by_number!(node, "T", T => from(|[rows, segments]| {
            let segments = integers(&segments)?;
            let count = segments.last().map_or(Ok(0), |last| size(last + 1))?;
            segment_sum::<T>(&rows, &segments, count)
        })),
        "UnsortedSegmentSum" => by_number!(node, "T", T => from(|[rows, segments, count]| {
            segment_sum::<T>(&rows, &integers(&segments)?, size(integer(&count)?)?)
        })),
        "SparseToDense" => Ok(from(|[places, shape, found, default]| {
            let shape = integers(&shape)?
                .into_iter()
                .map(size)
                .collect::<Result<Vec<_>, _>>()?;
            with_buffer!(found.data(), buffer => to_dense(buffer, &places, &shape, &default))
        })),
        "SparseTensorDenseMatMul" => {
            let (turned, other) = (node.flag("adjoint_a"), node.flag("adjoint_b"));
            match node.dtype("T") {
                Ok(DType::F32) => Ok(from(move |[places, found, shape, dense]| {
                    times_dense(&places, &found, &shape, &dense, turned, other)
                })),
                Ok(dtype) => Err(not_for(dtype)),
                Err(what) => Err(what),
            }
        }
        _ => return None,
    })
}

/// A list of places, each with so many coordinates.
fn listed(places: &Tensor) -> Result<(&[i64], usize), String> {
    match places.shape() {
        &[_, rank] => Ok((values::<i64>(places)?, rank)),
        shape => Err(format!("places are a matrix, not of shape {shape:?}")),
    }
}

fn reshape(places: &Tensor, shape: &[i64], wanted: &[i64]) -> Result<Outputs, String> {
    let (coordinates, rank) = listed(places)?;
    let total: i64 = shape.iter().product();
    let known: i64 = wanted.iter().filter(|size| **size != -1).product();
    let new: Vec<i64> = wanted
        .iter()
        .map(|size| if *size == -1 { total / known.max(1) } else { *size })
        .collect();
    if new.iter().product::<i64>() != total || rank != shape.len() {
        return Err(format!("a sparse shape {shape:?} does not become {wanted:?}"));
    }
    let count = places.shape()[0];
    let mut result = vec![0; count * new.len()];
    for (place, result) in result.chunks_mut(new.len().max(1)).enumerate().take(count) {
        let own = &coordinates[place * rank..(place + 1) * rank];
        let mut flat = own
            .iter()
            .zip(shape)
            .fold(0, |flat, (coordinate, size)| flat * size + coordinate);
        for (coordinate, size) in result.iter_mut().zip(&new).rev() {
            *coordinate = flat % size.max(&1);
            flat /= size.max(&1);
        }
    }
    Ok(smallvec::smallvec![
        made(&[count, new.len()], result)?,
        Tensor::list(new)
    ])
}

fn reorder<T: Element>(found: &[T], places: &Tensor, _shape: &[i64]) -> Result<Outputs, String> {
    let (coordinates, rank) = listed(places)?;
    let mut order: Vec<usize> = (0..found.len()).collect();
    let place = |index: usize| &coordinates[index * rank..(index + 1) * rank];
    order.sort_by(|left, right| place(*left).cmp(place(*right)));
    let sorted = order.iter().flat_map(|index| place(*index)).copied().collect();
    let found = order.iter().map(|index| found[*index].clone()).collect();
    Ok(smallvec::smallvec![
        made(places.shape(), sorted)?,
        Tensor::list::<T>(found)
    ])
}

/// Gives every row without a value the default, in its first column.
fn fill_empty_rows<T: Element>(
    found: &[T],
    places: &Tensor,
    shape: &[i64],
    default: &Tensor,
) -> Result<Outputs, String> {
    let (coordinates, rank) = listed(places)?;
    let rows = size(shape.first().copied().unwrap_or_default())?;
    let default: T = scalar(default)?;
    let mut counts = vec![0; rows];
    for place in 0..found.len() {
        let row = size(coordinates[place * rank])?;
        *counts
            .get_mut(row)
            .ok_or_else(|| format!("there is no row {row} of {rows}"))? += 1;
    }
    let is_empty: Vec<bool> = counts.iter().map(|count| *count == 0).collect();
    // Where the values of each row begin, with one more for rows that have none.
    let mut starts = Vec::with_capacity(rows);
    let mut total = 0;
    for count in &counts {
        starts.push(total);
        total += (*count).max(1);
    }
    let mut new_places = vec![0; total * rank];
    let mut new_values = vec![default; total];
    let mut back = vec![0_i64; found.len()];
    let mut next = starts.clone();
    for (place, value) in found.iter().enumerate() {
        let own = &coordinates[place * rank..(place + 1) * rank];
        let at = &mut next[size(own[0])?];
        new_places[*at * rank..(*at + 1) * rank].copy_from_slice(own);
        new_values[*at] = value.clone();
        back[place] = *at as i64;
        *at += 1;
    }
    for (row, _) in is_empty.iter().enumerate().filter(|(_, is_empty)| **is_empty) {
        new_places[starts[row] * rank] = row as i64;
    }
    Ok(smallvec::smallvec![
        made(&[total, rank], new_places)?,
        Tensor::list(new_values),
        Tensor::list(is_empty),
        Tensor::list(back),
    ])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Combine {
    Sum,
    Mean,
    SqrtN,
}

/// Rows picked by indices, added up by segments, which are in order.
fn sparse_segments(node: &NodeDef, combine: Combine) -> Made {
    let dtype = node.dtype("T")?;
    if dtype != DType::F32 {
        return Err(not_for(dtype));
    }
    Ok(from_all(move |given| {
        let (table, indices, segments, wanted) = match given.as_slice() {
            [table, indices, segments] => (table, indices, segments, None),
            [table, indices, segments, count] => (table, indices, segments, Some(size(integer(count)?)?)),
            _ => return Err("it has another number of inputs".to_owned()),
        };
        let (&rows, inner) = table.shape().split_first().ok_or("a single value has no rows")?;
        let width: usize = inner.iter().product();
        let (from, indices, segments) = (values::<f32>(table)?, integers(indices)?, integers(segments)?);
        if indices.len() != segments.len() || !segments.is_sorted() {
            return Err("segments are not in order, one an index".to_owned());
        }
        let least = segments.last().map_or(Ok(0), |last| size(last + 1))?;
        let count = wanted.unwrap_or(least);
        if least > count {
            return Err(format!("there is no segment {} of {count}", least - 1));
        }
        let mut shape = Shape::from_slice(&[count]);
        shape.extend_from_slice(inner);
        let mut result = vec![0.0; super::counted(&shape)?];
        let mut members = vec![0_u32; count];
        for (index, segment) in indices.iter().zip(&segments) {
            let row = usize::try_from(*index).ok().filter(|row| *row < rows);
            let row = row.ok_or_else(|| format!("the index {index} is not in [0, {rows})"))?;
            let segment = size(*segment)?;
            members[segment] += 1;
            let sums = &mut result[segment * width..(segment + 1) * width];
            for (sum, value) in sums.iter_mut().zip(&from[row * width..(row + 1) * width]) {
                *sum += value;
            }
        }
        for (segment, members) in members
            .into_iter()
            .enumerate()
            .filter(|(_, members)| *members > 1)
        {
            let divisor = match combine {
                Combine::Sum => continue,
                Combine::Mean => members as f32,
                Combine::SqrtN => (members as f32).sqrt(),
            };
            result[segment * width..(segment + 1) * width]
                .iter_mut()
                .for_each(|value| *value /= divisor);
        }
        made(&shape, result)
    }))
}

fn segment_sum<T: Number>(rows: &Tensor, segments: &[i64], count: usize) -> Result<Tensor, String> {
    let (&all, inner) = rows.shape().split_first().ok_or("a single value has no rows")?;
    if segments.len() != all {
        return Err(format!("{} segments do not fit {all} rows", segments.len()));
    }
    let width: usize = inner.iter().product();
    let mut shape = Shape::from_slice(&[count]);
    shape.extend_from_slice(inner);
    let mut result = vec![T::ZERO; super::counted(&shape)?];
    for (row, segment) in values::<T>(rows)?.chunks(width.max(1)).zip(segments) {
        // Negative segments are left out.
        let Ok(segment) = usize::try_from(*segment) else {
            continue;
        };
        let sums = result.get_mut(segment * width..(segment + 1) * width);
        let sums = sums.ok_or_else(|| format!("there is no segment {segment} of {count}"))?;
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum = sum.plus(*value);
        }
    }
    made(&shape, result)
}

fn to_dense<T: Element>(
    found: &[T],
    places: &Tensor,
    shape: &[usize],
    default: &Tensor,
) -> Result<Tensor, String> {
    let coordinates = integers(places)?;
    let rank = shape.len();
    let mut result = vec![scalar::<T>(default)?; super::counted(shape)?];
    let count = coordinates.len() / rank.max(1);
    for place in 0..count {
        let mut flat = 0;
        for (coordinate, size) in coordinates[place * rank..(place + 1) * rank].iter().zip(shape) {
            let coordinate = usize::try_from(*coordinate)
                .ok()
                .filter(|coordinate| coordinate < size);
            flat = flat * size + coordinate.ok_or_else(|| format!("a place is not in shape {shape:?}"))?;
        }
        let value = if found.len() == 1 {
            found.first()
        } else {
            found.get(place)
        };
        result[flat] = value.cloned().ok_or("there are more places than values")?;
    }
    made(shape, result)
}

fn times_dense(
    places: &Tensor,
    found: &Tensor,
    shape: &Tensor,
    dense: &Tensor,
    turned: bool,
    other_turned: bool,
) -> Result<Tensor, String> {
    let dense = if other_turned {
        super::shapes::transpose(dense.clone(), &[1, 0])?
    } else {
        dense.clone()
    };
    let (coordinates, _) = listed(places)?;
    let sizes = integers(shape)?
        .into_iter()
        .map(size)
        .collect::<Result<Vec<_>, _>>()?;
    let (&[first, second], &[inner, columns]) = (sizes.as_slice(), dense.shape()) else {
        return Err("matrices are wanted".to_owned());
    };
    let (rows, own) = if turned { (second, first) } else { (first, second) };
    if own != inner {
        return Err(format!(
            "matrices of shapes {sizes:?} and {:?} do not fit",
            dense.shape()
        ));
    }
    let from = values::<f32>(&dense)?;
    let mut result = vec![0.0; super::counted(&[rows, columns])?];
    for (place, value) in coordinates.as_chunks().0.iter().zip(values::<f32>(found)?) {
        let [row, column] = if turned { [place[1], place[0]] } else { *place };
        let (row, column) = (size(row)?, size(column)?);
        if row >= rows || column >= inner {
            return Err(format!("a place is not in shape {sizes:?}"));
        }
        let sums = &mut result[row * columns..(row + 1) * columns];
        for (sum, factor) in sums
            .iter_mut()
            .zip(&from[column * columns..(column + 1) * columns])
        {
            *sum += value * factor;
        }
    }
    made(&[rows, columns], result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(list: &[[i64; 2]]) -> Tensor {
        Tensor::new([list.len(), 2].as_slice(), list.concat()).unwrap()
    }

    #[test]
    fn rows_without_values_get_the_default() {
        let outputs = fill_empty_rows(
            &[10_i64, 20, 30],
            &places(&[[0, 1], [3, 0], [0, 2]]),
            &[5, 4],
            &Tensor::scalar(-1_i64),
        )
        .unwrap();
        assert_eq!(
            outputs[0],
            places(&[[0, 1], [0, 2], [1, 0], [2, 0], [3, 0], [4, 0]])
        );
        assert_eq!(outputs[1], Tensor::list(vec![10_i64, 30, -1, -1, 20, -1]));
        assert_eq!(outputs[2], Tensor::list(vec![false, true, true, false, true]));
        assert_eq!(outputs[3], Tensor::list(vec![0_i64, 4, 1]));
    }

    #[test]
    fn places_follow_a_new_shape() {
        let outputs = reshape(&places(&[[0, 1], [2, 2]]), &[3, 4], &[2, -1]).unwrap();
        assert_eq!(outputs[0], places(&[[0, 1], [1, 4]]));
        assert_eq!(outputs[1], Tensor::list(vec![2_i64, 6]));
        assert!(reshape(&places(&[[0, 1]]), &[3, 4], &[5, -1]).is_err());
    }

    #[test]
    fn a_place_outside_is_refused() {
        let outside = places(&[[2, 0]]);
        assert!(to_dense(&[1_i64], &outside, &[2, 2], &Tensor::scalar(0_i64)).is_err());
        assert!(fill_empty_rows(&[1_i64], &outside, &[2, 2], &Tensor::scalar(0_i64)).is_err());
    }
}
