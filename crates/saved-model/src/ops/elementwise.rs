//! Ops that go value by value.

use std::sync::Arc;

use super::{
    Made,
    broadcast::{shape_of, stretched, zip, zip_into},
    from, from_all, made, made_of, not_for, values,
};
use crate::{
    graph::Attributes as _,
    plan::Inputs,
    proto::NodeDef,
    tensor::{DType, Element, Tensor, with_buffer},
};

/// Numbers that are computed with. Integers wrap around, as in TensorFlow.
pub(super) trait Number: Element + Copy + PartialOrd {
    const ZERO: Self;
    const ONE: Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
    /// Rounded down, not towards zero.
    fn over_floor(self, other: Self) -> Self;
    /// With the sign of the divisor.
    fn modulo(self, other: Self) -> Self;
    fn remainder(self, other: Self) -> Self;
    fn power(self, other: Self) -> Self;
    fn greater(self, other: Self) -> Self;
    fn lesser(self, other: Self) -> Self;
    fn negative(self) -> Self;
    fn absolute(self) -> Self;
    fn direction(self) -> Self;
    fn wide(self) -> f64;
}

macro_rules! float {
    ($type:ty) => {
        impl Number for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn minus(self, other: Self) -> Self {
                self - other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn over(self, other: Self) -> Self {
                self / other
            }
            fn over_floor(self, other: Self) -> Self {
                (self / other).floor()
            }
            fn modulo(self, other: Self) -> Self {
                let rest = self % other;
                if rest != 0.0 && (rest < 0.0) != (other < 0.0) {
                    rest + other
                } else {
                    rest
                }
            }
            fn remainder(self, other: Self) -> Self {
                self % other
            }
            fn power(self, other: Self) -> Self {
                self.powf(other)
            }
            fn greater(self, other: Self) -> Self {
                // What is not a number stays so.
                if self >= other || self.is_nan() {
                    self
                } else {
                    other
                }
            }
            fn lesser(self, other: Self) -> Self {
                if self <= other || self.is_nan() {
                    self
                } else {
                    other
                }
            }
            fn negative(self) -> Self {
                -self
            }
            fn absolute(self) -> Self {
                self.abs()
            }
            fn wide(self) -> f64 {
                self as f64
            }
            fn direction(self) -> Self {
                if self == 0.0 || self.is_nan() {
                    self
                } else {
                    self.signum()
                }
            }
        }
    };
}

macro_rules! int {
    ($type:ty) => {
        impl Number for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            // Division by zero is refused before.
            fn over(self, other: Self) -> Self {
                self.checked_div(other).unwrap_or(self)
            }
            fn over_floor(self, other: Self) -> Self {
                let quotient = self.over(other);
                if self.remainder(other) != 0 && (self < 0) != (other < 0) {
                    quotient - 1
                } else {
                    quotient
                }
            }
            fn modulo(self, other: Self) -> Self {
                let rest = self.remainder(other);
                if rest != 0 && (rest < 0) != (other < 0) {
                    rest + other
                } else {
                    rest
                }
            }
            fn remainder(self, other: Self) -> Self {
                self.checked_rem(other).unwrap_or(0)
            }
            fn power(self, other: Self) -> Self {
                u32::try_from(other).map_or(0, |exponent| self.wrapping_pow(exponent))
            }
            fn greater(self, other: Self) -> Self {
                self.max(other)
            }
            fn lesser(self, other: Self) -> Self {
                self.min(other)
            }
            fn negative(self) -> Self {
                self.wrapping_neg()
            }
            fn absolute(self) -> Self {
                self.wrapping_abs()
            }
            fn wide(self) -> f64 {
                self as f64
            }
            fn direction(self) -> Self {
                self.signum()
            }
        }
    };
}

float!(f32);
float!(f64);
int!(i32);
int!(i64);

/// The same kernel for each type of number, chosen once by the attribute.
macro_rules! by_number {
    ($node:expr, $attribute:expr, $T:ident => $kernel:expr) => {
        match $node.dtype($attribute) {
            Ok(crate::tensor::DType::F32) => {
                type $T = f32;
                Ok($kernel)
            }
            Ok(crate::tensor::DType::F64) => {
                type $T = f64;
                Ok($kernel)
            }
            Ok(crate::tensor::DType::I32) => {
                type $T = i32;
                Ok($kernel)
            }
            Ok(crate::tensor::DType::I64) => {
                type $T = i64;
                Ok($kernel)
            }
            Ok(other) => Err(crate::ops::not_for(other)),
            Err(what) => Err(what),
        }
    };
}
pub(super) use by_number;

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

macro_rules! comparison {
    ($node:expr, $operator:tt) => {
        by_number!($node, "T", T => from(|[left, right]| zip(&left, &right, |left: T, right: T| left $operator right)))
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
        "IsNan" => test(node, f64::is_nan),
        "IsInf" => test(node, f64::is_infinite),
        "IsFinite" => test(node, f64::is_finite),
        "ClipByValue" => by_number!(node, "T", T => from(|[tensor, least, most]| {
            let raised = zip_into(tensor, &least, <T as Number>::greater)?;
            zip_into(raised, &most, <T as Number>::lesser)
        })),
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
        "Cast" => cast(node),
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

fn cast(node: &NodeDef) -> Made {
    let to = node.dtype("DstT")?;
    let from_type = node.dtype("SrcT")?;
    for dtype in [from_type, to] {
        if matches!(dtype, DType::Text | DType::List) {
            return Err(not_for(dtype));
        }
    }
    Ok(from(move |[tensor]| cast_to(tensor, to)))
}

/// Values of another type, as C casts them.
pub(super) fn cast_to(tensor: Tensor, to: DType) -> Result<Tensor, String> {
    if tensor.dtype() == to {
        return Ok(tensor);
    }
    macro_rules! cast {
        ($values:expr, $($variant:ident => $type:ty,)*) => {
            match to {
                $(DType::$variant => made(tensor.shape(), $values.iter().map(|value| *value as $type).collect::<Vec<_>>()),)*
                DType::Bool => made(tensor.shape(), $values.iter().map(|value| *value != Default::default()).collect::<Vec<bool>>()),
                other => Err(not_for(other)),
            }
        };
    }
    macro_rules! from_each {
        ($($variant:ident),*) => {
            match tensor.data() {
                $(crate::tensor::Data::$variant(values) => cast!(values,
                    F32 => f32, F64 => f64, I8 => i8, I16 => i16, I32 => i32, I64 => i64,
                    U8 => u8, U16 => u16, U32 => u32, U64 => u64,
                ),)*
                crate::tensor::Data::Bool(values) => {
                    let numbers = made(tensor.shape(), values.iter().map(|value| u8::from(*value)).collect::<Vec<_>>())?;
                    cast_to(numbers, to)
                }
                other => Err(not_for(other.dtype())),
            }
        };
    }
    from_each!(F32, F64, I8, I16, I32, I64, U8, U16, U32, U64)
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

    #[test]
    fn division_rounds_down_where_it_is_asked_to() {
        assert_eq!((-7_i32).over_floor(2), -4);
        assert_eq!((-7_i32).modulo(2), 1);
        assert_eq!(7_i64.modulo(-2), -1);
        assert_eq!((-7_i32).over(2), -3);
        assert!((5.5_f32.modulo(-2.0) + 0.5).abs() < 1e-6);
    }
}
