//! MXNet's distributed training with one scheduler, two servers and three workers, as all of its kinds.

use client_tests::{User, needed, packages};

use client_tests::team::{Scenario, Team, play_as};

/// The last release there is; it needs a NumPy of its time.
const REQUIREMENTS: [&str; 2] = ["mxnet==1.9.1", "numpy==1.23.5"];

#[test]
fn mxnet_trains_in_jobs_of_every_kind() {
    if needed(packages("mxnet", &REQUIREMENTS)).is_none() {
        return;
    }
    let ours: [Scenario; 2] = [("standalone", standalone), ("kubeflow", kubeflow)];
    let theirs: [Scenario; 1] = [("readme", as_in_the_readme)];
    // It takes long to start, so not everybody does everything.
    play_as(User::Us, &ours);
    play_as(User::all().last().copied().unwrap_or(User::Us), &theirs);
}

fn standalone(team: &Team<'_>) {
    let manifest = seed("mxnet.mlkube.io", "replicaSpecs", &template(team)).replacen(
        "spec:",
        "spec:\n  jobMode: dist",
        1,
    );
    team.apply(&manifest);
    check_standalone(team, "mxjobs.mxnet.mlkube.io/train");
    // Of three groups that have `mxjobs` this one is meant by the bare name.
    for names in ["mxjobs", "mxjobs train", "mxjob train"] {
        let shown = team.ok(&format!("get {names} -o name"));
        assert_eq!(shown.trim(), "mxjob.mxnet.mlkube.io/train");
    }
    let jobs = team.ok("get jobs -o name | sed 's/-[0-9a-z]*-\\([0-9]\\)$/-ID-\\1/'");
    assert_eq!(
        jobs.lines().collect::<Vec<_>>(),
        [
            "job.batch/train-scheduler-ID-0",
            "job.batch/train-server-ID-0",
            "job.batch/train-server-ID-1",
            "job.batch/train-worker-ID-0",
            "job.batch/train-worker-ID-1",
            "job.batch/train-worker-ID-2",
        ]
    );
}

fn as_in_the_readme(team: &Team<'_>) {
    team.apply(&seed("mlkube.io", "replica_specs", &template(team)));
    check_standalone(team, "mxjobs.mlkube.io/train");
}

fn kubeflow(team: &Team<'_>) {
    let template = template(team);
    team.apply(&format!(
        "apiVersion: kubeflow.org/v1\nkind: MXJob\nmetadata: {{name: train}}\nspec:\n  jobMode: MXTrain\n  mxReplicaSpecs:\n    \
         Scheduler: {{replicas: 1, template: {template}}}\n    \
         Server: {{replicas: 2, template: {template}}}\n    \
         Worker: {{replicas: 3, template: {template}}}\n"
    ));
    team.until_is("mxjobs/train", "Succeeded");
    let logs = (0..3).map(|worker| team.ok(&format!("logs train-worker-{worker}")));
    check(&logs.collect::<String>());
}

fn seed(group: &str, field: &str, template: &str) -> String {
    let replica = |role: &str, count: u32| {
        format!("  - {{mxReplicaType: {role}, replicas: {count}, PsRootPort: 9091, template: {template}}}\n")
    };
    format!(
        "apiVersion: {group}/v1beta1\nkind: MxJob\nmetadata: {{name: train}}\nspec:\n  {field}:\n{}{}{}",
        replica("SCHEDULER", 1),
        replica("SERVER", 2),
        replica("WORKER", 3)
    )
}

fn template(team: &Team<'_>) -> String {
    let packages = packages("mxnet", &REQUIREMENTS).expect("it was there before");
    let folder = format!("{}-packages", team.namespace);
    // Where the packages are kept, not everybody may look. Links take no time.
    team.shell.ok(&format!(
        "cp -al {from} {folder} || cp -r {from} {folder}",
        from = packages.display()
    ));
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/train.py");
    team.ok(&format!("create configmap train --from-file={program}"));
    format!(
        "{{spec: {{restartPolicy: OnFailure, terminationGracePeriodSeconds: 0, containers: [{{name: mxnet, image: host, \
         command: [python3, /program/train.py], \
         env: [{{name: PYTHONPATH, value: /packages}}, {{name: OMP_NUM_THREADS, value: \"1\"}}, {{name: DMLC_USE_KUBERNETES, value: \"1\"}}], \
         volumeMounts: [{{name: packages, mountPath: /packages, readOnly: true}}, {{name: program, mountPath: /program}}]}}], \
         volumes: [{{name: packages, hostPath: {{path: {}}}}}, {{name: program, configMap: {{name: train}}}}]}}}}",
        team.server.home().join(folder).display()
    )
}

fn check_standalone(team: &Team<'_>, job: &str) {
    let done = team.until(job, |job| job["status"]["phase"] == "Done");
    assert_eq!(done["status"]["state"], "Succeeded", "{}", done["status"]);
    team.ok("wait --for=condition=complete job -l job_type=WORKER --timeout=60s");
    check(&team.ok("logs -l job_type=WORKER --tail=-1"));
}

fn check(log: &str) {
    let mut lines: Vec<&str> = log.lines().filter(|line| line.starts_with("worker")).collect();
    lines.sort_unstable();
    let wanted: Vec<String> = (0..3)
        .map(|rank| format!("worker {rank} of 3: total 6, weight 3.00"))
        .collect();
    assert_eq!(lines, wanted);
}
