//! What is done for a request: steps over slots, in the order they were found to depend on each other.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::tensor::Tensor;

pub(crate) type Inputs = SmallVec<[Tensor; 4]>;
pub(crate) type Outputs = SmallVec<[Tensor; 1]>;

/// What a node does, made once from its attributes.
pub(crate) type Kernel = Box<dyn Fn(Inputs) -> Result<Outputs, String> + Send + Sync>;

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Slot {
        slot: usize,
        /// Nobody needs it afterwards, so it is given away and may be changed in place.
        is_last: bool,
    },
    Constant(Tensor),
}

pub(crate) struct Step {
    pub(crate) kernel: Kernel,
    pub(crate) inputs: SmallVec<[Source; 4]>,
    /// The slot of the first output.
    pub(crate) first: usize,
    pub(crate) outputs: usize,
    pub(crate) node: Arc<str>,
    pub(crate) op: Arc<str>,
}

/// A node that could not do its work on these inputs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (op {op}, node `{node}`)")]
pub struct RunError {
    pub op: String,
    pub node: String,
    pub what: String,
}

pub(crate) struct Plan {
    /// Inputs are in the first slots.
    pub(crate) inputs: usize,
    pub(crate) slots: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<Source>,
}

impl Plan {
    /// Marks where each slot is needed for the last time.
    pub(crate) fn finish(mut self) -> Self {
        let mut seen = vec![false; self.slots];
        let later = self.outputs.iter_mut().rev();
        let earlier = self
            .steps
            .iter_mut()
            .rev()
            .flat_map(|step| step.inputs.iter_mut().rev());
        for source in later.chain(earlier) {
            if let Source::Slot { slot, is_last } = source {
                *is_last = !std::mem::replace(&mut seen[*slot], true);
            }
        }
        self
    }

    pub(crate) fn run(&self, inputs: impl IntoIterator<Item = Tensor>) -> Result<Vec<Tensor>, RunError> {
        let mut slots: Vec<Option<Tensor>> = inputs.into_iter().map(Some).collect();
        debug_assert_eq!(slots.len(), self.inputs);
        slots.resize(self.slots, None);
        for step in &self.steps {
            step.run(&mut slots)?;
        }
        let outputs = self.outputs.iter().map(|source| take(source, &mut slots));
        outputs.collect::<Option<_>>().ok_or_else(|| RunError {
            op: "output".to_owned(),
            node: String::new(),
            what: "an output was never computed".to_owned(),
        })
    }
}

impl Step {
    fn run(&self, slots: &mut [Option<Tensor>]) -> Result<(), RunError> {
        let failed = |what: String| RunError {
            op: self.op.to_string(),
            node: self.node.to_string(),
            what,
        };
        let inputs: Option<Inputs> = self.inputs.iter().map(|source| take(source, slots)).collect();
        let inputs = inputs.ok_or_else(|| failed("an input was never computed".to_owned()))?;
        let outputs = (self.kernel)(inputs).map_err(failed)?;
        if outputs.len() != self.outputs {
            return Err(failed(format!(
                "it gave {} outputs, not {}",
                outputs.len(),
                self.outputs
            )));
        }
        for (slot, output) in slots[self.first..].iter_mut().zip(outputs) {
            *slot = Some(output);
        }
        Ok(())
    }
}

fn take(source: &Source, slots: &mut [Option<Tensor>]) -> Option<Tensor> {
    match source {
        Source::Constant(tensor) => Some(tensor.clone()),
        Source::Slot { slot, is_last: true } => slots[*slot].take(),
        Source::Slot { slot, is_last: false } => slots[*slot].clone(),
    }
}
