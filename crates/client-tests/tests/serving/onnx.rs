//! Models in ONNX: every kind of node that is translated, beside ONNX Runtime. `cargo xtask frameworks onnx` tries
//! them.

use std::{fs, process::Command};

use client_tests::{environment, needed, run};
use serde_json::Value;

use crate::{Served, http};

const REQUIREMENTS: [&str; 3] = ["onnx==1.17.0", "onnxruntime==1.20.1", "numpy==1.26.4"];
const TOLERANCE: f64 = 1e-5;

/// Lists of lists of numbers.
fn is_close(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_close(left, right))
        }
        _ => match (left.as_f64(), right.as_f64()) {
            (Some(left), Some(right)) => (left - right).abs() <= TOLERANCE * right.abs().max(1.0),
            _ => false,
        },
    }
}

#[test]
#[ignore = "large: cargo xtask frameworks onnx"]
fn models_in_onnx_answer_as_onnx_runtime_does() {
    let Some(python) = needed(environment("onnx", &REQUIREMENTS)) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serving/onnx_models.py");
    let mut command = Command::new(python);
    let names = run(command.arg(program).arg(folder.path()), "").success();
    assert!(names.lines().count() >= 10, "{names}");
    for name in names.lines() {
        let read = |ending: &str| fs::read_to_string(folder.path().join(format!("{name}.{ending}"))).unwrap();
        let served = Served::start(&folder.path().join(name), &[]);
        let body = read("request");
        let request = format!(
            "POST /v1/models/{name}:predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = http(&served.address(), &request);
        let (_, answer) = answer.split_once("\r\n\r\n").unwrap();
        let answer: Value = serde_json::from_str(answer).unwrap();
        let wanted: Value = serde_json::from_str(&read("answer")).unwrap();
        assert!(is_close(&answer["outputs"], &wanted), "{name}: {answer} {wanted}");
    }
}
