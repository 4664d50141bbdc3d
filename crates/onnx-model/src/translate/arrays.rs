//! Nodes that change shapes, put together and take apart.

use saved_model::{
    DType, Tensor,
    proto::attr_value::Value,
    write::{Output, Writer, of_type},
};

use super::{Given, Graph, Known, Translated, axis, constant_integers, list};

pub(super) fn node(graph: &mut Graph, given: &Given<'_>) -> Translated {
    Some(match given.op() {
        "Shape" => shape(graph, given),
        "Flatten" => flatten(graph, given),
        "Reshape" => reshape(graph, given),
        "Transpose" => transpose(graph, given),
        "Concat" => concat(graph, given),
        "Squeeze" => squeeze(graph, given),
        "Unsqueeze" => unsqueeze(graph, given),
        "Gather" => gather(graph, given),
        "Slice" => slice(graph, given),
        "Split" => split(graph, given),
        "Pad" => pad(graph, given),
        "ConstantOfShape" => fill(graph, given),
        "ReduceMean" => reduce(graph, given, "Mean"),
        "ReduceSum" => reduce(graph, given, "Sum"),
        "ReduceMax" => reduce(graph, given, "Max"),
        "ReduceMin" => reduce(graph, given, "Min"),
        "ReduceProd" => reduce(graph, given, "Prod"),
        "ArgMax" => place(graph, given, "ArgMax"),
        "ArgMin" => place(graph, given, "ArgMin"),
        _ => return None,
    })
}

fn sizes(graph: &mut Graph, x: &Known) -> Output {
    graph.op("Shape", &[&x.output], &[x.t(), ("out_type", of_type(DType::I64))])
}

/// One of the sizes, as a list.
fn size(graph: &mut Graph, sizes: &Output, place: i64) -> Output {
    let (begin, one) = (graph.integers(vec![place]), graph.integers(vec![1]));
    graph.op("Slice", &[sizes, &begin, &one], &[("T", of_type(DType::I64))])
}

fn joined(graph: &mut Graph, parts: &[Output], dtype: DType, place: i64) -> Output {
    let place = graph.integer(place);
    let inputs: Vec<&Output> = parts.iter().chain([&place]).collect();
    let count = Value::I(parts.len() as i64);
    graph.op("ConcatV2", &inputs, &[("T", of_type(dtype)), ("N", count)])
}

fn shape(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    if given.attribute("start").is_some() || given.attribute("end").is_some() {
        return Err("it gives a part of the shape".to_owned());
    }
    let x = given.input(0)?;
    let output = sizes(graph, x);
    Ok(vec![x.turned_into(output).of_type(DType::I64).of_rank(Some(1))])
}

fn flatten(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let wanted = match axis(given.int("axis", 1), x.rank)? {
        0 => graph.integers(vec![1, -1]),
        1 => {
            let sizes = sizes(graph, x);
            let rows = size(graph, &sizes, 0);
            let rest = graph.integers(vec![-1]);
            joined(graph, &[rows, rest], DType::I64, 0)
        }
        other => return Err(format!("its axis is {other}")),
    };
    let output = graph.op("Reshape", &[&x.output, &wanted], &[x.t()]);
    Ok(vec![x.turned_into(output).of_rank(Some(2))])
}

/// A size of nought stands for that of the input at the same place.
fn reshape(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let listed = match given.ints("shape") {
        Some(ints) => Some(ints.to_vec()),
        None => given
            .input(1)?
            .value
            .as_ref()
            .map(|_| constant_integers(given.input(1)?))
            .transpose()?,
    };
    let Some(listed) = listed else {
        let wanted = given.input(1)?;
        let output = graph.op("Reshape", &[&x.output, &wanted.output], &[x.t()]);
        return Ok(vec![x.turned_into(output).of_rank(None)]);
    };
    let rank = Some(listed.len());
    let wanted = if listed.contains(&0) && given.int("allowzero", 0) == 0 {
        let sizes = sizes(graph, x);
        let parts: Vec<Output> = listed
            .iter()
            .enumerate()
            .map(|(place, wanted)| match wanted {
                0 => size(graph, &sizes, place as i64),
                wanted => graph.integers(vec![*wanted]),
            })
            .collect();
        joined(graph, &parts, DType::I64, 0)
    } else {
        graph.integers(listed)
    };
    let output = graph.op("Reshape", &[&x.output, &wanted], &[x.t()]);
    Ok(vec![x.turned_into(output).of_rank(rank)])
}

