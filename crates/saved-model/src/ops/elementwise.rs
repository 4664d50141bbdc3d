//! Ops that compute value by value.

use std::sync::Arc;

use super::{
    Made,
    broadcast::{shape_of, stretched, zip, zip_into},
    from, from_all, made, made_of, not_for,
    numbers::{Number, by_number},
    values,
};
use crate::{
    graph::Attributes as _,
    plan::Inputs,
    proto::NodeDef,
    tensor::{DType, Element, Tensor},
};

/// A kernel of two numbers.
macro_rules! arithmetic {
    ($node:expr, $method:ident) => {
        by_number!($node, "T", T => from(|[left, right]| zip_into(left, &right, <T as Number>::$method)))
    };
}

/// A kernel of two integers or floats, where integers must not be divided by zero.
macro_rules! division {
    ($node:expr, $method:ident) => {
        by_number!($node, "T", T => from(|[left, right]| {
            let divisors = values::<T>(&right)?;
            if matches!(T::DTYPE, DType::I32 | DType::I64) && divisors.contains(&<T as Number>::ZERO) {
                return Err("division by zero".to_owned());
            }
            zip_into(left, &right, <T as Number>::$method)
        }))
    };
}

/// A kernel of one float.
macro_rules! float_function {
    ($node:expr, $function:expr) => {
        match $node.dtype("T") {
            Ok(DType::F32) => Ok(from(|[tensor]| {
                let function: fn(f64) -> f64 = $function;
                map(tensor, |value: f32| function(f64::from(value)) as f32)
            })),
            Ok(DType::F64) => Ok(from(|[tensor]| {
                let function: fn(f64) -> f64 = $function;
                map(tensor, function)
            })),
            Ok(other) => Err(not_for(other)),
            Err(what) => Err(what),
        }
    };
}

/// The same in the width the values have, where that is exact enough.
macro_rules! float_method {
    ($node:expr, $value:ident => $result:expr) => {
        match $node.dtype("T") {
            Ok(DType::F32) => Ok(from(|[tensor]| map(tensor, |$value: f32| $result))),
            Ok(DType::F64) => Ok(from(|[tensor]| map(tensor, |$value: f64| $result))),
            Ok(other) => Err(not_for(other)),
            Err(what) => Err(what),
        }
    };
}

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "Add" | "AddV2" if node.type_number("T") == DType::Text.number() => {
            Ok(from(|[left, right]| join(&left, &right)))
        }
        "Add" | "AddV2" => arithmetic!(node, plus),
        "Sub" => arithmetic!(node, minus),
        "Mul" => arithmetic!(node, times),
        "Div" | "RealDiv" | "TruncateDiv" => division!(node, over),
        "FloorDiv" => division!(node, over_floor),
        "FloorMod" => division!(node, modulo),
        "Mod" | "TruncateMod" => division!(node, remainder),
        "DivNoNan" => {
            by_number!(node, "T", T => from(|[left, right]| zip(&left, &right, |left: T, right: T| {
                if right == T::ZERO { T::ZERO } else { left.over(right) }
            })))
        }
        "MulNoNan" => {
            by_number!(node, "T", T => from(|[left, right]| zip(&left, &right, |left: T, right: T| {
                if right == T::ZERO { T::ZERO } else { left.times(right) }
            })))
        }
        "Pow" => arithmetic!(node, power),
        "Maximum" => arithmetic!(node, greater),
        "Minimum" => arithmetic!(node, lesser),
        "SquaredDifference" => {
            by_number!(node, "T", T => from(|[left, right]| zip_into(left, &right, |left: T, right| {
                let difference = left.minus(right);
                difference.times(difference)
            })))
        }
        "AddN" => by_number!(node, "T", T => from_all(sum::<T>)),
        "Neg" => by_number!(node, "T", T => from(|[tensor]| map(tensor, <T as Number>::negative))),
        "Abs" => by_number!(node, "T", T => from(|[tensor]| map(tensor, <T as Number>::absolute))),
        "Sign" => by_number!(node, "T", T => from(|[tensor]| map(tensor, <T as Number>::direction))),
        "Square" => by_number!(node, "T", T => from(|[tensor]| map(tensor, |value: T| value.times(value)))),
        "Relu" => by_number!(node, "T", T => from(|[tensor]| map(tensor, |value: T| value.greater(T::ZERO)))),
        "Relu6" => float_method!(node, value => value.clamp(0.0, 6.0)),
        "LeakyRelu" => {
            let slope = node.float("alpha").unwrap_or(0.2);
            match node.dtype("T") {
                Ok(DType::F32) => Ok(from(move |[tensor]| {
                    map(
                        tensor,
                        |value: f32| if value > 0.0 { value } else { value * slope },
                    )
                })),
                Ok(DType::F64) => Ok(from(move |[tensor]| {
                    map(tensor, |value: f64| {
                        if value > 0.0 {
                            value
                        } else {
                            value * f64::from(slope)
                        }
                    })
                })),
                Ok(other) => Err(not_for(other)),
                Err(what) => Err(what),
            }
        }
        "Elu" => float_method!(node, value => if value < 0.0 { value.exp_m1() } else { value }),
        "Selu" => float_method!(node, value => {
            let scaled = if value < 0.0 { 1.673_263_242_354_377_2 * value.exp_m1() } else { value };
            1.050_700_987_355_480_5 * scaled
        }),
        "Exp" => float_method!(node, value => value.exp()),
        "Expm1" => float_method!(node, value => value.exp_m1()),
        "Log" => float_method!(node, value => value.ln()),
        "Log1p" => float_method!(node, value => value.ln_1p()),
        "Sqrt" => float_method!(node, value => value.sqrt()),
        "Rsqrt" => float_method!(node, value => 1.0 / value.sqrt()),
        "Reciprocal" | "Inv" => float_method!(node, value => 1.0 / value),
        "Sin" => float_method!(node, value => value.sin()),
        "Cos" => float_method!(node, value => value.cos()),
        "Tan" => float_method!(node, value => value.tan()),
        "Atan" => float_method!(node, value => value.atan()),
        "Sinh" => float_method!(node, value => value.sinh()),
        "Cosh" => float_method!(node, value => value.cosh()),
        "Tanh" => float_method!(node, value => value.tanh()),
        "Sigmoid" => float_method!(node, value => 1.0 / (1.0 + (-value).exp())),
        // For large values the sum is the value, and the power would be out of bounds.
        "Softplus" => float_method!(node, value => if value > 30.0 { value } else { value.exp().ln_1p() }),
        "Softsign" => float_method!(node, value => value / (1.0 + value.abs())),
        "Erf" => float_function!(node, erf),
        "Erfc" => float_function!(node, |value| 1.0 - erf(value)),
        "Floor" => float_method!(node, value => value.floor()),
        "Ceil" => float_method!(node, value => value.ceil()),
        "Round" | "Rint" if matches!(node.type_number("T"), 3 | 9) => Ok(from(|[tensor]| Ok(tensor))),
        "Round" | "Rint" => float_method!(node, value => value.round_ties_even()),
        "ClipByValue" => by_number!(node, "T", T => from(|[tensor, least, most]| {
            let raised = zip_into(tensor, &least, <T as Number>::greater)?;
            zip_into(raised, &most, <T as Number>::lesser)
        })),
        _ => return None,
    })
}

