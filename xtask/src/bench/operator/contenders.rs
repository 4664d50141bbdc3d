//! Who is measured, and by what name.

use std::path::Path;

use anyhow::Result;

use super::{Name, scrape};
use crate::operators::{Limits, Operator, Running};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Contender {
    An(Operator),
    /// Nobody: the client makes the pods itself.
    Client,
}

impl Contender {
    pub(super) fn operator(self) -> Name {
        match self {
            Self::An(Operator::Ours) => Name::Ours,
            Self::An(Operator::Training(_)) => Name::TrainingOperator,
            Self::An(Operator::Mpi(_)) => Name::MpiOperator,
            Self::Client => Name::Client,
        }
    }

    /// Whether it keeps to a few requests a second, as the originals do unless told otherwise.
    pub(super) fn is_throttled(self) -> bool {
        matches!(
            self,
            Self::An(Operator::Training(Limits::AsShipped) | Operator::Mpi(Limits::AsShipped))
        )
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::An(Operator::Ours) => "ours",
            Self::An(Operator::Training(Limits::Raised)) => "training-operator, limits raised",
            Self::An(Operator::Training(Limits::AsShipped)) => "training-operator, as shipped",
            Self::An(Operator::Mpi(Limits::Raised)) => "mpi-operator, limits raised",
            Self::An(Operator::Mpi(Limits::AsShipped)) => "mpi-operator, as shipped",
            Self::Client => "a client alone",
        }
    }

    /// For a client alone it is ours, which brings the definitions.
    pub(super) fn start(self, binaries: &Path, kubeconfig: &Path, logs: &Path) -> Result<Running> {
        let operator = match self {
            Self::An(operator) => operator,
            Self::Client => Operator::Ours,
        };
        operator.start(binaries, kubeconfig, logs)
    }
}

/// In milliseconds, where it is told.
pub(super) fn reconcile_p99(operator: &Running) -> Option<f64> {
    scrape::quantile(&scrape::get(operator.metrics?).ok()?, 0.99).map(|seconds| seconds * 1e3)
}
