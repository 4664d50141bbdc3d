//! A model that answers: its signatures, each with a plan.

mod load;

use std::collections::BTreeMap;

pub use load::{LoadError, Wanted};

use crate::{
    plan::{Plan, RunError},
    proto::SignatureDef,
    tensor::{DType, Tensor},
};

/// What TensorFlow calls a signature that is not named.
pub const DEFAULT_SIGNATURE: &str = "serving_default";

/// A loaded model. It never changes, so any number of threads may ask it at once.
pub struct Model {
    signatures: BTreeMap<String, Signature>,
    bytes: usize,
}

impl Model {
    pub fn signatures(&self) -> &BTreeMap<String, Signature> {
        &self.signatures
    }

    pub fn signature(&self, name: &str) -> Option<&Signature> {
        self.signatures.get(name)
    }

    /// About how much memory its variables take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// One way to ask a model.
pub struct Signature {
    definition: SignatureDef,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    plan: Plan,
}

/// An input or output of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    pub name: String,
    pub dtype: DType,
    /// The sizes, none where any will do; no shape at all where even the rank may be any.
    pub shape: Option<Vec<Option<usize>>>,
    /// Instead of what is not given.
    pub default: Option<Tensor>,
}

impl Port {
    /// Whether a tensor may be given here.
    pub fn fits(&self, tensor: &Tensor) -> bool {
        let sizes = self.shape.as_deref();
        let same = |shape: &[Option<usize>]| {
            shape.len() == tensor.rank()
                && shape
                    .iter()
                    .zip(tensor.shape())
                    .all(|(wanted, size)| wanted.is_none_or(|wanted| wanted == *size))
        };
        tensor.dtype() == self.dtype && sizes.is_none_or(same)
    }

    /// Whether the first dimension is free, as for rows that have nothing to do with each other.
    pub fn has_free_rows(&self) -> bool {
        matches!(self.shape.as_deref(), Some([None, ..]))
    }
}

/// Why a request cannot be answered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AskError {
    #[error("the input `{name}` is missing")]
    Missing { name: String },
    #[error("the input `{name}` is {dtype} of shape {}, not {given:?}", shown(shape.as_deref()))]
    Misfit {
        name: String,
        dtype: DType,
        shape: Option<Vec<Option<usize>>>,
        given: Tensor,
    },
    #[error(transparent)]
    Run(#[from] RunError),
}

/// A shape as people read it: `[?, 28, 28]`.
pub fn shown(shape: Option<&[Option<usize>]>) -> String {
    let Some(sizes) = shape else {
        return "any".to_owned();
    };
    let sizes: Vec<String> = sizes
        .iter()
        .map(|size| size.map_or_else(|| "?".to_owned(), |size| size.to_string()))
        .collect();
    format!("[{}]", sizes.join(", "))
}

impl Signature {
    /// As it was written by whoever exported the model.
    pub fn definition(&self) -> &SignatureDef {
        &self.definition
    }

    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// How many steps a request takes.
    pub fn steps(&self) -> usize {
        self.plan.steps.len()
    }

    /// The given tensors in the order of the inputs, if all are there and fit. What else is given is not looked at.
    pub fn arrange(&self, mut given: BTreeMap<String, Tensor>) -> Result<Vec<Tensor>, AskError> {
        let mut arranged = Vec::with_capacity(self.inputs.len());
        for port in &self.inputs {
            let tensor = given.remove(&port.name).or_else(|| port.default.clone());
            let tensor = tensor.ok_or_else(|| AskError::Missing {
                name: port.name.clone(),
            })?;
            if !port.fits(&tensor) {
                return Err(AskError::Misfit {
                    name: port.name.clone(),
                    dtype: port.dtype,
                    shape: port.shape.clone(),
                    given: tensor,
                });
            }
            arranged.push(tensor);
        }
        Ok(arranged)
    }

    /// Computes the outputs, in their order, from the inputs in theirs.
    pub fn run(&self, inputs: Vec<Tensor>) -> Result<Vec<Tensor>, RunError> {
        if inputs.len() != self.inputs.len() {
            return Err(RunError {
                op: "input".to_owned(),
                node: String::new(),
                what: format!("{} inputs are given, not {}", inputs.len(), self.inputs.len()),
            });
        }
        self.plan.run(inputs)
    }

    /// All at once, by name.
    pub fn ask(&self, given: BTreeMap<String, Tensor>) -> Result<BTreeMap<String, Tensor>, AskError> {
        let outputs = self.run(self.arrange(given)?)?;
        let names = self.outputs.iter().map(|port| port.name.clone());
        Ok(names.zip(outputs).collect())
    }
}
