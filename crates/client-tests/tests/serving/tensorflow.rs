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

/// The training of the example: what misses its target exports nothing and is gone on with.
#[test]
#[ignore = "large: cargo xtask frameworks serving"]
fn the_training_of_the_example_is_gone_on_with_until_it_is_good_enough() {
    let Some(python) = needed(environment("serving", &REQUIREMENTS)) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    models(&python, &["table", &path("data")]).success();
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/pipelines/wide-deep/tensorflow/pipeline/fp32_training_check_accuracy.sh"
    );
    let attempt = |target: &str| {
        let mut command = Command::new("sh");
        command
            .arg(program)
            .env("PYTHON", &python)
            .env("TF_CPP_MIN_LOG_LEVEL", "2")
            .env("CUDA_VISIBLE_DEVICES", "")
            .env("DATASET_DIR", path("data"))
            .env("CHECKPOINT_DIR", path("checkpoints"))
            .env("OUTPUT_DIR", path(WIDE_AND_DEEP))
            .env("STEPS", "40")
            .env("TARGET_ACCURACY", target);
        run(&mut command, "")
    };
    let first = attempt("1.0");
    assert_eq!(first.code, 1, "{first:?}");
    assert!(
        first.stdout.contains("did not meet the target accuracy of 1.0"),
        "{first:?}"
    );
    assert_eq!(folder.path().join(WIDE_AND_DEEP).read_dir().unwrap().count(), 0);
    let second = attempt("0.62").success();
    assert!(
        second.contains("resumed step=40") && second.contains("exported path="),
        "{second}"
    );
    let accuracy = second.split("Accuracy: ").nth(1).unwrap();
    let accuracy: f64 = accuracy.lines().next().unwrap().parse().unwrap();
    // Nobody says anything but where the data is, as with the original client.
    let served = Served::start(&folder.path().join(WIDE_AND_DEEP), &[]);
    let mut bench = Command::new(client_tests::binary());
    bench
        .args([
            "bench-serving",
            "-s",
            &served.address(),
            "-b",
            "10",
            "-o",
            "json",
            "-d",
        ])
        .arg(folder.path().join("data/eval.csv"));
    let report: Value = serde_json::from_str(&run(&mut bench, "").success()).unwrap();
    assert!(
        (report["accuracy"].as_f64().unwrap() - accuracy).abs() < 1e-4,
        "{report} {accuracy}"
    );
}
