//! Products of matrices.

use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder as _, linalg::general_mat_mul};

use super::{Made, broadcast::shape_of, counted, from, made, not_for, numbers::Number, values};
use crate::{
    graph::Attributes as _,
    proto::NodeDef,
    tensor::{DType, Shape, Tensor},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    let turned = match node.op.as_str() {
        "MatMul" => [node.flag("transpose_a"), node.flag("transpose_b")],
        "BatchMatMul" | "BatchMatMulV2" | "BatchMatMulV3" => [node.flag("adj_x"), node.flag("adj_y")],
        _ => return None,
    };
    // The third version names both types.
    let dtype = node.dtype(if node.op == "BatchMatMulV3" { "Ta" } else { "T" });
    Some(dtype.and_then(|dtype| match dtype {
        DType::F32 => Ok(from(move |[left, right]| multiply::<f32>(&left, &right, turned))),
        DType::F64 => Ok(from(move |[left, right]| multiply::<f64>(&left, &right, turned))),
        DType::I32 => Ok(from(move |[left, right]| multiply::<i32>(&left, &right, turned))),
        DType::I64 => Ok(from(move |[left, right]| multiply::<i64>(&left, &right, turned))),
        other => Err(not_for(other)),
    }))
}

/// A matrix as it lies in memory: how many rows and columns, and whether they are turned.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a, T> {
    pub(super) values: &'a [T],
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Stored column by column.
    pub(super) turned: bool,
}

/// Numbers that matrices are multiplied of.
pub(super) trait Factor: Number {
    /// `result += left × right`; the result is row by row.
    fn product(left: Matrix<'_, Self>, right: Matrix<'_, Self>, result: &mut [Self]);
}

impl Factor for f32 {
    fn product(left: Matrix<'_, Self>, right: Matrix<'_, Self>, result: &mut [Self]) {
        float_product(left, right, result);
    }
}

impl Factor for f64 {
    fn product(left: Matrix<'_, Self>, right: Matrix<'_, Self>, result: &mut [Self]) {
        float_product(left, right, result);
    }
}

impl Factor for i32 {
    fn product(left: Matrix<'_, Self>, right: Matrix<'_, Self>, result: &mut [Self]) {
        plain_product(left, right, result);
    }
}

impl Factor for i64 {
    fn product(left: Matrix<'_, Self>, right: Matrix<'_, Self>, result: &mut [Self]) {
        plain_product(left, right, result);
    }
}

/// So few rows do not pay for arranging the other matrix first.
const FEW: usize = 4;

fn float_product<T: Number + ndarray::LinalgScalar>(
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    result: &mut [T],
) {
    if left.rows <= FEW && !right.turned {
        return plain_product(left, right, result);
    }
    let shape = (left.rows, right.columns);
    if let (Some(left), Some(right), Ok(mut result)) = (
        left.view(),
        right.view(),
        ArrayViewMut2::from_shape(shape, result),
    ) {
        general_mat_mul(T::one(), &left, &right, T::one(), &mut result);
    }
}

impl<'a, T> Matrix<'a, T> {
    fn view(self) -> Option<ArrayView2<'a, T>> {
        let shape = (self.rows, self.columns).set_f(self.turned);
        ArrayView2::from_shape(shape, self.values).ok()
    }
}

/// Row by row of the right one, which is read once and in order.
fn plain_product<T: Number>(left: Matrix<'_, T>, right: Matrix<'_, T>, result: &mut [T]) {
    let width = right.columns;
    for (row, result) in result.chunks_mut(width.max(1)).enumerate().take(left.rows) {
        for inner in 0..left.columns {
            let factor = left.values[if left.turned {
                inner * left.rows + row
            } else {
                row * left.columns + inner
            }];
            if right.turned {
                for (column, result) in result.iter_mut().enumerate() {
                    *result = result.plus(factor.times(right.values[column * right.rows + inner]));
                }
            } else {
                let from = &right.values[inner * width..(inner + 1) * width];
                for (result, value) in result.iter_mut().zip(from) {
                    *result = result.plus(factor.times(*value));
                }
            }
        }
    }
}

