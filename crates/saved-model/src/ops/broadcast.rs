//! Two tensors of different shapes that are made to fit, value by value.

use std::sync::Arc;

use smallvec::SmallVec;

use super::counted;
use crate::tensor::{Element, Shape, Tensor};

/// The shape both have when sizes of one are stretched.
pub(super) fn shape_of(left: &[usize], right: &[usize]) -> Result<Shape, String> {
    let rank = left.len().max(right.len());
    let size = |shape: &[usize], axis: usize| match (axis + shape.len()).checked_sub(rank) {
        Some(own) => shape[own],
        None => 1,
    };
    let both = |axis| match (size(left, axis), size(right, axis)) {
        (left, right) if left == right => Ok(left),
        (1, right) => Ok(right),
        (left, 1) => Ok(left),
        _ => Err(format!("shapes {left:?} and {right:?} do not fit")),
    };
    (0..rank).map(both).collect()
}

/// Dimensions that are walked together, with how far each side moves: 0 where it is stretched.
#[derive(Clone, Copy)]
struct Walk {
    size: usize,
    left: bool,
    right: bool,
}

/// As few dimensions as possible.
fn walks(shape: &[usize], left: &[usize], right: &[usize]) -> SmallVec<[Walk; 4]> {
    let moves = |side: &[usize], axis: usize| {
        let own = (axis + side.len()).checked_sub(shape.len());
        own.is_some_and(|own| side[own] != 1)
    };
    let mut walks: SmallVec<[Walk; 4]> = SmallVec::new();
    for (axis, &size) in shape.iter().enumerate() {
        if size == 1 {
            continue;
        }
        let (left, right) = (moves(left, axis), moves(right, axis));
        match walks.last_mut() {
            Some(last) if (last.left, last.right) == (left, right) => last.size *= size,
            _ => walks.push(Walk { size, left, right }),
        }
    }
    if walks.is_empty() {
        walks.push(Walk {
            size: 1,
            left: true,
            right: true,
        });
    }
    walks
}

/// Calls `run` for every stretch of the result, with where it begins on either side.
fn runs(walks: &[Walk], mut run: impl FnMut(usize, usize)) {
    let Some((_, outer)) = walks.split_last() else {
        return;
    };
    let (mut left_step, mut right_step) = (1, 1);
    let mut steps: SmallVec<[(usize, usize); 4]> = walks
        .iter()
        .rev()
        .map(|walk| {
            let steps = (
                if walk.left { left_step } else { 0 },
                if walk.right { right_step } else { 0 },
            );
            left_step *= if walk.left { walk.size } else { 1 };
            right_step *= if walk.right { walk.size } else { 1 };
            steps
        })
        .collect();
    steps.reverse();
    let mut place: SmallVec<[usize; 4]> = smallvec::smallvec![0; outer.len()];
    let (mut left, mut right) = (0, 0);
    loop {
        run(left, right);
        let mut axis = outer.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            axis = next;
            place[axis] += 1;
            left += steps[axis].0;
            right += steps[axis].1;
            if place[axis] < outer[axis].size {
                break;
            }
            left -= steps[axis].0 * outer[axis].size;
            right -= steps[axis].1 * outer[axis].size;
            place[axis] = 0;
        }
    }
}

/// Combines two tensors value by value.
pub(super) fn zip<T: Element + Copy, U: Element>(
    left: &Tensor,
    right: &Tensor,
    combine: impl Fn(T, T) -> U,
) -> Result<Tensor, String> {
    let (first, second) = (super::values::<T>(left)?, super::values::<T>(right)?);
    let shape = shape_of(left.shape(), right.shape())?;
    let count = counted(&shape)?;
    let mut result = Vec::with_capacity(count);
    if count > 0 {
        let walks = walks(&shape, left.shape(), right.shape());
        if let Some(&Walk { size, left, right }) = walks.last() {
            runs(&walks, |from, with| match (left, right) {
                (true, true) => {
                    let pairs = first[from..from + size].iter().zip(&second[with..with + size]);
                    result.extend(pairs.map(|(left, right)| combine(*left, *right)));
                }
                (true, false) => {
                    let right = second[with];
                    result.extend(first[from..from + size].iter().map(|left| combine(*left, right)));
                }
                _ => {
                    let left = first[from];
                    result.extend(
                        second[with..with + size]
                            .iter()
                            .map(|right| combine(left, *right)),
                    );
                }
            });
        }
    }
    super::made(&shape, result)
}

