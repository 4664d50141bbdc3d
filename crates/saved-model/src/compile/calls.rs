//! Functions, branches and loops.

use smallvec::SmallVec;

use super::{CompileError, Compiler, DEEPEST, Frame, Purpose, Wire, failed};
use crate::{
    graph::{Attributes as _, Function, Reference},
    ops::truth,
    plan::{Inputs, Kernel, Outputs, Plan},
    proto::NodeDef,
    tensor::Tensor,
};

impl<'a> Compiler<'a> {
    /// The outputs of a node that runs functions; none where it does not.
    pub(super) fn call(
        &mut self,
        frame: &Frame<'a>,
        node: &'a NodeDef,
        inputs: &[Wire],
    ) -> Result<Option<Vec<Wire>>, CompileError> {
        let outputs = match node.op.as_str() {
            "PartitionedCall" | "StatefulPartitionedCall" => {
                self.inlined(frame, node, node.function("f"), inputs.to_vec())?
            }
            "If" | "StatelessIf" => self.branch(frame, node, inputs)?,
            "While" | "StatelessWhile" => self.repeat(frame, node, inputs)?,
            op if self.library.contains_key(op) => self.inlined(frame, node, op, inputs.to_vec())?,
            _ => return Ok(None),
        };
        Ok(Some(outputs))
    }

    fn function(
        &self,
        frame: &Frame<'a>,
        node: &NodeDef,
        name: &str,
    ) -> Result<&'a Function<'a>, CompileError> {
        let function = self.library.get(name);
        function.ok_or_else(|| failed(frame, node, format!("there is no function `{name}`")))
    }

    /// A function in place of its call.
    fn inlined(
        &mut self,
        frame: &Frame<'a>,
        node: &'a NodeDef,
        name: &str,
        arguments: Vec<Wire>,
    ) -> Result<Vec<Wire>, CompileError> {
        let function = self.function(frame, node, name)?;
        let name = frame.name(&node.name);
        if self.depth >= DEEPEST {
            return Err(CompileError::TooDeep { name });
        }
        self.depth += 1;
        let mut inner = Frame::new(&function.body, arguments, format!("{name}/"));
        for wanted in function.definition.control_ret.values() {
            self.node(&mut inner, wanted, &node.name)?;
        }
        let mut outputs = Vec::new();
        for output in function
            .definition
            .signature
            .iter()
            .flat_map(|signature| &signature.output_arg)
        {
            let missing = || {
                failed(
                    frame,
                    node,
                    format!("the function does not say what `{}` is", output.name),
                )
            };
            let from = function.definition.ret.get(&output.name).ok_or_else(missing)?;
            outputs.push(self.output(&mut inner, Reference::parse(from))?);
        }
        self.depth -= 1;
        Ok(outputs)
    }

    fn branch(
        &mut self,
        frame: &Frame<'a>,
        node: &'a NodeDef,
        inputs: &[Wire],
    ) -> Result<Vec<Wire>, CompileError> {
        let (condition, arguments) = inputs
            .split_first()
            .ok_or_else(|| failed(frame, node, "it has no condition".to_owned()))?;
        if let Wire::Constant(condition) = condition {
            let is_true = truth(condition).map_err(|what| failed(frame, node, what))?;
            let name = node.function(if is_true { "then_branch" } else { "else_branch" });
            return self.inlined(frame, node, name, arguments.to_vec());
        }
        // What is known stays known in both branches; the rest is handed in.
        let mut handed_in = vec![condition.clone()];
        let mut inner = Vec::with_capacity(arguments.len());
        for argument in arguments {
            inner.push(match argument {
                Wire::Slot(_) => {
                    handed_in.push(argument.clone());
                    Wire::Slot(handed_in.len() - 2)
                }
                known => known.clone(),
            });
        }
        let count = handed_in.len() - 1;
        let then = self.plan(frame, node, node.function("then_branch"), inner.clone(), count)?;
        let otherwise = self.plan(frame, node, node.function("else_branch"), inner, count)?;
        let (Some(then), Some(otherwise)) = (then, otherwise) else {
            return Ok(vec![Wire::Unknown; node.type_numbers("Tout").len()]);
        };
        let kernel: Kernel = Box::new(move |mut inputs: Inputs| {
            let condition = truth(&inputs.remove(0))?;
            let chosen = if condition { &then } else { &otherwise };
            chosen
                .run(inputs)
                .map(Outputs::from_vec)
                .map_err(|error| error.to_string())
        });
        self.step(frame, node, kernel, handed_in)
    }

