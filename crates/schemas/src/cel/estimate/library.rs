//! The costs of functions of the Kubernetes and extension libraries.

use super::{CallCost, Estimator, NAMED_FORMAT_LENGTH, REGEX_FACTOR, STRING_FACTOR, range::Range};
use crate::cel::{
    signatures::Signature,
    syntax::{Expr, Literal, Node},
    types::Type,
};

impl Estimator<'_> {
    /// Functions of the Kubernetes libraries.
    pub(super) fn library_cost(
        &mut self,
        function: &str,
        signature: &Signature,
        target: Option<&Expr>,
        args: &[Expr],
    ) -> Option<CallCost> {
        let of_size = |size: Range| CallCost {
            cost: size.scaled(STRING_FACTOR),
            size: Some(size),
        };
        Some(match (function, target) {
            ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(target)) => {
                let size = self.size_or_unknown(target);
                match self.item_of(target) {
                    Some((of, item)) => {
                        let mut each = Range::ONE;
                        if matches!(of, Type::Text | Type::Bytes) {
                            each = each.plus(item.scaled(STRING_FACTOR));
                        }
                        size.times(each).into()
                    }
                    None => size.scaled(STRING_FACTOR).into(),
                }
            }
            ("url", None) => of_size(self.size_or_unknown(&args[0])),
            ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(target)) => {
                of_size(self.size_or_unknown(target))
            }
            ("replace", Some(target)) => {
                let (text, from, to) = (
                    self.size_or_unknown(target),
                    self.size_or_unknown(&args[0]),
                    self.size_or_unknown(&args[1]),
                );
                CallCost {
                    cost: text.scaled(2.0 * STRING_FACTOR),
                    size: Some(replaced(text, from, to)),
                }
            }
            ("split", Some(target)) => {
                let text = self.size_or_unknown(target);
                let max = match args.get(1).map(|limit| &limit.node) {
                    Some(Node::Literal(Literal::Int(limit))) => *limit as u64,
                    _ => text.max,
                };
                CallCost {
                    cost: text.scaled(2.0 * STRING_FACTOR),
                    size: Some(Range { min: 0, max }),
                }
            }
            ("join", Some(target)) => {
                let list = self.size_or_unknown(target);
                let mut size = self
                    .item_of(target)
                    .map_or(Range::ZERO, |(_, item)| list.times(item));
                if let Some(separator) = args.first() {
                    let count = Range {
                        min: list.min.saturating_sub(1),
                        max: list.max.saturating_sub(1),
                    };
                    size = size.plus(self.size_or_unknown(separator).times(count));
                }
                of_size(size)
            }
            ("find" | "findAll", Some(target)) => {
                let text = self.size_or_unknown(target);
                let regex = self.size_or_unknown(&args[0]).scaled(REGEX_FACTOR);
                let cost = text.plus(Range::ONE).scaled(STRING_FACTOR).times(regex);
                CallCost {
                    cost,
                    size: Some(Range {
                        min: 0,
                        max: text.max,
                    }),
                }
            }
            ("cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" | "ip", None) => {
                self.size_or_unknown(&args[0]).scaled(STRING_FACTOR).into()
            }
            ("ip.isCanonical", _) => self.size_or_unknown(&args[0]).scaled(2.0 * STRING_FACTOR).into(),
            ("containsIP" | "containsCIDR", _) => {
                let address = Range { min: 4, max: 16 };
                let mut cost = address.plus(address).scaled(STRING_FACTOR);
                if function == "containsCIDR" {
                    cost = cost.plus(address.scaled(STRING_FACTOR)).plus(Range::ONE);
                }
                if matches!(signature.params.get(1), Some(Type::Text)) {
                    cost = cost.plus(self.size_or_unknown(&args[0]).scaled(STRING_FACTOR));
                }
                cost.into()
            }
            ("validate", _) => {
                let text = self.size_or_unknown(&args[0]).scaled(STRING_FACTOR);
                text.scaled(NAMED_FORMAT_LENGTH * REGEX_FACTOR).into()
            }
            _ => return None,
        })
    }
}

/// How long a text can be after replacements: shortest parts by the longest, or the other way round.
fn replaced(text: Range, from: Range, to: Range) -> Range {
    let ceil = |size: u64, part: u64| (size as f64 / part as f64).ceil() as u64;
    let max = if from.min == 0 {
        text.max
            .saturating_add(1)
            .saturating_mul(to.max)
            .saturating_add(text.max)
    } else if to.max <= from.min {
        text.max
    } else {
        ceil(text.max, from.min).saturating_mul(to.max)
    };
    let min = if from.max == 0 {
        text.min
            .saturating_add(1)
            .saturating_mul(to.min)
            .saturating_add(text.min)
    } else if from.max <= to.min {
        text.min
    } else {
        ceil(text.min, from.max).saturating_mul(to.min)
    };
    Range { min, max }
}