/// Matrices in the last two dimensions; those before are stretched to fit.
pub(super) fn multiply<T: Factor>(
    left: &Tensor,
    right: &Tensor,
    turned: [bool; 2],
) -> Result<Tensor, String> {
    let say = || {
        format!(
            "matrices of shapes {:?} and {:?} do not fit",
            left.shape(),
            right.shape()
        )
    };
    let sides = |shape: &[usize], turned: bool| match *shape {
        [.., rows, columns] if turned => Some((columns, rows)),
        [.., rows, columns] => Some((rows, columns)),
        _ => None,
    };
    let (rows, inner) = sides(left.shape(), turned[0]).ok_or_else(say)?;
    let (other, columns) = sides(right.shape(), turned[1]).ok_or_else(say)?;
    if inner != other {
        return Err(say());
    }
    let left_batch = &left.shape()[..left.rank() - 2];
    let right_batch = &right.shape()[..right.rank() - 2];
    let batch = shape_of(left_batch, right_batch).map_err(|_| say())?;
    let mut shape = batch.clone();
    shape.extend([rows, columns]);
    let mut result = vec![T::ZERO; counted(&shape)?];
    let (left_values, right_values) = (values::<T>(left)?, values::<T>(right)?);
    let (left_size, right_size, size) = (rows * inner, inner * columns, rows * columns);
    if size == 0 || inner == 0 {
        return made(&shape, result);
    }
    for (index, result) in result.chunks_mut(size).enumerate() {
        let at = |own: &[usize]| stretched_index(index, &batch, own);
        let (from, with) = (at(left_batch) * left_size, at(right_batch) * right_size);
        T::product(
            Matrix {
                values: &left_values[from..from + left_size],
                rows,
                columns: inner,
                turned: turned[0],
            },
            Matrix {
                values: &right_values[with..with + right_size],
                rows: inner,
                columns,
                turned: turned[1],
            },
            result,
        );
    }
    made(&shape, result)
}

/// Which of a smaller batch belongs to one of the whole.
fn stretched_index(mut index: usize, whole: &Shape, own: &[usize]) -> usize {
    let (mut result, mut step) = (0, 1);
    for place in (0..whole.len()).rev() {
        let coordinate = index % whole[place];
        index /= whole[place];
        let Some(own_place) = (place + own.len()).checked_sub(whole.len()) else {
            continue;
        };
        if own[own_place] != 1 {
            result += coordinate * step;
        }
        step *= own[own_place];
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(shape: &[usize], seed: u64) -> Tensor {
        let mut chance = fastrand::Rng::with_seed(seed);
        let count: usize = shape.iter().product();
        Tensor::new(shape, (0..count).map(|_| chance.f32() - 0.5).collect::<Vec<_>>()).unwrap()
    }

    /// By the definition.
    fn slowly(left: &Tensor, right: &Tensor, turned: [bool; 2]) -> Vec<f32> {
        let at = |tensor: &Tensor, row: usize, column: usize, turned: bool| {
            let (row, column) = if turned { (column, row) } else { (row, column) };
            tensor.values::<f32>().unwrap()[row * tensor.shape()[1] + column]
        };
        let rows = left.shape()[usize::from(turned[0])];
        let inner = left.shape()[1 - usize::from(turned[0])];
        let columns = right.shape()[1 - usize::from(turned[1])];
        let cell = |row, column| {
            let terms =
                (0..inner).map(|index| at(left, row, index, turned[0]) * at(right, index, column, turned[1]));
            terms.sum()
        };
        (0..rows)
            .flat_map(|row| {
                (0..columns)
                    .map(move |column| cell(row, column))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn products_are_right_in_every_size_and_either_way_round() {
        for rows in [1, 3, 4, 5, 17, 40] {
            for turned in [[false, false], [true, false], [false, true], [true, true]] {
                let (left, right) = ([rows, 9], [9, 13]);
                let flip =
                    |shape: [usize; 2], turned: bool| if turned { [shape[1], shape[0]] } else { shape };
                let left = random(&flip(left, turned[0]), 1);
                let right = random(&flip(right, turned[1]), 2);
                let product = multiply::<f32>(&left, &right, turned).unwrap();
                assert_eq!(product.shape(), [rows, 13]);
                let wanted = slowly(&left, &right, turned);
                let same = product.values::<f32>().unwrap().iter().zip(&wanted);
                assert!(
                    same.into_iter().all(|(left, right)| (left - right).abs() < 1e-5),
                    "{rows} {turned:?}"
                );
            }
        }
    }

    #[test]
    fn batches_are_stretched() {
        let (left, right) = (random(&[2, 1, 3, 4], 1), random(&[5, 4, 2], 2));
        let product = multiply::<f32>(&left, &right, [false, false]).unwrap();
        assert_eq!(product.shape(), [2, 5, 3, 2]);
        let one = |tensor: &Tensor, at: usize, shape: [usize; 2]| {
            let size = shape[0] * shape[1];
            let values = tensor.values::<f32>().unwrap()[at * size..(at + 1) * size].to_vec();
            Tensor::new(shape.as_slice(), values).unwrap()
        };
        let wanted = slowly(&one(&left, 1, [3, 4]), &one(&right, 3, [4, 2]), [false, false]);
        assert_eq!(product.values::<f32>().unwrap()[8 * 6..9 * 6], wanted);
    }

    #[test]
    fn other_sizes_are_refused() {
        let error = multiply::<f32>(&random(&[2, 3], 1), &random(&[4, 2], 2), [false, false]).unwrap_err();
        assert_eq!(error, "matrices of shapes [2, 3] and [4, 2] do not fit");
    }
}
