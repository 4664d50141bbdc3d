//! Parts of tensors, and tensors with a border.

use super::{Made, axis, counted, from, integers, made, scalar, size};
use crate::{
    graph::Attributes as _,
    proto::NodeDef,
    tensor::{Element, Shape, Tensor, with_buffer},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "Slice" => Ok(from(|[tensor, begin, sizes]| {
            slice(&tensor, &integers(&begin)?, &integers(&sizes)?)
        })),
        "StridedSlice" => strided(node),
        "Pad" => Ok(from(
            |[tensor, borders]| with_buffer!(tensor.data(), buffer => pad(buffer, tensor.shape(), &integers(&borders)?, None)),
        )),
        "PadV2" => Ok(from(
            |[tensor, borders, value]| with_buffer!(tensor.data(), buffer => pad(buffer, tensor.shape(), &integers(&borders)?, Some(&value))),
        )),
        "MirrorPad" => {
            let inside = usize::from(node.text("mode") == "REFLECT");
            Ok(from(
                move |[tensor, borders]| with_buffer!(tensor.data(), buffer => mirror(buffer, tensor.shape(), &integers(&borders)?, inside)),
            ))
        }
        "SpaceToBatchND" => Ok(from(|[tensor, block, borders]| {
            space_to_batch(&tensor, &integers(&block)?, &integers(&borders)?)
        })),
        "BatchToSpaceND" => Ok(from(|[tensor, block, crops]| {
            batch_to_space(tensor, &integers(&block)?, &integers(&crops)?)
        })),
        _ => return None,
    })
}

/// From where, how many, how far apart, along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Along {
    start: usize,
    count: usize,
    step: isize,
}

fn slice(tensor: &Tensor, begin: &[i64], sizes: &[i64]) -> Result<Tensor, String> {
    if begin.len() != tensor.rank() || sizes.len() != tensor.rank() {
        return Err(format!(
            "{begin:?} and {sizes:?} do not fit shape {:?}",
            tensor.shape()
        ));
    }
    let mut along = Vec::with_capacity(tensor.rank());
    for ((&whole, &begin), &wanted) in tensor.shape().iter().zip(begin).zip(sizes) {
        let start = size(begin)?;
        let count = match wanted {
            -1 => whole.saturating_sub(start),
            wanted => size(wanted)?,
        };
        if start.checked_add(count).is_none_or(|end| end > whole) {
            return Err(format!("{count} values from {start} on are not in {whole}"));
        }
        along.push(Along {
            start,
            count,
            step: 1,
        });
    }
    with_buffer!(tensor.data(), buffer => pick(buffer, tensor.shape(), &along))
}

fn pick<T: Element>(from: &[T], shape: &[usize], along: &[Along]) -> Result<Tensor, String> {
    let sizes: Shape = along.iter().map(|along| along.count).collect();
    let mut result = Vec::with_capacity(counted(&sizes)?);
    if counted(&sizes)? > 0 {
        walk(from, shape, along, &mut result);
    }
    made(&sizes, result)
}

fn walk<T: Element>(from: &[T], shape: &[usize], along: &[Along], result: &mut Vec<T>) {
    let (Some((along, rest)), Some((_, inner))) = (along.split_first(), shape.split_first()) else {
        result.extend_from_slice(from);
        return;
    };
    let width: usize = inner.iter().product();
    let is_whole = rest
        .iter()
        .zip(inner)
        .all(|(along, size)| (along.count, along.step, along.start) == (*size, 1, 0));
    if is_whole && along.step == 1 {
        result.extend_from_slice(&from[along.start * width..(along.start + along.count) * width]);
        return;
    }
    for index in 0..along.count {
        let at = along.start.wrapping_add_signed(index as isize * along.step);
        walk(&from[at * width..(at + 1) * width], inner, rest, result);
    }
}

/// Python's slices, with everything they can leave out.
#[derive(Clone, Copy)]
struct Masks {
    begin: i64,
    end: i64,
    ellipsis: i64,
    new_axis: i64,
    shrink: i64,
}

