//! Nodes of neural networks. Pictures are `[batch, channels, height, width]` in ONNX.

use saved_model::{DType, Tensor, proto::attr_value::Value, write::Output};

use super::{Given, Graph, Known, Translated, axis, list, text};

pub(super) fn node(graph: &mut Graph, given: &Given<'_>) -> Translated {
    Some(match given.op() {
        "Gemm" => gemm(graph, given),
        "MatMul" => matmul(graph, given),
        "Conv" => convolution(graph, given),
        "MaxPool" => pool(graph, given, "MaxPool"),
        "AveragePool" => pool(graph, given, "AvgPool"),
        "GlobalAveragePool" => global(graph, given, "Mean"),
        "GlobalMaxPool" => global(graph, given, "Max"),
        "BatchNormalization" => normalise(graph, given),
        "Softmax" => softmax(graph, given, "Softmax"),
        "LogSoftmax" => softmax(graph, given, "LogSoftmax"),
        _ => return None,
    })
}

fn gemm(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let (left, right) = (given.input(0)?, given.input(1)?);
    let attributes = [
        left.t(),
        ("transpose_a", Value::B(given.int("transA", 0) != 0)),
        ("transpose_b", Value::B(given.int("transB", 0) != 0)),
    ];
    let product = graph.op("MatMul", &[&left.output, &right.output], &attributes);
    let mut output = scaled(graph, left, product, given.float("alpha", 1.0))?;
    if let Some(bias) = given.optional(2) {
        let bias = scaled(graph, left, bias.output.clone(), given.float("beta", 1.0))?;
        output = graph.op("AddV2", &[&output, &bias], &[left.t()]);
    }
    Ok(vec![left.turned_into(output).of_rank(Some(2))])
}

fn scaled(graph: &mut Graph, like: &Known, output: Output, factor: f64) -> Result<Output, String> {
    if (factor - 1.0).abs() < f64::EPSILON {
        return Ok(output);
    }
    let factor = graph.number(like, factor)?;
    Ok(graph.op("Mul", &[&output, &factor], &[like.t()]))
}

fn matmul(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let (left, right) = (given.input(0)?, given.input(1)?);
    let (Some(first @ 2..), Some(second @ 2..)) = (left.rank, right.rank) else {
        return Err("the ranks of its inputs are not known, or below 2".to_owned());
    };
    let output = graph.op("BatchMatMulV2", &[&left.output, &right.output], &[left.t()]);
    Ok(vec![left.turned_into(output).of_rank(Some(first.max(second)))])
}

/// How a window moves: height and width of each.
struct Windows {
    attributes: Vec<(&'static str, Value)>,
    has_borders: bool,
}

fn windows(given: &Given<'_>, x: &Known) -> Result<Windows, String> {
    if x.rank != Some(4) {
        return Err("its input is no picture: only four dimensions are supported".to_owned());
    }
    let pair = |name: &str| match given.ints(name) {
        None => Ok([1, 1, 1, 1]),
        Some([height, width]) => Ok([1, 1, *height, *width]),
        Some(_) => Err(format!("its `{name}` are not two")),
    };
    let mut attributes = vec![
        x.t(),
        ("data_format", text("NCHW")),
        ("strides", list(&pair("strides")?)),
        ("dilations", list(&pair("dilations")?)),
    ];
    let pads = given.ints("pads").unwrap_or(&[0; 4]);
    let rule = given
        .attribute("auto_pad")
        .map(|rule| rule.s.clone())
        .unwrap_or_default();
    match rule.as_ref() {
        b"" | b"NOTSET" => {
            let &[top, left, bottom, right] = pads else {
                return Err("its `pads` are not four".to_owned());
            };
            attributes.push(("padding", text("EXPLICIT")));
            attributes.push(("explicit_paddings", list(&[0, 0, 0, 0, top, bottom, left, right])));
        }
        b"SAME_UPPER" => attributes.push(("padding", text("SAME"))),
        b"VALID" => attributes.push(("padding", text("VALID"))),
        _ => return Err("its `auto_pad` is not supported".to_owned()),
    }
    Ok(Windows {
        attributes,
        has_borders: pads.iter().any(|pad| *pad != 0),
    })
}

/// Filters are `[out, in, height, width]` in ONNX and `[height, width, in, out]` in TensorFlow; they are turned once,
/// when the model is loaded.
fn convolution(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let (x, filter) = (given.input(0)?, given.input(1)?);
    let windows = windows(given, x)?;
    let value = filter
        .value
        .as_ref()
        .ok_or("its filter is not the same for every request")?;
    let &[out, within, height, width] = value.shape() else {
        return Err("its filter has not four dimensions".to_owned());
    };
    let groups = usize::try_from(given.int("group", 1)).unwrap_or_default().max(1);
    let (op, filter) = match (groups, within) {
        (1, _) => ("Conv2D", turned(graph, filter, &filter.output, &[2, 3, 1, 0])),
        (groups, 1) if out % groups == 0 => {
            let sizes = [groups, out / groups, height, width].map(|size| size as i64);
            let sizes = graph.integers(sizes.to_vec());
            let apart = graph.op("Reshape", &[&filter.output, &sizes], &[filter.t()]);
            (
                "DepthwiseConv2dNative",
                turned(graph, filter, &apart, &[2, 3, 0, 1]),
            )
        }
        _ => return Err(format!("it has {groups} groups of several channels")),
    };
    let mut output = graph.op(op, &[&x.output, &filter], &windows.attributes);
    if let Some(bias) = given.optional(2) {
        let attributes = [x.t(), ("data_format", text("NCHW"))];
        output = graph.op("BiasAdd", &[&output, &bias.output], &attributes);
    }
    Ok(vec![x.turned_into(output)])
}

fn turned(graph: &mut Graph, like: &Known, output: &Output, order: &[i64]) -> Output {
    let order = graph.integers(order.to_vec());
    graph.op("Transpose", &[output, &order], &[like.t()])
}

fn pool(graph: &mut Graph, given: &Given<'_>, op: &str) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let Windows {
        mut attributes,
        has_borders,
    } = windows(given, x)?;
    let Some([height, width]) = given.ints("kernel_shape") else {
        return Err("its `kernel_shape` is not two sizes".to_owned());
    };
    if given.int("ceil_mode", 0) != 0 {
        return Err("its sizes are rounded up".to_owned());
    }
    if given
        .ints("dilations")
        .is_some_and(|sizes| sizes.iter().any(|size| *size != 1))
    {
        return Err("its windows have gaps".to_owned());
    }
    if op == "AvgPool" && has_borders && given.int("count_include_pad", 0) != 0 {
        return Err("it counts what lies outside".to_owned());
    }
    if given.node.output.len() > 1 {
        return Err("it also gives places".to_owned());
    }
    attributes.push(("ksize", list(&[1, 1, *height, *width])));
    let output = graph.op(op, &[&x.output], &attributes);
    Ok(vec![x.turned_into(output)])
}

