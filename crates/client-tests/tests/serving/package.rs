//! The package of the pipeline that trains with TensorFlow: its parameters, and what is built of it.

use std::{path::PathBuf, process::Command};

use client_tests::{binary, run};

/// Names, values, whether users should change them.
const PARAMETERS: [(&str, &str, &str); 19] = [
    ("CHECKPOINT_DIR", "checkpoints", "Yes"),
    ("DATASET_DIR", "/datasets", "Yes"),
    ("FS_ID", "0", "Yes"),
    ("GROUP_ID", "0", "Yes"),
    ("GROUP_NAME", "root", "Yes"),
    ("IMAGE_SUFFIX", "", "No"),
    ("MODEL_DIR", "/workspace/wide-deep-large-ds-fp32-training", "No"),
    ("MODEL_NAME", "wide-deep-large-ds-fp32-training", "No"),
    ("MODEL_SCRIPT", "fp32_training_check_accuracy.sh", "No"),
    ("NFS_PATH", "/nfs", "Yes"),
    ("NFS_SERVER", "0.0.0.0", "Yes"),
    ("OUTPUT_DIR", "output", "Yes"),
    ("REGISTRY", "docker.io", "No"),
    ("REPLICAS", "3", "No"),
    ("RETRY_LIMIT", "10", "No"),
    ("TARGET_ACCURACY", "0.75", "Yes"),
    ("TF_SERVING_PORT", "8501", "Yes"),
    ("USER_ID", "0", "Yes"),
    ("USER_NAME", "root", "Yes"),
];

fn example(name: &str) -> PathBuf {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pipelines/wide-deep");
    PathBuf::from(examples).join(name)
}

fn pkg(words: &[&str], folder: &str) -> String {
    let mut command = Command::new(binary());
    command.arg("pkg").args(words).arg(example(folder));
    run(&mut command, "").success()
}

#[test]
fn its_parameters_are_those_of_the_original() {
    let table = pkg(&["list-setters", "--markdown"], "tensorflow/pipeline");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let found: Vec<(&str, &str, &str)> = rows.iter().map(|row| (row[0], row[1], row[5])).collect();
    assert_eq!(found, PARAMETERS, "{table}");
    for row in rows {
        assert!(row[2] == "model-builder" && row[4] != "0", "{row:?}");
    }
}

#[test]
fn what_is_built_of_it_can_be_run() {
    for (folder, image) in [
        ("tensorflow/pipeline", "docker.io/tensorflow/serving:2.15.1"),
        ("tensorflow/host", "image: host"),
    ] {
        let built = pkg(&["build"], folder);
        assert!(built.contains(image), "{built}");
        let (_, workflow) = built.split_once("apiVersion: argoproj.io/v1alpha1").unwrap();
        let workflow = format!("apiVersion: argoproj.io/v1alpha1{workflow}");
        let mut check = Command::new(binary());
        check.args(["pipeline", "check", "-"]);
        run(&mut check, &workflow).success();
    }
}
