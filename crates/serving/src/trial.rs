//! A model is tried before it serves: made-up rows warm it, and show whether rows may be answered together.

use std::collections::BTreeSet;

use bytes::Bytes;
use prost::Message as _;
use saved_model::{
    DType, Data, Model, Port, Signature, Tensor,
    proto::Example,
    write::{CLASSIFY, REGRESS},
};

/// A size that may be any is this one in made-up rows.
const SIZE: usize = 4;
/// Rows that are larger are not made up.
const MOST_VALUES: usize = 1 << 22;
/// Sums may be added up in another order for other sizes.
const TOLERANCE: f64 = 1e-3;

/// The signatures whose rows may be answered together: the first dimension is free everywhere, and made-up rows get
/// the same answers together as alone.
pub(crate) fn batchable(model: &Model) -> BTreeSet<String> {
    let signatures = model.signatures().iter();
    signatures
        .filter(|(_, signature)| answers_rows(signature))
        .map(|(name, _)| name.clone())
        .collect()
}

fn answers_rows(signature: &Signature) -> bool {
    let ports = || signature.inputs().iter().chain(signature.outputs());
    let has_rows = !signature.inputs().is_empty() && ports().all(Port::has_free_rows);
    let takes_examples = [CLASSIFY, REGRESS].contains(&signature.definition().method_name.as_str());
    let mut chance = fastrand::Rng::with_seed(8);
    let mut row = || -> Option<Vec<Tensor>> {
        let ports = signature.inputs().iter();
        ports
            .map(|port| made_up(port, takes_examples, &mut chance))
            .collect()
    };
    // Whatever is not batched is tried all the same: the first run of a model is its slowest.
    let (Some(first), Some(second)) = (row(), row()) else {
        return false;
    };
    let alone: Vec<_> = [first.clone(), second.clone()]
        .into_iter()
        .map(|row| signature.run(row))
        .collect();
    if !has_rows {
        return false;
    }
    let both = first
        .into_iter()
        .zip(second)
        .map(|(first, second)| Tensor::stacked(&[first, second]));
    let Some(both) = both.collect::<Option<Vec<Tensor>>>() else {
        return false;
    };
    let (Ok(together), [Ok(first), Ok(second)]) = (signature.run(both), alone.as_slice()) else {
        return false;
    };
    let parts = |index: usize| {
        together
            .iter()
            .map(move |tensor| tensor.rows(index, 1).filter(|_| tensor.shape()[0] == 2))
    };
    let same = |index: usize, alone: &[Tensor]| {
        parts(index)
            .zip(alone)
            .all(|(part, alone)| part.is_some_and(|part| is_close(&part, alone)))
    };
    same(0, first) && same(1, second)
}

/// One row for an input. None where its shape says too little, or it would be too large.
fn made_up(port: &Port, takes_examples: bool, chance: &mut fastrand::Rng) -> Option<Tensor> {
    let mut shape: Vec<usize> = port
        .shape
        .as_ref()?
        .iter()
        .map(|size| size.unwrap_or(SIZE))
        .collect();
    if port.has_free_rows() {
        shape[0] = 1;
    }
    let count = shape
        .iter()
        .try_fold(1_usize, |product, size| product.checked_mul(*size))?;
    if count > MOST_VALUES {
        return None;
    }
    macro_rules! values {
        ($value:expr) => {
            Tensor::new(
                shape.as_slice(),
                (0..count).map(|_| $value).collect::<Vec<_>>(),
            )
        };
    }
    // Integers are often places in tables, so they are small.
    match port.dtype {
        DType::F32 => values!(chance.f32()),
        DType::F64 => values!(chance.f64()),
        DType::I8 => values!(chance.i8(0..2)),
        DType::I16 => values!(chance.i16(0..2)),
        DType::I32 => values!(chance.i32(0..2)),
        DType::I64 => values!(chance.i64(0..2)),
        DType::U8 => values!(chance.u8(0..2)),
        DType::U16 => values!(chance.u16(0..2)),
        DType::U32 => values!(chance.u32(0..2)),
        DType::U64 => values!(chance.u64(0..2)),
        DType::Bool => values!(chance.bool()),
        DType::Text if takes_examples => values!(Bytes::from(Example::default().encode_to_vec())),
        DType::Text => values!(Bytes::from(chance.lowercase().to_string())),
        DType::List => None,
    }
}

fn is_close(left: &Tensor, right: &Tensor) -> bool {
    let close = |left: f64, right: f64| {
        // Not a number is like itself here.
        (left.is_nan() && right.is_nan())
            || left.total_cmp(&right).is_eq()
            || (left - right).abs() <= TOLERANCE * left.abs().max(1.0)
    };
    if left.shape() != right.shape() {
        return false;
    }
    match (left.data(), right.data()) {
        (Data::F32(left), Data::F32(right)) => left
            .iter()
            .zip(right.iter())
            .all(|(left, right)| close(f64::from(*left), f64::from(*right))),
        (Data::F64(left), Data::F64(right)) => left
            .iter()
            .zip(right.iter())
            .all(|(left, right)| close(*left, *right)),
        (left, right) => left == right,
    }
}
