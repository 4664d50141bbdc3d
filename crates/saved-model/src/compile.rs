//! From a graph to a plan: functions are inlined, variables become constants, and whatever depends on constants only is
//! computed at once. With nothing but constants to begin with, that is running the graph, which is how a model's own
//! restore and init ops are run.

mod calls;
mod state;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use smallvec::SmallVec;

use crate::{
    bundle::{Bundle, BundleError},
    files::Files,
    graph::{Body, Library, Reference},
    ops,
    plan::{Inputs, Kernel, Plan, Source, Step},
    proto::NodeDef,
    resources::Resources,
    tensor::Tensor,
};

/// Functions that call each other deeper than this call themselves.
const DEEPEST: usize = 100;

/// What is computed at load is kept unless it is larger than this and larger than what it was made of.
const LARGEST_CONSTANT: usize = 1 << 24;

/// What is known of an output while compiling.
#[derive(Clone, Debug)]
pub(crate) enum Wire {
    Slot(usize),
    Constant(Tensor),
    Resource(usize),
    /// An output of an op that is not supported; whoever needs it is not complained of again.
    Unknown,
}

/// An op that is not supported, and a node that has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnsupportedOp {
    pub op: String,
    pub node: String,
}

#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    #[error("the graph has no node `{name}`, which `{wanted_by}` needs")]
    NoNode { name: String, wanted_by: String },
    #[error("the node `{name}` needs itself")]
    Cycle { name: String },
    #[error("the node `{name}` ({op}): {what}")]
    Node { name: String, op: String, what: String },
    #[error("the node `{name}` calls functions too deeply")]
    TooDeep { name: String },
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// Whether the graph may change variables and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Initialise,
    Serve,
}

pub(crate) struct Compiler<'a> {
    pub(crate) purpose: Purpose,
    pub(crate) library: &'a Library<'a>,
    pub(crate) resources: &'a mut Resources,
    pub(crate) files: &'a dyn Files,
    /// The values of variables, opened once they are asked for.
    pub(crate) bundle: Option<(String, Bundle<'a>)>,
    pub(crate) unsupported: Vec<UnsupportedOp>,
    steps: Vec<Step>,
    slots: usize,
    depth: usize,
}

/// One body while it is compiled: the graph, or one call of a function.
pub(crate) struct Frame<'a> {
    body: &'a Body<'a>,
    arguments: Vec<Wire>,
    done: HashMap<&'a str, Vec<Wire>>,
    /// Before the names of nodes, in what is said of them.
    path: String,
}

impl<'a> Frame<'a> {
    pub(crate) fn new(body: &'a Body<'a>, arguments: Vec<Wire>, path: String) -> Self {
        Self {
            body,
            arguments,
            done: HashMap::new(),
            path,
        }
    }

    /// Gives a node's outputs instead of computing them.
    pub(crate) fn feed(&mut self, node: &'a str, wire: Wire) {
        self.done.insert(node, vec![wire]);
    }

    fn name(&self, node: &str) -> String {
        format!("{}{node}", self.path)
    }
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(
        purpose: Purpose,
        library: &'a Library<'a>,
        resources: &'a mut Resources,
        files: &'a dyn Files,
    ) -> Self {
        Self {
            purpose,
            library,
            resources,
            files,
            bundle: None,
            unsupported: Vec::new(),
            steps: Vec::new(),
            slots: 0,
            depth: 0,
        }
    }

    /// A slot for an input of the plan; before anything else is compiled.
    pub(crate) fn input(&mut self) -> Wire {
        Wire::Slot(self.slot(1))
    }

    fn slot(&mut self, count: usize) -> usize {
        let first = self.slots;
        self.slots += count;
        first
    }

    /// What an output is. Nodes it needs are compiled first, without recursion: graphs are deep.
    pub(crate) fn output(
        &mut self,
        frame: &mut Frame<'a>,
        reference: Reference<'a>,
    ) -> Result<Wire, CompileError> {
        self.node(frame, reference.node(), "the caller")?;
        resolve(frame, reference)
    }

    /// Compiles a node and what it needs.
    pub(crate) fn node(
        &mut self,
        frame: &mut Frame<'a>,
        name: &'a str,
        wanted_by: &str,
    ) -> Result<(), CompileError> {
        if frame.done.contains_key(name) || frame.body.arguments.contains_key(name) {
            return Ok(());
        }
        let mut stack = vec![(lookup(frame, name, wanted_by)?, 0)];
        let mut open = HashSet::from([name]);
        while let Some((node, next)) = stack.last_mut() {
            let node: &'a NodeDef = node;
            if let Some(input) = node.input.get(*next) {
                *next += 1;
                let needed = Reference::parse(input).node();
                let is_known = frame.done.contains_key(needed) || frame.body.arguments.contains_key(needed);
                if !is_known {
                    if !open.insert(needed) {
                        let name = frame.name(needed);
                        return Err(CompileError::Cycle { name });
                    }
                    stack.push((lookup(frame, needed, &node.name)?, 0));
                }
                continue;
            }
            stack.pop();
            open.remove(node.name.as_str());
            let mut inputs = Vec::with_capacity(node.input.len());
            for input in &node.input {
                match Reference::parse(input) {
                    Reference::Control(_) => {}
                    reference => inputs.push(resolve(frame, reference)?),
                }
            }
            let outputs = self.emit(frame, node, inputs)?;
            frame.done.insert(&node.name, outputs);
        }
        Ok(())
    }

