//! Models of TensorFlow itself, and its official client. They are hundreds of megabytes to download:
//! `cargo xtask frameworks serving` tries them.

use std::{path::Path, process::Command};

use client_tests::{Output, environment, needed, run};
use serde_json::Value;

use crate::Served;

/// The last with estimators, which the wide and deep model is.
const REQUIREMENTS: [&str; 2] = ["tensorflow==2.15.1", "tensorflow-serving-api==2.15.1"];
const WIDE_AND_DEEP: &str = "wide-deep-large-ds-fp32-training";

fn models(python: &Path, words: &[&str]) -> Output {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serving/models.py");
    let mut command = Command::new(python);
    command
        .arg(program)
        .args(words)
        .env("TF_CPP_MIN_LOG_LEVEL", "2")
        .env("CUDA_VISIBLE_DEVICES", "");
    run(&mut command, "")
}

#[test]
#[ignore = "large: cargo xtask frameworks serving"]
fn models_of_tensorflow_answer_its_own_client_as_tensorflow_does() {
    let Some(python) = needed(environment("serving", &REQUIREMENTS)) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let told = models(&python, &["train", path]).success();
    let accuracy = told.split("accuracy ").nth(1).unwrap().trim();
    let accuracy: f64 = accuracy.lines().next().unwrap().parse().unwrap();
    for model in [WIDE_AND_DEEP, "mlp"] {
        let served = Served::start(&folder.path().join(model), &[]);
        models(&python, &["ask", path, model, &served.address()]).success();
        if model != WIDE_AND_DEEP {
            continue;
        }
        // With the options of the original client, as many are right as TensorFlow says.
        let data = folder.path().join("eval.csv");
        let mut bench = Command::new(client_tests::binary());
        bench
            .args([
                "bench-serving",
                "-s",
                &served.address(),
                "-b",
                "7",
                "-o",
                "json",
                "-d",
            ])
            .arg(data);
        let report: Value = serde_json::from_str(&run(&mut bench, "").success()).unwrap();
        assert_eq!(report["examples"], 200);
        assert!(
            (report["accuracy"].as_f64().unwrap() - accuracy).abs() < 1e-9,
            "{report}"
        );
    }
}