fn transpose(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let order = match given.ints("perm") {
        Some(order) => order.to_vec(),
        None => (0..x.needed_rank()? as i64).rev().collect(),
    };
    let order = graph.integers(order);
    let output = graph.op("Transpose", &[&x.output, &order], &[x.t()]);
    Ok(vec![x.turned_into(output)])
}

fn concat(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let first = given.input(0)?;
    let parts = (0..given.inputs.len()).map(|index| given.input(index).map(|known| known.output.clone()));
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    let output = joined(graph, &parts, first.dtype, given.int("axis", 0));
    Ok(vec![first.turned_into(output)])
}

fn squeeze(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let axes = given.listed("axes", 1)?.unwrap_or_default();
    let rank = x.rank.filter(|_| !axes.is_empty());
    let rank = rank.and_then(|rank| rank.checked_sub(axes.len()));
    let output = graph.op("Squeeze", &[&x.output], &[x.t(), ("squeeze_dims", list(&axes))]);
    Ok(vec![x.turned_into(output).of_rank(rank)])
}

fn unsqueeze(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let axes = given.listed("axes", 1)?.ok_or("it has no axes")?;
    let rank = x.rank.map(|rank| rank + axes.len());
    let mut places = axes
        .iter()
        .map(|place| axis(*place, rank))
        .collect::<Result<Vec<_>, _>>()?;
    places.sort_unstable();
    let mut output = x.output.clone();
    for place in places {
        let place = graph.integer(place);
        output = graph.op("ExpandDims", &[&output, &place], &[x.t()]);
    }
    Ok(vec![x.turned_into(output).of_rank(rank)])
}

fn gather(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let (x, indices) = (given.input(0)?, given.input(1)?);
    if let Some(value) = &indices.value
        && value
            .values::<i64>()
            .is_some_and(|values| values.iter().any(|value| *value < 0))
    {
        return Err("it counts from the end".to_owned());
    }
    let place = graph.integer(given.int("axis", 0));
    let types = [
        ("Tparams", of_type(x.dtype)),
        ("Tindices", of_type(indices.dtype)),
        ("Taxis", of_type(DType::I64)),
    ];
    let output = graph.op("GatherV2", &[&x.output, &indices.output, &place], &types);
    let rank = x.rank.and_then(|rank| Some(rank + indices.rank? - 1));
    Ok(vec![x.turned_into(output).of_rank(rank)])
}

fn slice(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let starts = given.listed("starts", 1)?.ok_or("it has no starts")?;
    let ends = given.listed("ends", 2)?.ok_or("it has no ends")?;
    let axes = given
        .listed("axes", 3)?
        .unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = given.listed("steps", 4)?.unwrap_or_else(|| vec![1; starts.len()]);
    if steps.iter().any(|step| *step < 1) {
        return Err("it goes backwards".to_owned());
    }
    let axes = axes
        .iter()
        .map(|place| axis(*place, x.rank).map(|place| place as usize))
        .collect::<Result<Vec<_>, _>>()?;
    let count = axes.iter().max().map_or(0, |place| place + 1);
    let (mut begin, mut end, mut stride) = (vec![0; count], vec![0; count], vec![1; count]);
    // Axes that are not named are taken whole.
    let mut whole = (1_i64 << count) - 1;
    for (index, place) in axes.into_iter().enumerate() {
        begin[place] = starts[index];
        end[place] = ends.get(index).copied().unwrap_or(i64::MAX);
        stride[place] = steps.get(index).copied().unwrap_or(1);
        whole &= !(1 << place);
    }
    let [begin, end, stride] = [begin, end, stride].map(|values| graph.integers(values));
    let attributes = [
        x.t(),
        ("Index", of_type(DType::I64)),
        ("begin_mask", Value::I(whole)),
        ("end_mask", Value::I(whole)),
    ];
    let output = graph.op("StridedSlice", &[&x.output, &begin, &end, &stride], &attributes);
    Ok(vec![x.turned_into(output)])
}

