//! From a graph of ONNX to one of TensorFlow, node by node.

mod arrays;
mod networks;
mod numbers;

use std::{collections::BTreeMap, fmt};

use saved_model::{
    DType, Tensor,
    proto::{ListValue, attr_value::Value},
    write::{Output, PREDICT, Shown, Writer, of_type},
};

use crate::{
    OnnxError,
    proto::{GraphProto, ModelProto, NodeProto},
    tensors::{described, tensor},
};

/// A node that cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    pub op: String,
    pub node: String,
    /// What of it, where the op itself is known.
    pub what: Option<String>,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the op {} (node `{}`", self.op, self.node)?;
        match &self.what {
            None => write!(formatter, ")"),
            Some(what) => write!(formatter, ": {what})"),
        }
    }
}

/// What is known of a value while the graph is translated.
#[derive(Clone)]
struct Known {
    output: Output,
    dtype: DType,
    rank: Option<usize>,
    /// Where it is the same for every request.
    value: Option<Tensor>,
}

/// Values of a node, or why there are none; `None` where the op is not known.
type Translated = Option<Result<Vec<Known>, String>>;

/// The graph while it is made.
struct Graph {
    writer: Writer,
    known: BTreeMap<String, Known>,
    /// For names that nobody else has.
    nodes: usize,
    /// The version of the ops.
    opset: i64,
}

pub(crate) fn translate(model: ModelProto) -> Result<BTreeMap<String, Vec<u8>>, OnnxError> {
    let opset = model.opset_import.iter().find(|set| set.domain.is_empty());
    let opset = opset.map_or(1, |set| set.version);
    let source = model.graph.ok_or(OnnxError::NoGraph)?;
    let mut graph = Graph {
        writer: Writer::new(),
        known: BTreeMap::new(),
        nodes: 0,
        opset,
    };
    for wire in &source.initializer {
        let tensor = tensor(wire).map_err(unreadable(&wire.name))?;
        let known = graph.learnt(tensor);
        graph.known.insert(wire.name.clone(), known);
    }
    let inputs = graph.inputs(&source)?;
    graph.nodes(&source.node)?;
    graph.signatures(&inputs, &source)?;
    Ok(graph.writer.files())
}

fn unreadable(name: &str) -> impl FnOnce(String) -> OnnxError + '_ {
    move |what| OnnxError::Tensor {
        name: name.to_owned(),
        what,
    }
}

/// Values that are smaller are written into the graph.
const FEW: usize = 64;

impl Graph {
    fn inputs(&mut self, source: &GraphProto) -> Result<Vec<(String, Known, Vec<i64>)>, OnnxError> {
        let mut inputs = Vec::new();
        // Files of old list what was learnt among the inputs.
        let given = source
            .input
            .iter()
            .filter(|info| !self.known.contains_key(&info.name));
        for info in given.cloned().collect::<Vec<_>>() {
            let (dtype, sizes) = described(&info).map_err(unreadable(&info.name))?;
            let sizes = sizes.ok_or_else(|| OnnxError::Tensor {
                name: info.name.clone(),
                what: "its rank is not known".to_owned(),
            })?;
            self.nodes += 1;
            let output = self.writer.input(&format!("input{}", self.nodes), dtype, &sizes);
            let known = Known {
                output,
                dtype,
                rank: Some(sizes.len()),
                value: None,
            };
            self.known.insert(info.name.clone(), known.clone());
            inputs.push((info.name, known, sizes));
        }
        Ok(inputs)
    }

    fn nodes(&mut self, nodes: &[NodeProto]) -> Result<(), OnnxError> {
        let mut unsupported: Vec<Unsupported> = Vec::new();
        for node in nodes {
            // What depends on a node that is not supported is not its own trouble.
            let is_open = |name: &String| !name.is_empty() && !self.known.contains_key(name);
            if node.input.iter().any(is_open) {
                continue;
            }
            let what = match self.node(node) {
                Some(Ok(values)) => {
                    self.known.extend(node.output.iter().cloned().zip(values));
                    continue;
                }
                Some(Err(what)) => Some(what),
                None => None,
            };
            if !unsupported
                .iter()
                .any(|other| other.op == node.op_type && other.what == what)
            {
                unsupported.push(Unsupported {
                    op: node.op_type.clone(),
                    node: node.name.clone(),
                    what,
                });
            }
        }
        if unsupported.is_empty() {
            Ok(())
        } else {
            Err(OnnxError::Unsupported(unsupported))
        }
    }

    fn node(&mut self, node: &NodeProto) -> Translated {
        if !["", "ai.onnx"].contains(&node.domain.as_str()) {
            return None;
        }
        let inputs: Vec<Option<Known>> = node
            .input
            .iter()
            .map(|name| self.known.get(name).cloned())
            .collect();
        let given = Given {
            node,
            inputs: &inputs,
        };
        numbers::node(self, &given)
            .or_else(|| arrays::node(self, &given))
            .or_else(|| networks::node(self, &given))
    }

    fn signatures(
        &mut self,
        inputs: &[(String, Known, Vec<i64>)],
        source: &GraphProto,
    ) -> Result<(), OnnxError> {
        let mut outputs = Vec::new();
        for info in &source.output {
            let known = self
                .known
                .get(&info.name)
                .cloned()
                .ok_or_else(|| OnnxError::Tensor {
                    name: info.name.clone(),
                    what: "no node makes it".to_owned(),
                })?;
            let sizes = described(info).ok().and_then(|(_, sizes)| sizes);
            let rank = known.rank.unwrap_or(1);
            outputs.push((info.name.clone(), known, sizes.unwrap_or_else(|| vec![-1; rank])));
        }
        let (inputs, outputs) = (shown(inputs), shown(&outputs));
        for name in [saved_model::DEFAULT_SIGNATURE, "predict"] {
            self.writer.signature(name, PREDICT, &inputs, &outputs);
        }
        Ok(())
    }

