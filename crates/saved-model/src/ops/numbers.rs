//! What kernels do with numbers of every type.

use crate::tensor::Element;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_down_where_it_is_asked_to() {
        assert_eq!((-7_i32).over_floor(2), -4);
        assert_eq!((-7_i32).modulo(2), 1);
        assert_eq!(7_i64.modulo(-2), -1);
        assert_eq!((-7_i32).over(2), -3);
        assert!((5.5_f32.modulo(-2.0) + 0.5).abs() < 1e-6);
    }
}