    fn repeat(
        &mut self,
        frame: &Frame<'a>,
        node: &'a NodeDef,
        inputs: &[Wire],
    ) -> Result<Vec<Wire>, CompileError> {
        let mut handed_in = Vec::new();
        let mut inner = Vec::with_capacity(inputs.len());
        for input in inputs {
            inner.push(match input {
                Wire::Resource(_) | Wire::Unknown => input.clone(),
                Wire::Slot(_) | Wire::Constant(_) => {
                    handed_in.push(input.clone());
                    Wire::Slot(handed_in.len() - 1)
                }
            });
        }
        let is_handed_in: Vec<bool> = inner.iter().map(|wire| matches!(wire, Wire::Slot(_))).collect();
        let count = handed_in.len();
        let condition = self.plan(frame, node, node.function("cond"), inner.clone(), count)?;
        let body = self.plan(frame, node, node.function("body"), inner, count)?;
        let (Some(condition), Some(body)) = (condition, body) else {
            return Ok(vec![Wire::Unknown; inputs.len()]);
        };
        let kept = is_handed_in.clone();
        let kernel: Kernel = Box::new(move |inputs: Inputs| {
            let say = |error: crate::plan::RunError| error.to_string();
            let mut state: SmallVec<[Tensor; 4]> = inputs;
            loop {
                let answer = condition.run(state.iter().cloned()).map_err(say)?;
                let answer = answer.first().ok_or("the condition of a loop has no answer")?;
                if !truth(answer)? {
                    break;
                }
                let next = body.run(state).map_err(say)?.into_iter().zip(&kept);
                state = next
                    .filter(|(_, is_kept)| **is_kept)
                    .map(|(value, _)| value)
                    .collect();
            }
            Ok(Outputs::from_vec(state.into_vec()))
        });
        let mut results = self.step_with(frame, node, kernel, handed_in, count)?.into_iter();
        let all = inputs.iter().zip(is_handed_in).map(|(input, is_handed_in)| {
            if is_handed_in {
                results.next().unwrap_or(Wire::Unknown)
            } else {
                input.clone()
            }
        });
        Ok(all.collect())
    }

    /// A function as a plan of its own. None where something in it is not supported, which has been noted.
    fn plan(
        &mut self,
        frame: &Frame<'a>,
        node: &'a NodeDef,
        name: &str,
        arguments: Vec<Wire>,
        count: usize,
    ) -> Result<Option<Plan>, CompileError> {
        let (steps, slots) = (
            std::mem::take(&mut self.steps),
            std::mem::replace(&mut self.slots, count),
        );
        // What a branch would change must not be changed before it is chosen.
        let purpose = std::mem::replace(&mut self.purpose, Purpose::Serve);
        let outputs = self.inlined(frame, node, name, arguments);
        self.purpose = purpose;
        let steps = std::mem::replace(&mut self.steps, steps);
        let slots = std::mem::replace(&mut self.slots, slots);
        let mut sources = Vec::new();
        for output in outputs? {
            match self.source(frame, node, output)? {
                Some(source) => sources.push(source),
                None => return Ok(None),
            }
        }
        let plan = Plan {
            inputs: count,
            slots,
            steps,
            outputs: sources,
        };
        Ok(Some(plan.finish()))
    }
}