    /// A node of TensorFlow.
    fn op(&mut self, op: &str, inputs: &[&Output], attributes: &[(&str, Value)]) -> Output {
        self.nodes += 1;
        self.writer
            .op(&format!("{op}{}", self.nodes), op, inputs, attributes)
    }

    /// What was learnt, or stands in the graph.
    fn learnt(&mut self, tensor: Tensor) -> Known {
        self.nodes += 1;
        let name = format!("value{}", self.nodes);
        let output = if tensor.len() > FEW {
            self.writer.variable(&name, tensor.clone())
        } else {
            self.writer.constant(&name, &tensor)
        };
        Known {
            output,
            dtype: tensor.dtype(),
            rank: Some(tensor.rank()),
            value: Some(tensor),
        }
    }

    fn integers(&mut self, values: Vec<i64>) -> Output {
        self.learnt(Tensor::list(values)).output
    }

    fn integer(&mut self, value: i64) -> Output {
        self.learnt(Tensor::scalar(value)).output
    }

    /// A number of the type of something else.
    fn number(&mut self, like: &Known, value: f64) -> Result<Output, String> {
        let tensor = match like.dtype {
            DType::F32 => Tensor::scalar(value as f32),
            DType::F64 => Tensor::scalar(value),
            other => return Err(format!("values of type {other} are not supported")),
        };
        Ok(self.learnt(tensor).output)
    }
}

impl Known {
    /// A value of the same kind, made of this one.
    fn turned_into(&self, output: Output) -> Self {
        Self {
            output,
            value: None,
            ..self.clone()
        }
    }

    fn of_rank(self, rank: Option<usize>) -> Self {
        Self { rank, ..self }
    }

    fn of_type(self, dtype: DType) -> Self {
        Self { dtype, ..self }
    }

    /// The attribute that names its type.
    fn t(&self) -> (&'static str, Value) {
        ("T", of_type(self.dtype))
    }

    fn needed_rank(&self) -> Result<usize, String> {
        self.rank
            .ok_or_else(|| "the rank of its input is not known".to_owned())
    }
}

/// Inputs or outputs as a signature shows them.
fn shown(ports: &[(String, Known, Vec<i64>)]) -> Vec<Shown<'_>> {
    ports
        .iter()
        .map(|(name, known, shape)| Shown {
            name,
            tensor: &known.output,
            dtype: known.dtype,
            shape,
        })
        .collect()
}

fn list(values: &[i64]) -> Value {
    Value::List(ListValue {
        i: values.to_vec(),
        ..ListValue::default()
    })
}

fn text(words: &str) -> Value {
    Value::S(words.to_owned().into())
}

/// A node with what is known of its inputs.
struct Given<'a> {
    node: &'a NodeProto,
    inputs: &'a [Option<Known>],
}

impl<'a> Given<'a> {
    fn op(&self) -> &'a str {
        &self.node.op_type
    }

    fn input(&self, index: usize) -> Result<&'a Known, String> {
        self.optional(index)
            .ok_or_else(|| format!("it has no input {index}"))
    }

    fn optional(&self, index: usize) -> Option<&'a Known> {
        self.inputs.get(index)?.as_ref()
    }

    fn attribute(&self, name: &str) -> Option<&'a crate::proto::AttributeProto> {
        self.node
            .attribute
            .iter()
            .find(|attribute| attribute.name == name)
    }

    fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, |attribute| attribute.i)
    }

    fn float(&self, name: &str, default: f32) -> f64 {
        f64::from(self.attribute(name).map_or(default, |attribute| attribute.f))
    }

    fn ints(&self, name: &str) -> Option<&'a [i64]> {
        self.attribute(name).map(|attribute| attribute.ints.as_slice())
    }

    /// Integers that are an attribute in older versions of the op and an input in newer ones.
    fn listed(&self, name: &str, index: usize) -> Result<Option<Vec<i64>>, String> {
        if let Some(ints) = self.ints(name) {
            return Ok(Some(ints.to_vec()));
        }
        self.optional(index).map(constant_integers).transpose()
    }
}

/// Integers that are the same for every request.
fn constant_integers(known: &Known) -> Result<Vec<i64>, String> {
    let tensor = known.value.as_ref();
    let tensor =
        tensor.ok_or_else(|| "an input that must be the same for every request is not".to_owned())?;
    let narrow = || {
        tensor
            .values::<i32>()
            .map(|values| values.iter().map(|value| i64::from(*value)).collect())
    };
    let wide = tensor.values::<i64>().map(<[i64]>::to_vec);
    wide.or_else(narrow)
        .ok_or_else(|| "its integers are of another type".to_owned())
}

/// A place counted from the front.
fn axis(axis: i64, rank: Option<usize>) -> Result<i64, String> {
    match (axis, rank) {
        (0.., _) => Ok(axis),
        (_, Some(rank)) if axis + rank as i64 >= 0 => Ok(axis + rank as i64),
        _ => Err(format!("its axis {axis} cannot be told")),
    }
}
