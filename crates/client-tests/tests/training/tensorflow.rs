//! TensorFlow itself. It is 600 MB to download and slow to start: `cargo xtask frameworks` tries it.

use client_tests::{
    User,
    manifests::Job,
    needed, packages,
    team::{Team, play_as},
};

const REQUIREMENTS: [&str; 1] = ["tensorflow-cpu==2.18.1"];

#[test]
#[ignore = "large: cargo xtask frameworks"]
fn two_workers_train_with_one_mirrored_strategy() {
    if needed(packages("tensorflow", &REQUIREMENTS)).is_none() {
        return;
    }
    for user in User::all() {
        play_as(user, &[("tensorflow", train)]);
    }
}

fn train(team: &Team<'_>) {
    let packages = packages("tensorflow", &REQUIREMENTS).expect("it was there before");
    let from = packages.display();
    // Where the packages are kept, not everybody may look. Links take no time.
    team.shell
        .ok(&format!("cp -al {from} packages || cp -r {from} packages"));
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/training/mirrored.py");
    team.ok(&format!("create configmap program --from-file={program}"));
    let job = Job {
        kind: "TFJob",
        roles: &[("Worker", 2, "")],
        command: "exec python3 /program/mirrored.py",
        more: "successPolicy: AllWorkers",
        container: "env: [{name: PYTHONPATH, value: /packages}, {name: TF_CPP_MIN_LOG_LEVEL, value: \"2\"}], \
                    volumeMounts: [{name: program, mountPath: /program}, {name: packages, mountPath: /packages, readOnly: true}]",
        pod: &format!(
            "volumes: [{{name: program, configMap: {{name: program}}}}, {{name: packages, hostPath: {{path: {}}}}}]",
            team.server.home().join("packages").display()
        ),
        ..Job::default()
    };
    team.apply(&job.manifest());
    team.until_is("tfjobs/job", "Succeeded");
    for worker in 0..2 {
        let log = team.ok(&format!("logs job-worker-{worker}"));
        let wanted = format!("worker {worker} of 2: 2 replicas in sync, weight 3.00");
        assert!(log.lines().any(|line| line == wanted), "{log}");
    }
}
