//! Ops that put values into other shapes and orders.

use bytes::Bytes;
use smallvec::SmallVec;

use super::{
    Made, around, axis,
    broadcast::{shape_of, stretched},
    counted,
    elementwise::Number,
    from, from_all, integer, integer_list, integers, made, not_for, scalar, size, to_several, values,
};
use crate::{
    graph::Attributes as _,
    ops::elementwise::by_number,
    plan::{Inputs, Outputs},
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

fn fill<T: Element>(value: &[T], shape: &[usize]) -> Result<Tensor, String> {
    match value {
        [value] => made(shape, vec![value.clone(); counted(shape)?]),
        _ => Err("one value fills a shape".to_owned()),
    }
}

fn defaults<T: Element>(_of_type: &[T], shape: &[usize]) -> Result<Tensor, String> {
    made(shape, vec![T::default(); counted(shape)?])
}

fn stretch<T: Element>(_of_type: &[T], tensor: &Tensor, shape: &[usize]) -> Result<Tensor, String> {
    made(shape, stretched::<T>(tensor, shape)?)
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
    let wide = super::elementwise::cast_to(indices.clone(), DType::I64)?;
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

    #[test]
    fn a_range_ends_before_its_limit() {
        assert_eq!(range(1_i32, 6, 2).unwrap(), Tensor::list(vec![1, 3, 5]));
        assert_eq!(range(3_i32, 0, -1).unwrap(), Tensor::list(vec![3, 2, 1]));
        assert_eq!(range(3_i32, 0, 1).unwrap().len(), 0);
        assert!(range(0_i64, 1, 0).is_err());
    }

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