    /// The outputs of one node, whose inputs are known.
    fn emit(
        &mut self,
        frame: &Frame<'a>,
        node: &'a NodeDef,
        inputs: Vec<Wire>,
    ) -> Result<Vec<Wire>, CompileError> {
        if let Some(outputs) = self.call(frame, node, &inputs)? {
            return Ok(outputs);
        }
        if let Some(outputs) = self.stateful(frame, node, &inputs)? {
            return Ok(outputs);
        }
        match ops::kernel(node) {
            Some(Ok(kernel)) => self.step(frame, node, kernel, inputs),
            Some(Err(what)) => Err(failed(frame, node, what)),
            None => {
                self.unsupported.push(UnsupportedOp {
                    op: node.op.clone(),
                    node: frame.name(&node.name),
                });
                Ok(vec![Wire::Unknown; ops::output_count(node)])
            }
        }
    }

    /// Adds a step, or takes it at once where everything it needs is known.
    fn step(
        &mut self,
        frame: &Frame<'a>,
        node: &NodeDef,
        kernel: Kernel,
        inputs: Vec<Wire>,
    ) -> Result<Vec<Wire>, CompileError> {
        self.step_with(frame, node, kernel, inputs, ops::output_count(node))
    }

    /// The same for a kernel that gives another number of outputs than its node.
    fn step_with(
        &mut self,
        frame: &Frame<'a>,
        node: &NodeDef,
        kernel: Kernel,
        inputs: Vec<Wire>,
        count: usize,
    ) -> Result<Vec<Wire>, CompileError> {
        let mut sources = SmallVec::with_capacity(inputs.len());
        let mut known = Some(Inputs::with_capacity(inputs.len()));
        for input in inputs {
            let source = match input {
                Wire::Unknown => return Ok(vec![Wire::Unknown; count]),
                Wire::Slot(slot) => Source::Slot { slot, is_last: false },
                Wire::Constant(tensor) => Source::Constant(tensor),
                // References to variables of TensorFlow 1 are read wherever a value is wanted.
                Wire::Resource(number) => Source::Constant(self.read(frame, node, number)?),
            };
            match &source {
                Source::Constant(tensor) => known.iter_mut().for_each(|known| known.push(tensor.clone())),
                Source::Slot { .. } => known = None,
            }
            sources.push(source);
        }
        if let Some(known) = known {
            let before: usize = known.iter().map(Tensor::bytes).sum();
            let outputs = kernel(known).map_err(|what| failed(frame, node, what))?;
            let after: usize = outputs.iter().map(Tensor::bytes).sum();
            if self.purpose == Purpose::Initialise || after <= LARGEST_CONSTANT.max(before) {
                return Ok(outputs.into_iter().map(Wire::Constant).collect());
            }
        }
        let first = self.slot(count);
        self.steps.push(Step {
            kernel,
            inputs: sources,
            first,
            outputs: count,
            node: frame.name(&node.name).into(),
            op: Arc::from(node.op.as_str()),
        });
        Ok((first..first + count).map(Wire::Slot).collect())
    }

    /// The finished plan. `None` where an output is no tensor; what is not supported is told before.
    pub(crate) fn finish(self, inputs: usize, outputs: Vec<Wire>) -> Option<Plan> {
        let source = |wire: Wire| match wire {
            Wire::Slot(slot) => Some(Source::Slot { slot, is_last: false }),
            Wire::Constant(tensor) => Some(Source::Constant(tensor)),
            Wire::Resource(number) => self.resources.variable(number).cloned().map(Source::Constant),
            Wire::Unknown => None,
        };
        let outputs = outputs.into_iter().map(source).collect::<Option<Vec<_>>>()?;
        let plan = Plan {
            inputs,
            slots: self.slots,
            steps: self.steps,
            outputs,
        };
        Some(plan.finish())
    }
}

fn lookup<'a>(frame: &Frame<'a>, name: &str, wanted_by: &str) -> Result<&'a NodeDef, CompileError> {
    let found = frame.body.nodes.get(name).copied();
    found.ok_or_else(|| CompileError::NoNode {
        name: frame.name(name),
        wanted_by: wanted_by.to_owned(),
    })
}

/// One output of what has been compiled.
fn resolve(frame: &Frame<'_>, reference: Reference<'_>) -> Result<Wire, CompileError> {
    let name = reference.node();
    if let Some(outputs) = frame.done.get(name) {
        let index = match reference {
            Reference::Named(_, output, index) => {
                let node = frame.body.nodes.get(name);
                node.map_or(index, |node| ops::first_output(node, output) + index)
            }
            Reference::Output(_, index) => index,
            Reference::Control(_) => return Ok(Wire::Unknown),
        };
        return outputs.get(index).cloned().ok_or_else(|| CompileError::Node {
            name: frame.name(name),
            op: frame
                .body
                .nodes
                .get(name)
                .map_or_else(String::new, |node| node.op.clone()),
            what: format!("it has {} outputs, and number {index} is wanted", outputs.len()),
        });
    }
    let argument = frame
        .body
        .arguments
        .get(name)
        .and_then(|index| frame.arguments.get(*index));
    argument.cloned().ok_or_else(|| CompileError::NoNode {
        name: frame.name(name),
        wanted_by: "a function".to_owned(),
    })
}

fn failed(frame: &Frame<'_>, node: &NodeDef, what: String) -> CompileError {
    CompileError::Node {
        name: frame.name(&node.name),
        op: node.op.clone(),
        what,
    }
}