/// The same, in the place of the left one where nobody else has it and the result has its shape.
pub(super) fn zip_into<T: Element + Copy>(
    left: Tensor,
    right: &Tensor,
    combine: impl Fn(T, T) -> T,
) -> Result<Tensor, String> {
    let shape = shape_of(left.shape(), right.shape())?;
    if shape.as_slice() != left.shape() || left.is_empty() {
        return zip(&left, right, combine);
    }
    let (shape, data) = left.into_parts();
    let mut buffer = match T::from_data(data) {
        Ok(buffer) => buffer,
        Err(data) => return Err(format!("{} is wanted, not {}", T::DTYPE, data.dtype())),
    };
    let Some(first) = Arc::get_mut(&mut buffer) else {
        let left = super::made_of(shape, T::data(buffer))?;
        return zip(&left, right, combine);
    };
    let second = super::values::<T>(right)?;
    let walks = walks(&shape, &shape, right.shape());
    if let Some(walk) = walks.last() {
        let (size, moves) = (walk.size, walk.right);
        let mut at = 0;
        runs(&walks, |_, with| {
            let run = &mut first[at..at + size];
            if moves {
                for (left, right) in run.iter_mut().zip(&second[with..with + size]) {
                    *left = combine(*left, *right);
                }
            } else {
                let right = second[with];
                for left in run {
                    *left = combine(*left, right);
                }
            }
            at += size;
        });
    }
    super::made_of(shape, T::data(buffer))
}

/// A tensor stretched to a shape.
pub(super) fn stretched<T: Element>(tensor: &Tensor, shape: &[usize]) -> Result<Vec<T>, String> {
    let from = super::values::<T>(tensor)?;
    let fits = shape_of(tensor.shape(), shape)?;
    if fits.as_slice() != shape {
        return Err(format!(
            "shape {:?} cannot be stretched to {shape:?}",
            tensor.shape()
        ));
    }
    let mut result = Vec::with_capacity(counted(shape)?);
    if counted(shape)? > 0 {
        let walks = walks(shape, tensor.shape(), shape);
        if let Some(&Walk { size, left, .. }) = walks.last() {
            runs(&walks, |at, _| {
                if left {
                    result.extend_from_slice(&from[at..at + size]);
                } else {
                    result.extend(std::iter::repeat_n(&from[at], size).cloned());
                }
            });
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(shape: &[usize], values: &[i32]) -> Tensor {
        Tensor::new(shape, values.to_vec()).unwrap()
    }

    #[test]
    fn sizes_of_one_are_stretched_on_either_side() {
        let left = tensor(&[2, 1, 3], &[1, 2, 3, 4, 5, 6]);
        let right = tensor(&[2, 1], &[10, 20]);
        let sum = zip(&left, &right, |left: i32, right| left + right).unwrap();
        let wanted = tensor(&[2, 2, 3], &[11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26]);
        assert_eq!(sum, wanted);
        let right = tensor(&[2, 2, 1], &[1, 2, 3, 4]);
        let difference = zip_into(wanted, &right, |left: i32, right| left - right).unwrap();
        assert_eq!(
            difference,
            tensor(&[2, 2, 3], &[10, 11, 12, 19, 20, 21, 11, 12, 13, 20, 21, 22])
        );
    }

    #[test]
    fn nothing_is_computed_of_nothing() {
        let left = tensor(&[0, 3], &[]);
        let right = tensor(&[3], &[1, 2, 3]);
        let sum = zip(&left, &right, |left: i32, right| left + right).unwrap();
        assert_eq!(sum.shape(), [0, 3]);
    }

    #[test]
    fn other_sizes_do_not_fit() {
        let error = zip(
            &tensor(&[2], &[1, 2]),
            &tensor(&[3], &[1, 2, 3]),
            |left: i32, _| left,
        );
        assert_eq!(error.unwrap_err(), "shapes [2] and [3] do not fit");
    }
}
