//! From submission to the last trace: what runs, what is stopped, what is run again, what stays.

use client_tests::team::{Scenario, Team};
use serde_json::{Value, json};

use crate::{events, patch, play, submit, template, until_is};

const UNTIL_TOLD: &str =
    "echo started; until [ -s $STORAGE/end ]; do sleep 0.1; done; exit $(cat $STORAGE/end)";

#[test]
fn a_task_lives_and_ends_as_it_is_told() {
    let scenarios: [Scenario; 8] = [
        ("succeeds", succeeds),
        ("cancelled", cancelled_and_retried),
        ("fails", failed_and_retried),
        ("ttl", gone_when_its_time_is_over),
        ("deleted", deleted_with_its_claim),
        ("lost-job", its_job_is_deleted),
        ("spent-job", its_job_is_deleted_after_its_end),
        ("waits", waits_for_a_group_of_nodes),
    ];
    play(&scenarios);
}

fn succeeds(team: &Team<'_>) {
    submit(
        team,
        "sleep 1; echo done; echo '{\"accuracy\": 0.93}' > /dev/termination-log",
        |_| {},
    );
    let task = until_is(team, "Succeeded");
    let status = &task["status"];
    assert_eq!(events(&task), ["task.pending", "task.running", "task.succeeded"]);
    assert_eq!(status["attempts"][0]["exitCode"], 0);
    assert!(status["startTime"].is_string() && status["completionTime"].is_string());
    assert_eq!(status["pinned"]["definition"]["name"], "run");
    assert_eq!(
        status["outputs"],
        json!([
            {"name": "t", "value": "t", "type": "claim"},
            {"name": "accuracy", "value": "0.93", "type": "result"},
        ])
    );
    // A template's own time limit does not make the Job go before its task.
    let job = team.find("jobs/t");
    assert_eq!(job["metadata"]["ownerReferences"][0]["kind"], "Task");
    assert!(job["spec"].get("ttlSecondsAfterFinished").is_none());
    let shown = team.ok("get tasks t");
    assert!(
        shown.contains("Succeeded") && shown.contains("Completed"),
        "{shown}"
    );
    // What it said is kept by then, from its first byte.
    let logs = kept_logs(team, "t");
    assert_eq!(logs.len(), 1);
    assert!(logs[0].ends_with("done\n"), "{logs:?}");
}

/// Every kept log of a task, once there is one.
fn kept_logs(team: &Team<'_>, task: &str) -> Vec<String> {
    let folder = team
        .server
        .data_dir()
        .join("task-logs")
        .join(team.namespace)
        .join(task);
    let files = team.shell.ok(&format!(
        "timeout 60 sh -c 'until find {0} -name \"*.log\" 2>/dev/null | grep .; do sleep 0.1; done'",
        folder.display()
    ));
    files
        .lines()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect()
}

