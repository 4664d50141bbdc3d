//! The Open Inference Protocol over gRPC.

use std::collections::BTreeMap;

use bytes::Bytes;
use saved_model::{
    DType, Data, Port, Tensor,
    proto::{TensorProto, TensorShapeProto},
};

use crate::{
    app::App,
    failure::{Failure, Outcome},
    open_inference::{
        EXTENSIONS, SERVER, SIGNATURE, datatype, dtype, find, from_raw, raw_of, shape, signature, sizes,
    },
    proto::inference::{
        InferTensor, InferTensorContents, ModelInferRequest, ModelInferResponse, ModelMetadataResponse,
        ModelRequest, ReadyResponse, ServerLiveResponse, ServerMetadataResponse, TensorMetadata,
    },
};

pub(super) fn live() -> ServerLiveResponse {
    ServerLiveResponse { live: true }
}

pub(super) fn ready(app: &App) -> ReadyResponse {
    ReadyResponse {
        ready: app.is_ready(),
    }
}

pub(super) fn model_ready(app: &App, request: &ModelRequest) -> ReadyResponse {
    ReadyResponse {
        ready: find(app, &request.name, &request.version).is_ok(),
    }
}

pub(super) fn server_metadata() -> ServerMetadataResponse {
    ServerMetadataResponse {
        name: SERVER.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        extensions: EXTENSIONS.map(str::to_owned).to_vec(),
    }
}

pub(super) fn model_metadata(app: &App, request: &ModelRequest) -> Outcome<ModelMetadataResponse> {
    let version = find(app, &request.name, &request.version)?;
    let asked = version.signature(signature(&version, None)?)?;
    let described = |ports: &[Port]| ports.iter().map(described).collect();
    let serving = app.catalogue.serving();
    Ok(ModelMetadataResponse {
        name: app.catalogue.name.clone(),
        versions: serving.iter().map(|version| version.number.to_string()).collect(),
        platform: version.platform.to_owned(),
        inputs: described(asked.inputs()),
        outputs: described(asked.outputs()),
    })
}

fn described(port: &Port) -> TensorMetadata {
    TensorMetadata {
        name: port.name.clone(),
        datatype: datatype(port.dtype).to_owned(),
        shape: sizes(port),
    }
}

pub(super) async fn infer(app: &App, request: ModelInferRequest) -> Outcome<ModelInferResponse> {
    let version = find(app, &request.model_name, &request.model_version)?;
    let named = request
        .parameters
        .get(SIGNATURE)
        .and_then(|value| value.string.as_deref());
    let signature = signature(&version, named)?;
    let is_raw = !request.raw_input_contents.is_empty();
    if is_raw && request.raw_input_contents.len() != request.inputs.len() {
        return Err(Failure::invalid(format!(
            "there are {} inputs, but raw contents for {}",
            request.inputs.len(),
            request.raw_input_contents.len()
        )));
    }
    let mut given = BTreeMap::new();
    let mut raw = request.raw_input_contents.into_iter();
    for input in request.inputs {
        let name = input.name.clone();
        let tensor = read(input, raw.next()).map_err(|failure| {
            Failure::invalid(format!("the input `{name}` cannot be read: {}", failure.message))
        })?;
        given.insert(name, tensor);
    }
    let filter: Vec<String> = request.outputs.into_iter().map(|output| output.name).collect();
    let outputs = app.ask(&version, signature, given, &filter).await?;
    let mut answer = ModelInferResponse {
        model_name: app.catalogue.name.clone(),
        model_version: version.number.to_string(),
        id: request.id,
        ..ModelInferResponse::default()
    };
    for (name, tensor) in outputs {
        answer.outputs.push(InferTensor {
            name,
            datatype: datatype(tensor.dtype()).to_owned(),
            shape: tensor.shape().iter().map(|size| *size as i64).collect(),
            contents: (!is_raw).then(|| contents(&tensor)),
        });
        if is_raw {
            answer.raw_output_contents.push(raw_of(&tensor));
        }
    }
    Ok(answer)
}

fn read(input: InferTensor, raw: Option<Bytes>) -> Outcome<Tensor> {
    let dtype = dtype(&input.datatype)?;
    let shape = shape(&input.shape)?;
    let wrong = |error: saved_model::WireError| Failure::invalid(error.to_string());
    if let Some(raw) = raw {
        return from_raw(dtype, &shape, raw);
    }
    let values = input.contents.unwrap_or_default();
    let given = values.bool.len()
        + values.int.len()
        + values.int64.len()
        + values.uint.len()
        + values.uint64.len()
        + values.fp32.len()
        + values.fp64.len()
        + values.bytes.len();
    // TensorFlow fills up what is not given; this protocol does not.
    if shape.iter().try_fold(1_usize, |all, size| all.checked_mul(*size)) != Some(given) {
        return Err(Failure::invalid(format!("its shape has not {given} values")));
    }
    // The lists are those of TensorFlow's tensors, but for small unsigned integers.
    let small = [DType::U8, DType::U16].contains(&dtype);
    let wire = TensorProto {
        dtype: dtype.number(),
        tensor_shape: Some(TensorShapeProto::of(&input.shape)),
        int_val: if small {
            values.uint.iter().map(|value| *value as i32).collect()
        } else {
            values.int
        },
        bool_val: values.bool,
        int64_val: values.int64,
        uint32_val: values.uint,
        uint64_val: values.uint64,
        float_val: values.fp32,
        double_val: values.fp64,
        string_val: values.bytes,
        ..TensorProto::default()
    };
    Tensor::try_from(&wire).map_err(wrong)
}

fn contents(tensor: &Tensor) -> InferTensorContents {
    let mut contents = InferTensorContents::default();
    match tensor.data() {
        Data::U8(values) => contents.uint = values.iter().map(|value| u32::from(*value)).collect(),
        Data::U16(values) => contents.uint = values.iter().map(|value| u32::from(*value)).collect(),
        _ => {
            let wire = TensorProto::from(tensor);
            contents.bool = wire.bool_val;
            contents.int = wire.int_val;
            contents.int64 = wire.int64_val;
            contents.uint = wire.uint32_val;
            contents.uint64 = wire.uint64_val;
            contents.fp32 = wire.float_val;
            contents.fp64 = wire.double_val;
            contents.bytes = wire.string_val;
        }
    }
    contents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_every_type_are_read_as_they_are_written() {
        let tensors = [
            Tensor::list(vec![1.5_f32, 2.0]),
            Tensor::list(vec![1.5_f64]),
            Tensor::list(vec![-1_i8, 2]),
            Tensor::list(vec![-1_i64, 2]),
            Tensor::list(vec![200_u8, 2]),
            Tensor::list(vec![60_000_u16]),
            Tensor::list(vec![4_000_000_000_u32]),
            Tensor::list(vec![true, false]),
            Tensor::list::<Bytes>(vec!["a".into()]),
        ];
        for tensor in tensors {
            let wire = |raw: bool| InferTensor {
                name: String::new(),
                datatype: datatype(tensor.dtype()).to_owned(),
                shape: vec![tensor.len() as i64],
                contents: (!raw).then(|| contents(&tensor)),
            };
            assert_eq!(read(wire(false), None).unwrap(), tensor);
            assert_eq!(read(wire(true), Some(raw_of(&tensor))).unwrap(), tensor);
        }
    }
}