fn strided(node: &NodeDef) -> Made {
    let mask = |name| node.int(name).unwrap_or_default();
    let masks = Masks {
        begin: mask("begin_mask"),
        end: mask("end_mask"),
        ellipsis: mask("ellipsis_mask"),
        new_axis: mask("new_axis_mask"),
        shrink: mask("shrink_axis_mask"),
    };
    Ok(from(move |[tensor, begin, end, steps]| {
        strided_slice(
            &tensor,
            &integers(&begin)?,
            &integers(&end)?,
            &integers(&steps)?,
            masks,
        )
    }))
}

fn strided_slice(
    tensor: &Tensor,
    begin: &[i64],
    end: &[i64],
    steps: &[i64],
    masks: Masks,
) -> Result<Tensor, String> {
    let has = |mask: i64, index: usize| index < 63 && mask & (1 << index) != 0;
    let count = begin.len();
    if end.len() != count || steps.len() != count {
        return Err("begin, end and steps are not of one length".to_owned());
    }
    let new_axes = (0..count)
        .filter(|index| has(masks.new_axis, *index) && !has(masks.ellipsis, *index))
        .count();
    let has_ellipsis = (0..count).any(|index| has(masks.ellipsis, index));
    let named = count - new_axes - usize::from(has_ellipsis);
    let left_out = tensor
        .rank()
        .checked_sub(named)
        .ok_or_else(|| format!("shape {:?} has no {named} axes", tensor.shape()))?;
    let whole = |size: usize| Along {
        start: 0,
        count: size,
        step: 1,
    };
    let (mut along, mut shape) = (Vec::new(), Shape::new());
    for index in 0..count {
        if has(masks.ellipsis, index) {
            for _ in 0..left_out {
                let size = tensor.shape()[along.len()];
                along.push(whole(size));
                shape.push(size);
            }
            continue;
        }
        if has(masks.new_axis, index) {
            shape.push(1);
            continue;
        }
        let size = tensor.shape()[along.len()];
        if has(masks.shrink, index) {
            let start = axis(begin[index], size)
                .map_err(|_| format!("there is no row {} of {size}", begin[index]))?;
            along.push(Along {
                start,
                count: 1,
                step: 1,
            });
            continue;
        }
        let begin = (!has(masks.begin, index)).then_some(begin[index]);
        let end = (!has(masks.end, index)).then_some(end[index]);
        let range = python_range(size, begin, end, steps[index])?;
        along.push(range);
        shape.push(range.count);
    }
    while along.len() < tensor.rank() {
        let size = tensor.shape()[along.len()];
        along.push(whole(size));
        shape.push(size);
    }
    let picked = with_buffer!(tensor.data(), buffer => pick(buffer, tensor.shape(), &along))?;
    picked
        .reshaped(shape)
        .ok_or_else(|| "impossible shape".to_owned())
}

fn python_range(size: usize, begin: Option<i64>, end: Option<i64>, step: i64) -> Result<Along, String> {
    if step == 0 {
        return Err("a slice needs a step".to_owned());
    }
    let size = size as i64;
    let (least, most) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let counted = |value: i64| if value < 0 { value + size } else { value }.clamp(least, most);
    let begin = begin.map_or(if step > 0 { least } else { most }, counted);
    let end = end.map_or(if step > 0 { most } else { least }, counted);
    let distance = if step > 0 { end - begin } else { begin - end };
    let count = if distance > 0 {
        (distance - 1) / step.abs() + 1
    } else {
        0
    };
    Ok(Along {
        start: begin.max(0) as usize,
        count: count as usize,
        step: step as isize,
    })
}

/// How much is put before and after each axis.
fn borders(borders: &[i64], rank: usize) -> Result<Vec<(usize, usize)>, String> {
    if borders.len() != rank * 2 {
        return Err(format!("{} borders do not fit {rank} axes", borders.len() / 2));
    }
    borders
        .as_chunks()
        .0
        .iter()
        .map(|&[before, after]| Ok((size(before)?, size(after)?)))
        .collect()
}

fn pad<T: Element>(
    from: &[T],
    shape: &[usize],
    given: &[i64],
    value: Option<&Tensor>,
) -> Result<Tensor, String> {
    let borders = borders(given, shape.len())?;
    let value: T = value.map(scalar).transpose()?.unwrap_or_default();
    let sizes: Shape = shape
        .iter()
        .zip(&borders)
        .map(|(size, (before, after))| size + before + after)
        .collect();
    let mut result = Vec::with_capacity(counted(&sizes)?);
    fill_border(from, shape, &sizes, &borders, &value, &mut result);
    made(&sizes, result)
}