fn split(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let count = given.node.output.len();
    let place = graph.integer(given.int("axis", 0));
    let number = ("num_split", Value::I(count as i64));
    let first = match given.listed("split", 1)? {
        Some(parts) => {
            let parts = graph.integers(parts);
            graph.op("SplitV", &[&x.output, &parts, &place], &[x.t(), number])
        }
        None => graph.op("Split", &[&place, &x.output], &[x.t(), number]),
    };
    let output = |index: usize| match index {
        0 => first.clone(),
        index => Writer::output(&first, index),
    };
    Ok((0..count).map(|index| x.turned_into(output(index))).collect())
}

fn pad(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let mode = given.attribute("mode").map(|mode| mode.s.clone());
    if mode.is_some_and(|mode| mode != "constant") {
        return Err("it does not pad with one value".to_owned());
    }
    if given.optional(3).is_some() {
        return Err("it names axes".to_owned());
    }
    let x = given.input(0)?;
    let pads = given.listed("pads", 1)?.ok_or("it has no pads")?;
    let (before, after) = pads.split_at(pads.len() / 2);
    let pairs: Vec<i64> = before
        .iter()
        .zip(after)
        .flat_map(|(before, after)| [*before, *after])
        .collect();
    let borders = Tensor::new([before.len(), 2].as_slice(), pairs).ok_or("its pads are no pairs")?;
    let borders = graph.learnt(borders).output;
    let value = match given.optional(2) {
        Some(value) => value.output.clone(),
        None => graph.number(x, given.float("value", 0.0))?,
    };
    let output = graph.op("PadV2", &[&x.output, &borders, &value], &[x.t()]);
    Ok(vec![x.turned_into(output)])
}

fn fill(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let sizes = given.input(0)?;
    let value = match given
        .attribute("value")
        .and_then(|attribute| attribute.t.as_ref())
    {
        Some(wire) => crate::tensors::tensor(wire)?,
        None => Tensor::scalar(0.0_f32),
    };
    let value = value.reshaped([].as_slice()).ok_or("it has not one value")?;
    let value = graph.learnt(value);
    let output = graph.op("Fill", &[&sizes.output, &value.output], &[value.t()]);
    let rank = sizes.value.as_ref().map(Tensor::len);
    Ok(vec![value.turned_into(output).of_rank(rank)])
}

fn reduce(graph: &mut Graph, given: &Given<'_>, op: &str) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let keeps = given.int("keepdims", 1) != 0;
    let axes = given.listed("axes", 1)?.filter(|axes| !axes.is_empty());
    let axes = match axes {
        Some(axes) => axes,
        None if given.int("noop_with_empty_axes", 0) != 0 => return Ok(vec![x.clone()]),
        None => (0..x.needed_rank()? as i64).collect(),
    };
    let rank = x.rank.map(|rank| {
        if keeps {
            rank
        } else {
            rank.saturating_sub(axes.len())
        }
    });
    let axes = graph.integers(axes);
    let output = graph.op(op, &[&x.output, &axes], &[x.t(), ("keep_dims", Value::B(keeps))]);
    Ok(vec![x.turned_into(output).of_rank(rank)])
}

fn place(graph: &mut Graph, given: &Given<'_>, op: &str) -> Result<Vec<Known>, String> {
    if given.int("select_last_index", 0) != 0 {
        return Err("it takes the last of equals".to_owned());
    }
    let x = given.input(0)?;
    let along = axis(given.int("axis", 0), x.rank)?;
    let place = graph.integer(along);
    let types = [x.t(), ("output_type", of_type(DType::I64))];
    let found = graph.op(op, &[&x.output, &place], &types);
    let made = x.turned_into(found.clone()).of_type(DType::I64);
    if given.int("keepdims", 1) == 0 {
        return Ok(vec![made.of_rank(x.rank.map(|rank| rank - 1))]);
    }
    let kept = graph.op("ExpandDims", &[&found, &place], &[("T", of_type(DType::I64))]);
    Ok(vec![Known {
        output: kept,
        rank: x.rank,
        ..made
    }])
}
