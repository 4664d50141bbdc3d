//! Nodes that compute value by value.

use saved_model::{DType, Tensor, proto::attr_value::Value, write::of_type};

use super::{Given, Graph, Known, Translated};
use crate::tensors;

pub(super) fn node(graph: &mut Graph, given: &Given<'_>) -> Translated {
    if let Some(op) = same_for_one(given.op()) {
        return Some(one(graph, given, op));
    }
    if let Some((op, is_truth)) = same_for_two(given.op()) {
        return Some(two(graph, given, op, is_truth));
    }
    let made = match given.op() {
        "Dropout" => one(graph, given, "Identity"),
        "Div" => {
            let is_float = given
                .input(0)
                .is_ok_and(|known| matches!(known.dtype, DType::F32 | DType::F64));
            two(graph, given, if is_float { "RealDiv" } else { "Div" }, false)
        }
        "Sum" => fold(graph, given, "AddV2"),
        "Max" => fold(graph, given, "Maximum"),
        "Min" => fold(graph, given, "Minimum"),
        "LeakyRelu" => {
            let slope = Value::F(given.float("alpha", 0.01) as f32);
            with(graph, given, |graph, x| {
                Ok(graph.op("LeakyRelu", &[&x.output], &[x.t(), ("alpha", slope)]))
            })
        }
        "Elu" if (given.float("alpha", 1.0) - 1.0).abs() > 0.0 => Err("its `alpha` is not 1".to_owned()),
        "Elu" => one(graph, given, "Elu"),
        "PRelu" => prelu(graph, given),
        "Clip" => clip(graph, given),
        "HardSigmoid" => {
            let (slope, shift) = (given.float("alpha", 0.2), given.float("beta", 0.5));
            with(graph, given, |graph, x| hard_sigmoid(graph, x, slope, shift))
        }
        "HardSwish" => with(graph, given, |graph, x| {
            let gate = hard_sigmoid(graph, x, 1.0 / 6.0, 0.5)?;
            Ok(graph.op("Mul", &[&x.output, &gate], &[x.t()]))
        }),
        "Gelu" => gelu(graph, given),
        "Where" => choose(graph, given),
        "Cast" => cast(graph, given),
        "Constant" => constant(graph, given),
        _ => return None,
    };
    Some(made)
}

/// Ops of one value that TensorFlow has, too, under which name.
fn same_for_one(op: &str) -> Option<&'static str> {
    Some(match op {
        "Identity" => "Identity",
        "Relu" => "Relu",
        "Sigmoid" => "Sigmoid",
        "Tanh" => "Tanh",
        "Exp" => "Exp",
        "Log" => "Log",
        "Sqrt" => "Sqrt",
        "Abs" => "Abs",
        "Neg" => "Neg",
        "Floor" => "Floor",
        "Ceil" => "Ceil",
        "Round" => "Round",
        "Sign" => "Sign",
        "Sin" => "Sin",
        "Cos" => "Cos",
        "Erf" => "Erf",
        "Softplus" => "Softplus",
        "Softsign" => "Softsign",
        "Reciprocal" => "Reciprocal",
        "Not" => "LogicalNot",
        _ => return None,
    })
}

/// Ops of two values that TensorFlow has, too, and whether they give truths.
fn same_for_two(op: &str) -> Option<(&'static str, bool)> {
    Some(match op {
        "Add" => ("AddV2", false),
        "Sub" => ("Sub", false),
        "Mul" => ("Mul", false),
        "Pow" => ("Pow", false),
        "Equal" => ("Equal", true),
        "Greater" => ("Greater", true),
        "GreaterOrEqual" => ("GreaterEqual", true),
        "Less" => ("Less", true),
        "LessOrEqual" => ("LessEqual", true),
        "And" => ("LogicalAnd", true),
        "Or" => ("LogicalOr", true),
        _ => return None,
    })
}

/// One value of the first input, which keeps its type and rank.
fn with(
    graph: &mut Graph,
    given: &Given<'_>,
    make: impl FnOnce(&mut Graph, &Known) -> Result<saved_model::write::Output, String>,
) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let output = make(graph, x)?;
    Ok(vec![x.turned_into(output)])
}

fn one(graph: &mut Graph, given: &Given<'_>, op: &str) -> Result<Vec<Known>, String> {
    with(graph, given, |graph, x| Ok(graph.op(op, &[&x.output], &[x.t()])))
}

/// The larger of two ranks, as broadcasting gives.
fn joint_rank(left: &Known, right: &Known) -> Option<usize> {
    Some(left.rank?.max(right.rank?))
}