fn global(graph: &mut Graph, given: &Given<'_>, op: &str) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let axes = graph.integers((2..x.needed_rank()? as i64).collect());
    let output = graph.op(op, &[&x.output, &axes], &[x.t(), ("keep_dims", Value::B(true))]);
    Ok(vec![x.turned_into(output)])
}

/// What was learnt becomes one factor and one shift a channel.
fn normalise(graph: &mut Graph, given: &Given<'_>) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    if given.int("training_mode", 0) != 0 || x.dtype != DType::F32 {
        return Err("it is for training, or not of DT_FLOAT".to_owned());
    }
    let learnt = |index: usize| -> Result<&[f32], String> {
        let value = given.input(index)?.value.as_ref();
        let value = value.ok_or("what it has learnt is not the same for every request")?;
        value
            .values::<f32>()
            .ok_or_else(|| "it has learnt no DT_FLOAT".to_owned())
    };
    let (scale, bias, mean, variance) = (learnt(1)?, learnt(2)?, learnt(3)?, learnt(4)?);
    let epsilon = given.float("epsilon", 1e-5);
    let factors: Vec<f32> = scale
        .iter()
        .zip(variance)
        .map(|(scale, variance)| (f64::from(*scale) / (f64::from(*variance) + epsilon).sqrt()) as f32)
        .collect();
    let shifts: Vec<f32> = bias
        .iter()
        .zip(mean.iter().zip(&factors))
        .map(|(bias, (mean, factor))| bias - mean * factor)
        .collect();
    // Beside the channels is one value for all of height and width.
    let mut shape = vec![1; x.needed_rank()?.saturating_sub(1)];
    if let Some(channels) = shape.first_mut() {
        *channels = factors.len();
    }
    let mut column = |values: Vec<f32>| {
        let tensor = Tensor::new(shape.as_slice(), values);
        tensor
            .map(|tensor| graph.learnt(tensor).output)
            .ok_or("what it has learnt does not fit")
    };
    let (factors, shifts) = (column(factors)?, column(shifts)?);
    let scaled = graph.op("Mul", &[&x.output, &factors], &[x.t()]);
    let output = graph.op("AddV2", &[&scaled, &shifts], &[x.t()]);
    Ok(vec![x.turned_into(output)])
}

/// Along the last axis; older versions go along all from an axis on.
fn softmax(graph: &mut Graph, given: &Given<'_>, op: &str) -> Result<Vec<Known>, String> {
    let x = given.input(0)?;
    let along = given.int("axis", if graph.opset < 13 { 1 } else { -1 });
    let is_last = along == -1
        || x.rank
            .is_some_and(|rank| axis(along, x.rank) == Ok(rank as i64 - 1));
    if !is_last {
        return Err("it does not go along the last axis".to_owned());
    }
    let output = graph.op(op, &[&x.output], &[x.t()]);
    Ok(vec![x.turned_into(output)])
}
