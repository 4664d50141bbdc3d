//! Ops that compare, judge and choose.

use super::{
    Made,
    broadcast::{shape_of, stretched, zip},
    elementwise::map,
    from, made, not_for,
    numbers::by_number,
    values,
};
use crate::{
    graph::Attributes as _,
    plan::Inputs,
    proto::NodeDef,
    tensor::{DType, Element, Tensor, with_buffer},
};

macro_rules! comparison {
    ($node:expr, $operator:tt) => {
        by_number!($node, "T", T => from(|[left, right]| zip(&left, &right, |left: T, right: T| left $operator right)))
    };
}

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "Less" => comparison!(node, <),
        "LessEqual" => comparison!(node, <=),
        "Greater" => comparison!(node, >),
        "GreaterEqual" => comparison!(node, >=),
        "Equal" => Ok(from(|[left, right]| equal(&left, &right, true))),
        "NotEqual" => Ok(from(|[left, right]| equal(&left, &right, false))),
        "LogicalAnd" => Ok(from(|[left, right]| {
            zip(&left, &right, |left: bool, right| left && right)
        })),
        "LogicalOr" => Ok(from(|[left, right]| {
            zip(&left, &right, |left: bool, right| left || right)
        })),
        "LogicalNot" => Ok(from(|[tensor]| map(tensor, |value: bool| !value))),
        "IsNan" => test(node, f64::is_nan),
        "IsInf" => test(node, f64::is_infinite),
        "IsFinite" => test(node, f64::is_finite),
        "Select" => Ok(from(|[condition, yes, no]| {
            let (rank, shape) = (condition.rank(), yes.shape().to_vec());
            // One condition a row, for rows of any size.
            let condition = if rank == 1 && shape.len() > 1 {
                let mut column = vec![1; shape.len()];
                column[0] = condition.len();
                condition.reshaped(column.as_slice()).ok_or("impossible shape")?
            } else {
                condition
            };
            select(&condition, &yes, &no)
        })),
        "SelectV2" => Ok(from(|[condition, yes, no]| select(&condition, &yes, &no))),
        "CheckNumerics" => {
            let message = node.text("message").to_owned();
            Ok(from(move |[tensor]| {
                let is_fine = match tensor.dtype() {
                    DType::F32 => values::<f32>(&tensor)?.iter().all(|value| value.is_finite()),
                    DType::F64 => values::<f64>(&tensor)?.iter().all(|value| value.is_finite()),
                    _ => true,
                };
                if is_fine {
                    Ok(tensor)
                } else {
                    Err(format!("{message}: a value is not a number or infinite"))
                }
            }))
        }
        "Assert" => Ok(Box::new(|inputs: Inputs| {
            let condition = inputs.first().ok_or("it has no condition")?;
            if values::<bool>(condition)?.iter().all(|value| *value) {
                return Ok(smallvec::SmallVec::new());
            }
            let said: Vec<String> = inputs[1..].iter().map(shown).collect();
            Err(format!("assertion failed: {}", said.join(" ")))
        })),
        _ => return None,
    })
}

/// What an assertion says with a value.
fn shown(tensor: &Tensor) -> String {
    match tensor.values::<bytes::Bytes>() {
        Some(texts) => {
            let texts: Vec<_> = texts.iter().map(|text| String::from_utf8_lossy(text)).collect();
            format!("[{}]", texts.join(" "))
        }
        None => format!("{tensor:?}"),
    }
}

fn test(node: &NodeDef, test: fn(f64) -> bool) -> Made {
    match node.dtype("T")? {
        DType::F32 => Ok(from(move |[tensor]| {
            let answers = values::<f32>(&tensor)?
                .iter()
                .map(|value| test(f64::from(*value)));
            made(tensor.shape(), answers.collect::<Vec<bool>>())
        })),
        DType::F64 => Ok(from(move |[tensor]| {
            let answers = values::<f64>(&tensor)?.iter().map(|value| test(*value));
            made(tensor.shape(), answers.collect::<Vec<bool>>())
        })),
        other => Err(not_for(other)),
    }
}

/// Any type can be compared.
fn equal(left: &Tensor, right: &Tensor, wanted: bool) -> Result<Tensor, String> {
    if left.dtype() != right.dtype() {
        return Err(format!("{} and {} are not compared", left.dtype(), right.dtype()));
    }
    let shape = shape_of(left.shape(), right.shape())?;
    fn compare<T: Element>(
        of_type: &[T],
        left: &Tensor,
        right: &Tensor,
        shape: &[usize],
        wanted: bool,
    ) -> Result<Vec<bool>, String> {
        if let ([only], true) = (values::<T>(right)?, left.shape() == shape) {
            return Ok(of_type.iter().map(|value| (value == only) == wanted).collect());
        }
        let (left, right) = (stretched::<T>(left, shape)?, stretched::<T>(right, shape)?);
        Ok(left
            .iter()
            .zip(&right)
            .map(|(left, right)| (left == right) == wanted)
            .collect())
    }
    let answers = with_buffer!(left.data(), buffer => compare(buffer, left, right, &shape, wanted))?;
    made(&shape, answers)
}

fn select(condition: &Tensor, yes: &Tensor, no: &Tensor) -> Result<Tensor, String> {
    let shape = shape_of(condition.shape(), &shape_of(yes.shape(), no.shape())?)?;
    if yes.dtype() != no.dtype() {
        return Err(format!("{} and {} are not chosen from", yes.dtype(), no.dtype()));
    }
    fn choose<T: Element>(
        _of_type: &[T],
        conditions: &[bool],
        yes: &Tensor,
        no: &Tensor,
        shape: &[usize],
    ) -> Result<Tensor, String> {
        let (yes, no) = (stretched::<T>(yes, shape)?, stretched::<T>(no, shape)?);
        let chosen = conditions.iter().zip(yes.into_iter().zip(no));
        made(
            shape,
            chosen
                .map(|(condition, (yes, no))| if *condition { yes } else { no })
                .collect(),
        )
    }
    let conditions = stretched::<bool>(condition, &shape)?;
    with_buffer!(yes.data(), buffer => choose(buffer, &conditions, yes, no, &shape))
}
