//! What controllers of pods have in common: which pods are theirs, how they fare, which go first.

pub(crate) mod act;
pub(crate) mod claim;
pub(crate) mod conditions;
pub(crate) mod health;
pub(crate) mod make;
pub(crate) mod order;