/// One value after the other, in place where nobody else has them.
pub(super) fn map<T: Element + Copy>(tensor: Tensor, change: impl Fn(T) -> T) -> Result<Tensor, String> {
    let (shape, data) = tensor.into_parts();
    let mut buffer = match T::from_data(data) {
        Ok(buffer) => buffer,
        Err(data) => return Err(format!("{} is wanted, not {}", T::DTYPE, data.dtype())),
    };
    match Arc::get_mut(&mut buffer) {
        Some(values) => {
            for value in values {
                *value = change(*value);
            }
        }
        None => buffer = Arc::new(buffer.iter().map(|value| change(*value)).collect()),
    }
    made_of(shape, T::data(buffer))
}

fn sum<T: Number>(inputs: Inputs) -> Result<Tensor, String> {
    let mut inputs = inputs.into_iter();
    let mut sum = inputs.next().ok_or("there is nothing to add")?;
    for input in inputs {
        sum = zip_into(sum, &input, T::plus)?;
    }
    Ok(sum)
}

fn join(left: &Tensor, right: &Tensor) -> Result<Tensor, String> {
    let shape = shape_of(left.shape(), right.shape())?;
    let left = stretched::<bytes::Bytes>(left, &shape)?;
    let right = stretched::<bytes::Bytes>(right, &shape)?;
    let joined = left
        .iter()
        .zip(&right)
        .map(|(left, right)| [left.as_ref(), right.as_ref()].concat().into());
    made(&shape, joined.collect::<Vec<bytes::Bytes>>())
}

/// The error function: a series near zero, a continued fraction away from it; exact to the last digits of a float of
/// double width.
fn erf(value: f64) -> f64 {
    let size = value.abs();
    if value.is_nan() {
        return value;
    }
    if size > 6.0 {
        return value.signum();
    }
    if size < 2.5 {
        let square = value * value;
        let (mut term, mut sum, mut count) = (value, value, 0.0);
        while term.abs() > 1e-17 * sum.abs() && count < 200.0 {
            count += 1.0;
            term *= -square / count;
            sum += term / (2.0 * count + 1.0);
        }
        return sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    let mut fraction = 0.0;
    for step in (1..=60).rev() {
        fraction = f64::from(step) * 0.5 / (size + fraction);
    }
    let rest = (-size * size).exp() / (size + fraction) / std::f64::consts::PI.sqrt();
    value.signum() * (1.0 - rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_is_exact() {
        let wanted = [
            (0.0, 0.0),
            (0.1, 0.112_462_916_018_284_9),
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (2.0, 0.995_322_265_018_952_7),
            (2.4, 0.999_311_486_103_355),
            (2.6, 0.999_763_965_583_471),
            (4.0, 0.999_999_984_582_742_1),
            (-1.5, -0.966_105_146_475_310_8),
            (7.0, 1.0),
        ];
        for (value, result) in wanted {
            assert!(
                (erf(value) - result).abs() < 1e-14,
                "erf({value}) = {}",
                erf(value)
            );
        }
    }
}