fn cancelled_and_retried(team: &Team<'_>) {
    submit(team, UNTIL_TOLD, |_| {});
    until_is(team, "Running");
    patch(team, &json!({"cancelled": true}));
    let task = until_is(team, "Cancelled");
    assert_eq!(events(&task), ["task.pending", "task.running", "task.cancelled"]);
    assert!(team.find("jobs/t").is_null());
    assert!(team.pods().is_empty());
    // The pod is gone, and what it said is not.
    let logs = kept_logs(team, "t");
    assert!(logs[0].ends_with("started\n"), "{logs:?}");

    patch(team, &json!({"cancelled": false, "attempt": 2}));
    let task = until_is(team, "Running");
    assert_eq!(task["status"]["attempt"], 2);
    let claim = team.find("persistentvolumeclaims/t");
    assert!(claim["metadata"]["creationTimestamp"].is_string());
    let pod = team.pods().remove(0);
    team.ok(&format!("exec {pod} -- sh -c 'echo 0 > /mount/storage/end'"));
    let task = until_is(team, "Succeeded");
    let phases: Vec<&Value> = task["status"]["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|attempt| &attempt["phase"])
        .collect();
    assert_eq!(phases, ["Cancelled", "Succeeded"]);
}

fn failed_and_retried(team: &Team<'_>) {
    submit(
        team,
        "test -f $STORAGE/seen && exit 0; touch $STORAGE/seen; echo no dataset > /dev/termination-log; exit 3",
        |_| {},
    );
    let task = until_is(team, "Failed");
    let status = &task["status"];
    assert_eq!(status["attempts"][0]["exitCode"], 3);
    let message = status["message"].as_str().unwrap();
    assert!(
        message.contains("exit code 3") && message.contains("no dataset"),
        "{message}"
    );
    let uid = team.find("jobs/t")["metadata"]["uid"].clone();
    patch(team, &json!({"attempt": 2}));
    // The claim of the first attempt is that of the second.
    until_is(team, "Succeeded");
    assert_ne!(team.find("jobs/t")["metadata"]["uid"], uid);
}

fn gone_when_its_time_is_over(team: &Team<'_>) {
    submit(team, "true", |task| {
        task["spec"]["ttlSecondsAfterFinished"] = json!(1);
    });
    team.until("tasks/t", Value::is_null);
    team.until("jobs/t", Value::is_null);
    assert!(
        !team.find("persistentvolumeclaims/t").is_null(),
        "claims are kept"
    );
}

fn deleted_with_its_claim(team: &Team<'_>) {
    submit(team, UNTIL_TOLD, |task| task["spec"]["claims"] = json!("Delete"));
    until_is(team, "Running");
    team.ok("delete task t --timeout=120s");
    team.until("jobs/t", Value::is_null);
    team.until("persistentvolumeclaims/t", Value::is_null);
    assert!(team.pods().is_empty());
    let logs = team
        .server
        .data_dir()
        .join("task-logs")
        .join(team.namespace)
        .join("t");
    let line = format!(
        "timeout 60 sh -c 'while [ -e {} ]; do sleep 0.1; done'",
        logs.display()
    );
    team.shell.ok(&line);
}

fn its_job_is_deleted(team: &Team<'_>) {
    submit(team, UNTIL_TOLD, |_| {});
    until_is(team, "Running");
    team.ok("delete job t");
    let task = until_is(team, "Failed");
    assert_eq!(task["status"]["reason"], "Deleted");
    assert!(team.find("jobs/t").is_null(), "it is not made again");
}

fn its_job_is_deleted_after_its_end(team: &Team<'_>) {
    submit(team, "true", |_| {});
    let before = until_is(team, "Succeeded");
    team.ok("delete job t --wait --timeout=120s");
    // The next attempt is one that somebody asks for.
    patch(team, &json!({"attempt": 2}));
    let after = team.until("tasks/t", |task| {
        task["status"]["attempt"] == 2 && task["status"]["phase"] == "Succeeded"
    });
    let attempts = after["status"]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2);
    assert_eq!(attempts[0], before["status"]["attempts"][0]);
}

fn waits_for_a_group_of_nodes(team: &Team<'_>) {
    submit(team, "true", |_| {});
    until_is(team, "Succeeded");
    // The labels of the first users' machines are this machine's.
    let groups = team.ok("get nodegroups");
    for (group, line) in [("ml", groups.lines()), ("dl", groups.lines())] {
        let mut line = line.clone();
        assert!(line.any(|line| line.starts_with(group)), "{groups}");
    }
    let name = format!("gpu-{}", team.namespace);
    let mut gpu = template(&name);
    let text = gpu["spec"]["template"].as_str().unwrap().to_owned();
    let asks = "      nodeSelector: {kops.k8s.io/dl-instance: \"true\"}\n      restartPolicy: Never\n";
    let text = text.replace("      restartPolicy: Never\n", asks);
    let text = text.replace(
        "          image: host\n",
        "          image: host\n          resources: {limits: {nvidia.com/gpu: 1}}\n",
    );
    gpu["spec"]["template"] = json!(text);
    team.apply(&gpu.to_string());
    team.apply(&crate::definition("gpu", &name, "true").to_string());
    team.apply(&crate::task("g", "gpu").to_string());
    // Before its volume is there, it waits for that.
    let waiting = team.until("tasks/g", |task| {
        task["status"]["waiting"]["code"] == "TooFewDevices"
    });
    let waiting = &waiting["status"]["waiting"];
    assert_eq!(waiting["nodeGroup"], "dl", "{waiting}");
    assert!(
        waiting["message"].as_str().unwrap().contains("nvidia.com/gpu"),
        "{waiting}"
    );
    assert!(waiting["nextStep"].as_str().is_some_and(|step| !step.is_empty()));
    // One that waits can be told to stop.
    team.ok("delete task g --timeout=120s");
}
