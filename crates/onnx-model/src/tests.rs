//! Small models, translated and asked. What the real runtime answers is compared by `cargo xtask frameworks onnx`.

use std::collections::BTreeMap;

use prost::Message as _;
use saved_model::{Model, Tensor, Wanted};

use crate::{
    OnnxError,
    proto::{
        AttributeProto, Dimension, GraphProto, ModelProto, NodeProto, OperatorSetId, TensorProto,
        TensorShape, TensorType, TypeProto, ValueInfoProto,
    },
    saved_model,
};

fn learnt(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    TensorProto {
        dims: dims.to_vec(),
        data_type: 1,
        float_data: values.to_vec(),
        name: name.to_owned(),
        ..TensorProto::default()
    }
}

fn node(op: &str, inputs: &[&str], output: &str, attributes: &[AttributeProto]) -> NodeProto {
    NodeProto {
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![output.to_owned()],
        name: format!("{op}_of_{output}"),
        op_type: op.to_owned(),
        attribute: attributes.to_vec(),
        ..NodeProto::default()
    }
}

fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto {
        name: name.to_owned(),
        ints: values.to_vec(),
        ..AttributeProto::default()
    }
}

fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto {
        name: name.to_owned(),
        i: value,
        ..AttributeProto::default()
    }
}

fn port(name: &str, sizes: &[Option<i64>]) -> ValueInfoProto {
    let dim = sizes.iter().map(|size| Dimension { dim_value: *size }).collect();
    ValueInfoProto {
        name: name.to_owned(),
        r#type: Some(TypeProto {
            tensor_type: Some(TensorType {
                elem_type: 1,
                shape: Some(TensorShape { dim }),
            }),
        }),
    }
}

fn model(graph: GraphProto) -> Vec<u8> {
    let model = ModelProto {
        graph: Some(graph),
        opset_import: vec![OperatorSetId {
            domain: String::new(),
            version: 17,
        }],
    };
    model.encode_to_vec()
}

#[track_caller]
fn check(graph: GraphProto, x: Tensor, wanted: &[f32]) {
    let files = saved_model(model(graph)).unwrap();
    let model = Model::load(&files, &Wanted::All).unwrap();
    let signature = model.signature("serving_default").unwrap();
    let answer = signature.ask(BTreeMap::from([("x".to_owned(), x)])).unwrap();
    let found = answer["y"].values::<f32>().unwrap();
    let is_close = |(found, wanted): (&f32, &f32)| (found - wanted).abs() < 1e-5;
    assert!(
        found.len() == wanted.len() && found.iter().zip(wanted).all(is_close),
        "{found:?}, not {wanted:?}"
    );
}

#[test]
fn layers_are_computed() {
    let graph = GraphProto {
        node: vec![
            node("Gemm", &["x", "w", "b"], "h", &[int("transB", 1)]),
            node("Relu", &["h"], "r", &[]),
            node("Softmax", &["r"], "y", &[int("axis", 1)]),
        ],
        initializer: vec![
            learnt("w", &[2, 2], &[1.0, 2.0, 3.0, 4.0]),
            learnt("b", &[2], &[0.5, -20.0]),
        ],
        input: vec![port("x", &[None, Some(2)])],
        output: vec![port("y", &[None, Some(2)])],
    };
    let x = Tensor::new([1_usize, 2].as_slice(), vec![1.0_f32, 1.0]).unwrap();
    // 1·1 + 2·1 + 0.5 and 3·1 + 4·1 − 20, which is cut off at nought.
    let (high, low) = (3.5_f32.exp(), 1.0);
    check(graph, x, &[high / (high + low), low / (high + low)]);
}

#[test]
fn pictures_are_filtered_normalised_and_pooled() {
    let graph = GraphProto {
        node: vec![
            node("Conv", &["x", "w"], "c", &[ints("pads", &[1, 0, 0, 0])]),
            node("BatchNormalization", &["c", "s", "o", "m", "v"], "n", &[]),
            node("MaxPool", &["n"], "p", &[ints("kernel_shape", &[2, 1])]),
            node("Flatten", &["p"], "y", &[]),
        ],
        initializer: vec![
            learnt("w", &[1, 1, 2, 1], &[1.0, 10.0]),
            learnt("s", &[1], &[2.0]),
            learnt("o", &[1], &[1.0]),
            learnt("m", &[1], &[3.0]),
            learnt("v", &[1], &[1.0 - 1e-5]),
        ],
        input: vec![port("x", &[None, Some(1), Some(2), Some(2)])],
        output: vec![port("y", &[None, Some(2)])],
    };
    let x = Tensor::new([1_usize, 1, 2, 2].as_slice(), vec![1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    // Columns with a row of noughts above: 10, 31 and 20, 42; then twice what is above 3, and 1.
    check(graph, x, &[57.0, 79.0]);
}

#[test]
fn sizes_of_nought_are_those_of_the_input() {
    let mut shape = learnt("shape", &[3], &[]);
    (shape.data_type, shape.int64_data) = (7, vec![0, -1, 1]);
    let graph = GraphProto {
        node: vec![
            node("Reshape", &["x", "shape"], "r", &[]),
            node("ReduceSum", &["r"], "y", &[int("keepdims", 0)]),
        ],
        initializer: vec![shape],
        input: vec![port("x", &[None, Some(2)])],
        output: vec![port("y", &[])],
    };
    let x = Tensor::new([2_usize, 2].as_slice(), vec![1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    check(graph, x, &[10.0]);
}

#[test]
fn what_is_not_supported_is_told_by_node() {
    let graph = GraphProto {
        node: vec![
            node("Quantum", &["x"], "q", &[]),
            node("Relu", &["q"], "r", &[]),
            node("Softmax", &["x"], "y", &[int("axis", 0)]),
        ],
        input: vec![port("x", &[None, Some(2)])],
        output: vec![port("y", &[None, Some(2)])],
        ..GraphProto::default()
    };
    let told = saved_model(model(graph)).unwrap_err();
    assert_eq!(
        told.to_string(),
        "the model needs the op Quantum (node `Quantum_of_q`), the op Softmax (node `Softmax_of_y`: it does not go \
         along the last axis), not supported here"
    );
    assert!(!told.may_pass());
    let cut = saved_model(vec![58, 200, 1, 1]).unwrap_err();
    assert!(matches!(cut, OnnxError::Damaged(_)) && cut.may_pass());
    assert!(saved_model(Vec::new()).unwrap_err().may_pass());
}
