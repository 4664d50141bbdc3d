//! Models of TensorFlow itself, and its official client. They are hundreds of megabytes to download:
//! `cargo xtask frameworks serving` tries them.

use std::{path::Path, process::Command, time::Instant};

use client_tests::{Output, environment, needed, run, say};
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

/// The number after a word of what a program printed.
#[track_caller]
fn told(text: &str, word: &str) -> f64 {
    let after = text.split(word).nth(1);
    let number = after.and_then(|after| after.split_whitespace().next());
    number
        .unwrap_or_else(|| panic!("no {word} in {text}"))
        .parse()
        .unwrap()
}

/// What `bench-serving` reports with the options of the original client: nobody says anything but where the data is.
fn benched(served: &Served, batch: &str, data: &Path) -> Value {
    let mut bench = Command::new(client_tests::binary());
    bench
        .args([
            "bench-serving",
            "-s",
            &served.address(),
            "-b",
            batch,
            "-o",
            "json",
            "-d",
        ])
        .arg(data);
    serde_json::from_str(&run(&mut bench, "").success()).unwrap()
}

#[test]
#[ignore = "large: cargo xtask frameworks serving"]
fn models_of_tensorflow_answer_its_own_client_as_tensorflow_does() {
    let Some(python) = needed(environment("serving", &REQUIREMENTS)) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let started = Instant::now();
    let accuracy = told(&models(&python, &["train", path]).success(), "accuracy ");
    say(&format!(
        "trained and exported in {} s",
        started.elapsed().as_secs()
    ));
    for model in [WIDE_AND_DEEP, "mlp"] {
        let served = Served::start(&folder.path().join(model), &[]);
        let answered = models(&python, &["ask", path, model, &served.address()]).success();
        say(&format!("{model}: {} from TensorFlow's own", answered.trim()));
    }
    let served = Served::start(&folder.path().join(WIDE_AND_DEEP), &[]);
    let data = folder.path().join("eval.csv");
    let report = benched(&served, "7", &data);
    let theirs = models(&python, &["measure", data.to_str().unwrap(), &served.address()]).success();
    let (right, median) = (told(&theirs, "accuracy "), told(&theirs, "median "));
    say(&format!(
        "bench-serving: accuracy {}, median {} ms; the Python client: {right}, {median:.2} ms; TensorFlow: {accuracy}",
        report["accuracy"], report["latencyMs"]["p50"]
    ));
    assert_eq!(report["examples"], 200);
    for other in [right, accuracy] {
        assert!(
            (report["accuracy"].as_f64().unwrap() - other).abs() < 1e-9,
            "{report} {other}"
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
    let accuracy = told(&second, "Accuracy: ");
    let served = Served::start(&folder.path().join(WIDE_AND_DEEP), &[]);
    let report = benched(&served, "10", &folder.path().join("data/eval.csv"));
    assert!(
        (report["accuracy"].as_f64().unwrap() - accuracy).abs() < 1e-4,
        "{report} {accuracy}"
    );
}
