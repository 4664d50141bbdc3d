//! Each kind tells its replicas who they are and where the others are, in the words of its framework. A
//! program that reads these words as the framework does finds all the others.

use client_tests::{
    manifests::Job,
    team::{Scenario, Team, play},
};

#[test]
fn replicas_find_each_other_in_the_words_of_their_framework() {
    let scenarios: [Scenario; 5] = [
        ("tensorflow", |team| {
            meet(team, "TFJob", &[("Chief", 1, ""), ("Worker", 2, "")]);
        }),
        ("pytorch", |team| {
            meet(team, "PyTorchJob", &[("Master", 1, ""), ("Worker", 2, "")]);
        }),
        ("xgboost", |team| {
            meet(team, "XGBoostJob", &[("Master", 1, ""), ("Worker", 2, "")]);
        }),
        ("paddle", |team| meet(team, "PaddleJob", &[("Worker", 3, "")])),
        ("jax", |team| meet(team, "JAXJob", &[("Worker", 3, "")])),
    ];
    play(&scenarios);
}

fn meet(team: &Team<'_>, kind: &str, roles: &[(&str, u32, &str)]) {
    if client_tests::needed(client_tests::python3()).is_none() {
        return;
    }
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/training/meet.py");
    team.ok(&format!("create configmap program --from-file={program}"));
    let job = Job {
        kind,
        roles,
        command: &format!("exec python3 -I /program/meet.py {kind}"),
        container: "env: [{name: MINE, value: kept}], volumeMounts: [{name: program, mountPath: /program}]",
        pod: "volumes: [{name: program, configMap: {name: program}}]",
        ..Job::default()
    };
    team.apply(&job.manifest());
    team.until_is(&format!("{}s/job", kind.to_lowercase()), "Succeeded");
    team.until("pods", |pods| {
        let mut pods = pods["items"].as_array().into_iter().flatten();
        pods.all(|pod| pod["status"]["phase"] == "Succeeded")
    });
    let log = team.ok("logs -l training.kubeflow.org/job-name=job --tail=-1");
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    let wanted: Vec<String> = (0..3)
        .map(|rank| format!("{rank} of 3 has met [0, 1, 2]"))
        .collect();
    assert_eq!(lines, wanted);
}
