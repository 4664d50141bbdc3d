//! The pipeline of the seed with TensorFlow itself, as its users have it: a package whose setters say where things
//! are. `cargo xtask frameworks pipeline` tries it.

use std::{fs, path::Path};

use client_tests::{
    environment, needed, say,
    team::{Team, names},
};
use serde_json::Value;

use crate::{node, phase_of};

/// Those of the served models.
const REQUIREMENTS: [&str; 2] = ["tensorflow==2.15.1", "tensorflow-serving-api==2.15.1"];
const NAME: &str = "wide-deep-large-ds-fp32-training";

#[test]
#[ignore = "large: cargo xtask frameworks pipeline"]
fn tensorflow_trains_until_good_enough_and_is_served() {
    let Some(python) = needed(environment("serving", &REQUIREMENTS)) else {
        return;
    };
    crate::play(&[("tensorflow", |team: &Team<'_>| trained_then_served(team, &python))]);
}

fn trained_then_served(team: &Team<'_>, python: &Path) {
    apply(team, python);
    let ended = team.shell.run(&format!(
        "trainyard pipeline watch {NAME} --namespace {}",
        team.namespace
    ));
    assert_eq!(ended.code, 0, "{ended:?}");
    let workflow = team.find(&format!("workflows/{NAME}"));
    assert_eq!(phase_of(&workflow), "Succeeded");
    let accuracy = attempts(team, &workflow);
    let measured = measured(team);
    say(&format!(
        "TensorFlow says {accuracy}, bench-serving {}, p50 {} ms",
        measured["accuracy"], measured["latencyMs"]["p50"]
    ));
    let difference = measured["accuracy"].as_f64().unwrap() - accuracy;
    assert!(
        difference.abs() < 1e-4 && measured["examples"] == 200,
        "{measured}"
    );
    team.ok(&format!("delete wf {NAME}"));
    team.until("services", |services| names(services).is_empty());
    team.until("pods", |pods| names(pods).is_empty());
}

/// The data, a Python that pods can see, and the package, told where they are.
fn apply(team: &Team<'_>, python: &Path) {
    let (shell, home) = (team.shell, team.server.home().display());
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let package = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/pipelines/wide-deep/tensorflow"
    );
    shell.ok(&format!(
        "{} {tests}/serving/models.py table tables",
        python.display()
    ));
    shell.ok(&format!("cp -r {package} package"));
    // The environment and the Python it is of may lie in a home, which no pod sees; its packages are enough. Links
    // take no time.
    let packages = python.parent().and_then(Path::parent).unwrap().join("lib");
    let packages = fs::read_dir(packages).unwrap().next().unwrap().unwrap().path();
    let from = packages.join("site-packages");
    shell.ok(&format!(
        "mkdir -p python/bin && (cp -al {0} python/packages || cp -r {0} python/packages) && \
         cat > python/bin/python3 <<'END' && chmod +x python/bin/python3\n{WRAPPER}\nEND",
        from.display()
    ));
    // So long an attempt misses the target, and the one that goes on from it does not.
    for (part, setter, value) in [
        ("pipeline", "DATASET_DIR", format!("{home}/tables")),
        ("pipeline", "NFS_PATH", format!("{home}/share")),
        ("pipeline", "TARGET_ACCURACY", "0.67".to_owned()),
        ("pipeline", "REPLICAS", "2".to_owned()),
        ("host", "STEPS", "40".to_owned()),
        ("host", "PYTHON_DIR", format!("{home}/python")),
    ] {
        shell.ok(&format!("trainyard pkg set package/{part} {setter} {value}"));
    }
    shell.ok(&format!(
        "trainyard apply -k package/host --namespace {}",
        team.namespace
    ));
}

const WRAPPER: &str = r#"#!/bin/sh
export PYTHONPATH="$(dirname "$0")/../packages" TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=
exec python3 "$@""#;

/// The first missed the target, the last went on from the checkpoint, and only it exported; how good it is.
fn attempts(team: &Team<'_>, workflow: &Value) -> f64 {
    let told = |attempt: usize| {
        let node = node(workflow, &format!("{NAME}[0].train({attempt})"));
        let number = node["id"].as_str().unwrap().rsplit('-').next().unwrap();
        let log = team.ok(&format!("logs {NAME}-train-{number}"));
        say(&format!("attempt {attempt}: {}", log.trim().replace('\n', ", ")));
        (node["message"].as_str().unwrap_or_default().to_owned(), log)
    };
    let (message, first) = told(0);
    assert_eq!(message, "main: Error (exit code 1)");
    assert!(
        first.contains("did not meet the target accuracy of 0.67") && !first.contains("resumed"),
        "{first}"
    );
    let train = node(workflow, &format!("{NAME}[0].train"));
    let (_, last) = told(train["children"].as_array().unwrap().len() - 1);
    assert!(
        last.contains("resumed step=") && last.contains("exported path="),
        "{last}"
    );
    let versions = team.server.home().join("share/root/output").join(NAME);
    assert_eq!(fs::read_dir(versions).unwrap().count(), 1);
    let accuracy = last.split("Accuracy: ").nth(1).unwrap();
    accuracy.lines().next().unwrap().parse().unwrap()
}

/// What a client from outside measures at the port of the node, with the options of the original.
fn measured(team: &Team<'_>) -> Value {
    team.until(&format!("deployments/{NAME}"), |deployment| {
        deployment["status"]["availableReplicas"] == 2
    });
    let service = team.find(&format!("services/{NAME}"));
    let port = &service["spec"]["ports"][0]["nodePort"];
    let report = team.shell.ok(&format!(
        "trainyard bench-serving -s localhost:{port} -d tables/eval.csv -b 10 -o json"
    ));
    serde_json::from_str(&report).unwrap()
}