fn two(graph: &mut Graph, given: &Given<'_>, op: &str, is_truth: bool) -> Result<Vec<Known>, String> {
    let (left, right) = (given.input(0)?, given.input(1)?);
    if left.dtype != right.dtype {
        return Err(format!(
            "its inputs are of types {} and {}",
            left.dtype, right.dtype
        ));
    }
    let output = graph.op(op, &[&left.output, &right.output], &[left.t()]);
    let made = left.turned_into(output).of_rank(joint_rank(left, right));
    Ok(vec![if is_truth { made.of_type(DType::Bool) } else { made }])
}

fn fold(graph: &mut Graph, given: &Given<'_>, op: &str) -> Result<Vec<Known>, String> {
    let mut sum = given.input(0)?.clone();
    for index in 1..given.inputs.len() {
        let next = given.input(index)?;
        let output = graph.op(op, &[&sum.output, &next.output], &[sum.t()]);
        sum = sum.turned_into(output).of_rank(joint_rank(&sum, next));
    }
    Ok(vec![sum])
}

fn prelu(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let (x, slope) = (given.input(0)?, given.input(1)?);
    let zero = graph.number(x, 0.0)?;
    let positive = graph.op("Relu", &[&x.output], &[x.t()]);
    let negative = graph.op("Minimum", &[&x.output, &zero], &[x.t()]);
    let scaled = graph.op("Mul", &[&negative, &slope.output], &[x.t()]);
    let output = graph.op("AddV2", &[&positive, &scaled], &[x.t()]);
    Ok(vec![x.turned_into(output)])
}

/// Bounds are attributes in older versions and inputs in newer ones; either may be missing.
fn clip(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let mut output = x.output.clone();
    for (index, name, op) in [(1, "min", "Maximum"), (2, "max", "Minimum")] {
        let bound = match (given.optional(index), given.attribute(name)) {
            (Some(bound), _) => bound.output.clone(),
            (None, Some(attribute)) => graph.number(x, f64::from(attribute.f))?,
            (None, None) => continue,
        };
        output = graph.op(op, &[&output, &bound], &[x.t()]);
    }
    Ok(vec![x.turned_into(output)])
}

fn hard_sigmoid(
    graph: &mut Graph,
    x: &Known,
    slope: f64,
    shift: f64,
) -> Result<saved_model::write::Output, String> {
    let [slope, shift, zero, most] = [slope, shift, 0.0, 1.0].map(|value| graph.number(x, value));
    let scaled = graph.op("Mul", &[&x.output, &slope?], &[x.t()]);
    let moved = graph.op("AddV2", &[&scaled, &shift?], &[x.t()]);
    let raised = graph.op("Maximum", &[&moved, &zero?], &[x.t()]);
    Ok(graph.op("Minimum", &[&raised, &most?], &[x.t()]))
}

fn gelu(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let rule = given
        .attribute("approximate")
        .map(|attribute| attribute.s.clone());
    if rule.is_some_and(|rule| rule != "none") {
        return Err("it is approximate".to_owned());
    }
    with(graph, given, |graph, x| {
        let root = graph.number(x, std::f64::consts::FRAC_1_SQRT_2)?;
        let (half, whole) = (graph.number(x, 0.5)?, graph.number(x, 1.0)?);
        let scaled = graph.op("Mul", &[&x.output, &root], &[x.t()]);
        let error = graph.op("Erf", &[&scaled], &[x.t()]);
        let sum = graph.op("AddV2", &[&error, &whole], &[x.t()]);
        let halved = graph.op("Mul", &[&x.output, &half], &[x.t()]);
        Ok(graph.op("Mul", &[&halved, &sum], &[x.t()]))
    })
}

fn choose(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let (condition, yes, no) = (given.input(0)?, given.input(1)?, given.input(2)?);
    let output = graph.op(
        "SelectV2",
        &[&condition.output, &yes.output, &no.output],
        &[yes.t()],
    );
    let rank = joint_rank(yes, no).and_then(|rank| Some(rank.max(condition.rank?)));
    Ok(vec![yes.turned_into(output).of_rank(rank)])
}

fn cast(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let number = given.int("to", 0) as i32;
    let to = tensors::dtype(number).ok_or_else(|| format!("the type {number} is not supported"))?;
    let x = given.input(0)?;
    let types = [("SrcT", of_type(x.dtype)), ("DstT", of_type(to))];
    let output = graph.op("Cast", &[&x.output], &types);
    Ok(vec![x.turned_into(output).of_type(to)])
}

fn constant(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let attribute = given.node.attribute.first().ok_or("it has no value")?;
    let tensor = match (attribute.name.as_str(), &attribute.t) {
        ("value", Some(wire)) => tensors::tensor(wire)?,
        ("value_float", _) => Tensor::scalar(attribute.f),
        ("value_int", _) => Tensor::scalar(attribute.i),
        ("value_ints", _) => Tensor::list(attribute.ints.clone()),
        (other, _) => return Err(format!("its `{other}` is not supported")),
    };
    Ok(vec![graph.learnt(tensor)])
}