fn fill_border<T: Element>(
    from: &[T],
    shape: &[usize],
    sizes: &[usize],
    borders: &[(usize, usize)],
    value: &T,
    result: &mut Vec<T>,
) {
    let (Some((&size, inner)), Some((&(before, after), rest))) = (shape.split_first(), borders.split_first())
    else {
        result.extend_from_slice(from);
        return;
    };
    let wide: usize = sizes[1..].iter().product();
    let width: usize = inner.iter().product();
    result.extend(std::iter::repeat_n(value, before * wide).cloned());
    if rest.iter().all(|border| *border == (0, 0)) {
        result.extend_from_slice(from);
    } else {
        for row in 0..size {
            fill_border(
                &from[row * width..(row + 1) * width],
                inner,
                &sizes[1..],
                rest,
                value,
                result,
            );
        }
    }
    result.extend(std::iter::repeat_n(value, after * wide).cloned());
}

fn mirror<T: Element>(from: &[T], shape: &[usize], given: &[i64], inside: usize) -> Result<Tensor, String> {
    let borders = borders(given, shape.len())?;
    let mut current = made(shape, from.to_vec())?;
    for (place, &(before, after)) in borders.iter().enumerate() {
        let whole = current.shape()[place];
        if before + inside > whole || after + inside > whole {
            return Err(format!("{whole} values do not mirror {before} and {after}"));
        }
        let order: Vec<usize> = (0..before)
            .map(|index| before - 1 - index + inside)
            .chain(0..whole)
            .chain((0..after).map(|index| whole - 1 - inside - index))
            .collect();
        current = super::gathering::rows(&current, place, &order)?;
    }
    Ok(current)
}

fn block_shape(block: &[i64]) -> Result<Vec<usize>, String> {
    block
        .iter()
        .map(|value| {
            size(*value).and_then(|size| {
                if size == 0 {
                    Err("a block is empty".to_owned())
                } else {
                    Ok(size)
                }
            })
        })
        .collect()
}

fn space_to_batch(tensor: &Tensor, block: &[i64], given: &[i64]) -> Result<Tensor, String> {
    let block = block_shape(block)?;
    let mut all = vec![0, 0];
    all.extend_from_slice(given);
    let rest = tensor
        .rank()
        .checked_sub(1 + block.len())
        .ok_or("it has too few axes")?;
    all.extend(std::iter::repeat_n(0, rest * 2));
    let padded = with_buffer!(tensor.data(), buffer => pad(buffer, tensor.shape(), &all, None))?;
    let shape = padded.shape().to_vec();
    // [batch, size / block, block, …, rest] → [block…, batch, size / block, …, rest]
    let mut parts = vec![shape[0]];
    for (size, block) in shape[1..].iter().zip(&block) {
        if size % block != 0 {
            return Err(format!("{size} is no multiple of {block}"));
        }
        parts.extend([size / block, *block]);
    }
    parts.extend_from_slice(&shape[1 + block.len()..]);
    let mut order: Vec<usize> = (0..block.len()).map(|index| 2 + 2 * index).collect();
    order.push(0);
    order.extend((0..block.len()).map(|index| 1 + 2 * index));
    order.extend(1 + 2 * block.len()..parts.len());
    let mut result: Shape = Shape::new();
    result.push(shape[0] * block.iter().product::<usize>());
    result.extend(shape[1..].iter().zip(&block).map(|(size, block)| size / block));
    result.extend_from_slice(&shape[1 + block.len()..]);
    let turned =
        super::shapes::transpose(padded.reshaped(parts.as_slice()).ok_or_else(String::new)?, &order)?;
    turned.reshaped(result).ok_or_else(String::new)
}

