//! The pipelines under `examples/`, as a person tries them.

use std::{fs, path::Path};

use client_tests::team::{Team, names};
use serde_json::Value;

use crate::{node, phase_of};

fn example(name: &str) -> String {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pipelines")).join(name);
    fs::read_to_string(path).unwrap()
}

/// Runs an example as it is; the workflow at its end.
#[track_caller]
fn run(team: &Team<'_>, name: &str, options: &str) -> Value {
    let output = team.shell.run(&format!(
        "trainyard pipeline run - --namespace {} -o json {options} <<'END'\n{}\nEND",
        team.namespace,
        example(name)
    ));
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

pub(crate) fn the_best_training_is_found(team: &Team<'_>) {
    let workflow = run(team, "digits.yaml", "-p steps=20");
    let name = workflow["metadata"]["name"].as_str().unwrap();
    let best = node(&workflow, &format!("{name}[1].best"));
    let number = best["id"].as_str().unwrap().rsplit('-').next().unwrap();
    let told = team.ok(&format!("logs {name}-best-{number}"));
    assert!(
        told.trim().ends_with(" 16") || told.trim().ends_with(" 64"),
        "{told}"
    );
}

/// The first attempts miss the target, a later one goes on from their checkpoint and reaches it; what is made to
/// serve the model belongs to the workflow.
pub(crate) fn trained_until_good_enough_then_served(team: &Team<'_>) {
    team.apply(&example("wide-deep/account.yaml"));
    let share = team.server.home().join("share");
    let options = format!(
        "-p SHARE_PATH={} -p STEPS=4 -p TARGET_ACCURACY=0.6 -p REPLICAS=1",
        share.display()
    );
    let workflow = run(team, "wide-deep/pipeline.yaml", &options);
    assert_eq!(phase_of(&workflow), "Succeeded");
    let name = workflow["metadata"]["name"].as_str().unwrap();
    let first = node(&workflow, &format!("{name}[0].train(0)"));
    assert_eq!(first["message"], "main: Error (exit code 1)", "{first:#}");
    let train = node(&workflow, &format!("{name}[0].train"));
    assert_eq!(
        (&train["type"], &train["phase"]),
        (&"Retry".into(), &"Succeeded".into())
    );
    let last = train["children"].as_array().unwrap().len() - 1;
    let last = node(&workflow, &format!("{name}[0].train({last})"));
    let number = last["id"].as_str().unwrap().rsplit('-').next().unwrap();
    let told = team.ok(&format!("logs {name}-train-{number}"));
    assert!(
        told.contains("resumed step=") && told.contains("exported path="),
        "{told}"
    );
    let versions = share.join("output/wide-deep-large-ds-fp32-training");
    assert_eq!(fs::read_dir(versions).unwrap().count(), 1);
    let service = team.find(&format!("services/{name}"));
    assert_eq!(service["spec"]["type"], "NodePort");
    assert_eq!(service["metadata"]["ownerReferences"][0]["kind"], "Workflow");
    is_served(
        team,
        &service,
        &share.join("checkpoints").join(name).join("exam.csv"),
    );
    team.ok(&format!("delete wf {name}"));
    team.until("services", |services| {
        !names(services).iter().any(|found| found == name)
    });
    team.until("pods", |pods| names(pods).is_empty());
}

/// Through the port of the node, as a client from outside asks: the model is as good as its training was told to
/// make it.
#[track_caller]
fn is_served(team: &Team<'_>, service: &Value, exam: &Path) {
    let name = service["metadata"]["name"].as_str().unwrap();
    team.until(&format!("deployments/{name}"), |deployment| {
        deployment["status"]["availableReplicas"] == 1
    });
    let port = &service["spec"]["ports"][0]["nodePort"];
    let measured = team.shell.run(&format!(
        "trainyard bench-serving -s localhost:{port} -d {} -b 50 -n 40 --signature serving_default \
         --target-accuracy 0.55 -o json",
        exam.display()
    ));
    assert_eq!(measured.code, 0, "{}{}", measured.stdout, measured.stderr);
}
