//! Ops of neural networks: biases, softmax, normalisation.

use super::{
    Made,
    broadcast::zip_into,
    from, made, not_for,
    numbers::{Number, by_number},
    values,
};
use crate::{
    graph::Attributes as _,
    plan::{Inputs, Outputs},
    proto::NodeDef,
    tensor::{DType, Tensor},
};

pub(super) fn kernel(node: &NodeDef) -> Option<Made> {
    Some(match node.op.as_str() {
        "BiasAdd" | "BiasAddV1" => bias(node),
        "Softmax" => softmax(node, false),
        "LogSoftmax" => softmax(node, true),
        "FusedBatchNorm" | "FusedBatchNormV2" | "FusedBatchNormV3" => normalise(node),
        _ => return None,
    })
}

/// Whether channels come before height and width.
pub(super) fn is_channels_first(node: &NodeDef) -> bool {
    node.text("data_format").starts_with("NC")
}

fn bias(node: &NodeDef) -> Made {
    let first = is_channels_first(node);
    by_number!(node, "T", T => from(move |[tensor, bias]| {
        let channels = if first { 1 } else { tensor.rank().saturating_sub(1) };
        if bias.rank() != 1 || tensor.shape().get(channels) != Some(&bias.len()) {
            return Err(format!("a bias of shape {:?} does not fit shape {:?}", bias.shape(), tensor.shape()));
        }
        let mut column = vec![1; tensor.rank()];
        column[channels] = bias.len();
        let bias = bias.reshaped(column.as_slice()).ok_or_else(String::new)?;
        zip_into(tensor, &bias, <T as Number>::plus)
    }))
}

fn softmax(node: &NodeDef, logarithm: bool) -> Made {
    macro_rules! rows {
        ($type:ty) => {
            Ok(from(move |[tensor]| {
                let width = *tensor.shape().last().ok_or("it needs rows")?;
                let mut result = values::<$type>(&tensor)?.to_vec();
                for row in result.chunks_mut(width.max(1)) {
                    let highest = row
                        .iter()
                        .copied()
                        .fold(<$type>::NEG_INFINITY, <$type>::max);
                    if logarithm {
                        let sum: $type = row.iter().map(|value| (value - highest).exp()).sum();
                        let shift = highest + sum.ln();
                        for value in row.iter_mut() {
                            *value -= shift;
                        }
                    } else {
                        let mut sum = 0.0;
                        for value in row.iter_mut() {
                            *value = (*value - highest).exp();
                            sum += *value;
                        }
                        for value in row.iter_mut() {
                            *value /= sum;
                        }
                    }
                }
                made(tensor.shape(), result)
            }))
        };
    }
    match node.dtype("T")? {
        DType::F32 => rows!(f32),
        DType::F64 => rows!(f64),
        other => Err(not_for(other)),
    }
}

/// By the mean and variance that were learnt.
fn normalise(node: &NodeDef) -> Made {
    // Absent means true, TensorFlow's default.
    if node.value("is_training").is_none() || node.flag("is_training") {
        return Err("it normalises by the batch, as in training".to_owned());
    }
    let dtype = node.dtype("T")?;
    if dtype != DType::F32 {
        return Err(not_for(dtype));
    }
    let epsilon = node.float("epsilon").unwrap_or(1e-4);
    let first = is_channels_first(node);
    let outputs = super::output_count(node);
    Ok(Box::new(move |inputs: Inputs| {
        let [tensor, scale, offset, mean, variance] = super::inputs(inputs)?;
        let channels = if first { 1 } else { tensor.rank().saturating_sub(1) };
        let count = *tensor.shape().get(channels).ok_or("it has no channels")?;
        let each = |tensor: &Tensor| -> Result<Vec<f32>, String> {
            let values = values::<f32>(tensor)?;
            if values.len() == count {
                Ok(values.to_vec())
            } else {
                Err(format!("{} values for {count} channels", values.len()))
            }
        };
        let (scales, offsets, means, variances) =
            (each(&scale)?, each(&offset)?, each(&mean)?, each(&variance)?);
        let factors: Vec<f32> = scales
            .iter()
            .zip(&variances)
            .map(|(scale, variance)| scale / (variance + epsilon).sqrt())
            .collect();
        let shifts: Vec<f32> = offsets
            .iter()
            .zip(means.iter().zip(&factors))
            .map(|(offset, (mean, factor))| offset - mean * factor)
            .collect();
        let mut column = vec![1; tensor.rank()];
        column[channels] = count;
        let scaled = zip_into(tensor, &made(&column, factors)?, <f32 as Number>::times)?;
        let result = zip_into(scaled, &made(&column, shifts)?, <f32 as Number>::plus)?;
        let mut all = Outputs::new();
        all.push(result);
        all.extend([mean.clone(), variance.clone(), mean.clone(), variance, mean]);
        all.truncate(outputs);
        Ok(all)
    }))
}