fn batch_to_space(tensor: Tensor, block: &[i64], crops: &[i64]) -> Result<Tensor, String> {
    let block = block_shape(block)?;
    let shape = tensor.shape().to_vec();
    let blocks: usize = block.iter().product();
    if shape.len() <= block.len() || !shape[0].is_multiple_of(blocks) || crops.len() != 2 * block.len() {
        return Err(format!("shape {shape:?} does not come from blocks {block:?}"));
    }
    let batch = shape[0] / blocks;
    // [block…, batch, size, …, rest] → [batch, size, block, …, rest]
    let mut parts = block.clone();
    parts.push(batch);
    parts.extend_from_slice(&shape[1..]);
    let mut order = vec![block.len()];
    for index in 0..block.len() {
        order.extend([block.len() + 1 + index, index]);
    }
    order.extend(2 * block.len() + 1..parts.len());
    let mut whole = vec![batch];
    whole.extend(shape[1..].iter().zip(&block).map(|(size, block)| size * block));
    whole.extend_from_slice(&shape[1 + block.len()..]);
    let turned =
        super::shapes::transpose(tensor.reshaped(parts.as_slice()).ok_or_else(String::new)?, &order)?;
    let turned = turned.reshaped(whole.as_slice()).ok_or_else(String::new)?;
    let (mut begin, mut sizes) = (vec![0; whole.len()], vec![-1; whole.len()]);
    for (index, &[before, after]) in crops.as_chunks().0.iter().enumerate() {
        begin[index + 1] = before;
        sizes[index + 1] = whole[index + 1] as i64 - before - after;
    }
    slice(&turned, &begin, &sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(shape: &[usize]) -> Tensor {
        let count: usize = shape.iter().product();
        Tensor::new(shape, (0..count as i32).collect::<Vec<_>>()).unwrap()
    }

    const NONE: Masks = Masks {
        begin: 0,
        end: 0,
        ellipsis: 0,
        new_axis: 0,
        shrink: 0,
    };

    #[test]
    fn slices_are_those_of_python() {
        let all = tensor(&[3, 4]);
        // [1:, ::-2]
        let masks = Masks {
            begin: 0b10,
            end: 0b11,
            ..NONE
        };
        let part = strided_slice(&all, &[1, 0], &[0, 0], &[1, -2], masks).unwrap();
        assert_eq!(
            part,
            Tensor::new([2_usize, 2].as_slice(), vec![7, 5, 11, 9]).unwrap()
        );
        // [..., -1]
        let masks = Masks {
            ellipsis: 0b1,
            shrink: 0b10,
            ..NONE
        };
        let part = strided_slice(&all, &[0, -1], &[0, 0], &[1, 1], masks).unwrap();
        assert_eq!(part, Tensor::list(vec![3, 7, 11]));
        // [None, 0]
        let masks = Masks {
            new_axis: 0b1,
            shrink: 0b10,
            ..NONE
        };
        let part = strided_slice(&all, &[0, 0], &[0, 1], &[1, 1], masks).unwrap();
        assert_eq!(part.shape(), [1, 4]);
        assert!(strided_slice(&all, &[3], &[4], &[1], Masks { shrink: 1, ..NONE }).is_err());
    }

    #[test]
    fn borders_are_filled() {
        let padded = pad(&[1, 2], &[1, 2], &[1, 0, 0, 1], Some(&Tensor::scalar(9))).unwrap();
        assert_eq!(
            padded,
            Tensor::new([2_usize, 3].as_slice(), vec![9, 9, 9, 1, 2, 9]).unwrap()
        );
        let mirrored = mirror(&[1, 2, 3], &[3], &[2, 1], 1).unwrap();
        assert_eq!(mirrored, Tensor::list(vec![3, 2, 1, 2, 3, 2]));
        let mirrored = mirror(&[1, 2, 3], &[3], &[2, 1], 0).unwrap();
        assert_eq!(mirrored, Tensor::list(vec![2, 1, 1, 2, 3, 3]));
    }

    #[test]
    fn space_goes_into_the_batch_and_back() {
        let all = tensor(&[1, 4, 2, 3]);
        let apart = space_to_batch(&all, &[2, 2], &[0, 0, 1, 1]).unwrap();
        assert_eq!(apart.shape(), [4, 2, 2, 3]);
        assert_eq!(batch_to_space(apart, &[2, 2], &[0, 0, 1, 1]).unwrap(), all);
    }
}
