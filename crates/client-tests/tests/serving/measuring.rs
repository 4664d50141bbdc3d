//! What is measured is true.

use serde_json::Value;

use crate::{measured, trained};

#[test]
fn a_model_is_trained_exported_served_and_measured() {
    let model = trained().copy();
    let served = model.serve(&[]);
    assert_eq!(served.block["model"], "digits");
    assert_eq!(served.block["versions"][0]["state"], "AVAILABLE");
    // The whole exam: as many are right as the trainer counted.
    let output = measured(
        &served.address(),
        &["-b", "50", "-n", "40", "-w", "5", "-c", "4", "-o", "json"],
    );
    let report: Value = serde_json::from_str(&output.success()).unwrap();
    assert_eq!(
        (report["iterations"].as_u64(), report["examples"].as_u64()),
        (Some(40), Some(2000))
    );
    assert_eq!(report["measuredIterations"], 35);
    let accuracy = report["accuracy"].as_f64().unwrap();
    assert!(
        (accuracy - trained().accuracy).abs() < 1e-4 && accuracy > 0.5,
        "{report}"
    );
    let latency = |name: &str| report["latencyMs"][name].as_f64().unwrap();
    assert!(0.0 < latency("p50") && latency("p50") <= latency("p90") && latency("p90") <= latency("p99"));
    assert!(report["examplesPerSecond"].as_f64().unwrap() > 0.0);
    assert_eq!(served.stop(), Some(0));
}

#[test]
fn the_words_are_those_of_the_original_client() {
    let model = trained().copy();
    let served = model.serve(&[]);
    let told = measured(&served.address(), &["-n", "3", "-w", "1"]).success();
    for words in [
        "Iteration 1: 0.",
        "Iteration 3: 0.",
        "(accuracy: ",
        "Average time: 0.",
        "Batch size = 1\n",
        "Latency: ",
        "Percentiles: p50 ",
        "Throughput: ",
        " examples/sec",
        "Accuracy: ",
    ] {
        assert!(told.contains(words), "{words:?} in {told}");
    }
    // As many to warm up as there are: nothing to measure, and no failure.
    let told = measured(&served.address(), &["-n", "3", "-w", "3", "-q"]).success();
    assert!(
        told.contains("No requests after the warm-up") && !told.contains("Iteration"),
        "{told}"
    );
    // More than there is: what there is, with a short last batch.
    // `--b` is how the original's users were told to write it.
    let told = measured(&served.address(), &["-n", "9", "-w", "1", "--b", "300", "-q"]).success();
    assert!(
        told.contains("The data has 2000 rows: 7 of 9 requests were sent"),
        "{told}"
    );
    assert!(told.contains(" of 2000)"), "{told}");
}

#[test]
fn a_target_is_a_gate() {
    let model = trained().copy();
    let served = model.serve(&[]);
    let further = ["-n", "10", "-w", "0", "-b", "100", "-q", "--target-accuracy"];
    let output = measured(&served.address(), &[&further[..], &["1"]].concat());
    assert_eq!(output.code, 1, "{output:?}");
    assert!(
        output.stderr.contains("below the target of 1"),
        "{}",
        output.stderr
    );
    measured(&served.address(), &[&further[..], &["0.1"]].concat()).success();
}
