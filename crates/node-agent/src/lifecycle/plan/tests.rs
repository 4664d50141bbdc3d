use serde_json::{Value, json};

use super::{super::record::Ended, *};

fn pod(spec: Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": "p", "namespace": "n", "uid": "u"},
        "spec": spec,
        "status": {"startTime": "1970-01-01T00:00:00Z"},
    }))
    .unwrap()
}

/// One container `c` with a restart policy.
fn simple(policy: &str) -> Pod {
    pod(json!({"restartPolicy": policy, "containers": [{"name": "c"}]}))
}

/// A step `a`, a helper `b`, a step `d`, and the work `c`.
fn staged(policy: &str) -> Pod {
    pod(json!({
        "restartPolicy": policy,
        "initContainers": [{"name": "a"}, {"name": "b", "restartPolicy": "Always"}, {"name": "d"}],
        "containers": [{"name": "c"}],
    }))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn running() -> Record {
    Record {
        attempts: 1,
        state: State::Running { since: at(0) },
        is_started: true,
        is_ready: true,
        ..Record::default()
    }
}

fn ended(exit_code: i32, second: i64) -> Record {
    Record {
        attempts: 1,
        state: State::Ended(Ended {
            started: Some(at(second - 1)),
            at: at(second),
            exit_code,
            signal: None,
            reason: "Error".into(),
            message: String::new(),
            container_id: String::new(),
        }),
        ..Record::default()
    }
}

fn records<const N: usize>(records: [(&str, Record); N]) -> Records {
    records
        .into_iter()
        .map(|(name, record)| (name.to_owned(), record))
        .collect()
}

/// The plan in short: what is started (+), stopped (-) or released, and when to look again.
fn outline(pod: &Pod, records: &Records, second: i64) -> String {
    let plan = plan(pod, records, None, at(second));
    let mut words: Vec<String> = plan
        .actions
        .iter()
        .map(|action| match action {
            Action::Start {
                container, attempt, ..
            } => format!("+{container}{attempt}"),
            Action::Stop { container, grace, .. } => format!("-{container}:{}", grace.as_secs()),
            Action::Kill { container } => format!("!{container}"),
            Action::Release => "release".to_owned(),
        })
        .collect();
    words.extend(plan.look_again.map(|when| format!("@{}", when.as_second())));
    words.join(" ")
}

#[test]
fn steps_run_one_after_the_other_and_helpers_stay() {
    let pod = staged("Never");
    assert_eq!(outline(&pod, &records([]), 0), "+a0");
    assert_eq!(outline(&pod, &records([("a", running())]), 0), "");
    let mut known = records([("a", ended(0, 1))]);
    assert_eq!(outline(&pod, &known, 1), "+b0");
    let starting = Record {
        is_started: false,
        ..running()
    };
    known.insert("b".into(), starting);
    assert_eq!(outline(&pod, &known, 1), "");
    known.insert("b".into(), running());
    assert_eq!(outline(&pod, &known, 1), "+d0");
    known.insert("d".into(), ended(0, 2));
    assert_eq!(outline(&pod, &known, 2), "+c0");
}

#[test]
fn a_failed_step_ends_a_pod_that_never_restarts_and_is_repeated_otherwise() {
    let known = records([("a", ended(1, 5))]);
    assert_eq!(outline(&staged("Never"), &known, 5), "release");
    assert_eq!(outline(&staged("Always"), &known, 5), "+a1");
}

#[test]
fn a_helper_that_dies_is_started_again_while_the_work_runs() {
    let known = records([
        ("a", ended(0, 1)),
        ("b", ended(0, 9)),
        ("d", ended(0, 2)),
        ("c", running()),
    ]);
    assert_eq!(outline(&staged("Never"), &known, 9), "+b1");
}

#[test]
fn helpers_end_after_the_work() {
    let mut known = records([
        ("a", ended(0, 1)),
        ("b", running()),
        ("d", ended(0, 2)),
        ("c", ended(0, 9)),
    ]);
    assert_eq!(outline(&staged("Never"), &known, 9), "-b:30");
    known.insert("b".into(), ended(143, 10));
    assert_eq!(outline(&staged("Never"), &known, 10), "release");
}

#[test]
fn the_policy_decides_who_is_started_again() {
    let (good, bad) = (records([("c", ended(0, 5))]), records([("c", ended(1, 5))]));
    assert_eq!(outline(&simple("Always"), &good, 5), "+c1");
    assert_eq!(outline(&simple("OnFailure"), &good, 5), "release");
    assert_eq!(outline(&simple("OnFailure"), &bad, 5), "+c1");
    assert_eq!(outline(&simple("Never"), &bad, 5), "release");
}

#[test]
fn quick_ends_are_waited_out() {
    let record = Record {
        streak: 2,
        attempts: 2,
        ..ended(1, 100)
    };
    let known = records([("c", record)]);
    assert_eq!(outline(&simple("Always"), &known, 105), "@120");
    assert_eq!(outline(&simple("Always"), &known, 120), "+c2");
}

#[test]
fn what_was_refused_is_tried_again_at_its_time() {
    let refused = State::Refused {
        reason: "ErrImagePull".into(),
        message: String::new(),
        retry: at(30),
    };
    let known = records([(
        "c",
        Record {
            state: refused,
            ..Record::default()
        },
    )]);
    assert_eq!(outline(&simple("Never"), &known, 10), "@30");
    assert_eq!(outline(&simple("Never"), &known, 30), "+c0");
}

#[test]
fn a_deleted_pod_ends_within_its_grace_period() {
    let mut pod = simple("Always");
    pod.metadata.deletion_timestamp = serde_json::from_value(json!("1970-01-01T00:01:00Z")).unwrap();
    pod.metadata.deletion_grace_period_seconds = Some(7);
    assert_eq!(outline(&pod, &records([("c", running())]), 0), "-c:7");
    let asked = State::Stopping {
        since: at(0),
        kill: at(7),
    };
    assert_eq!(
        outline(
            &pod,
            &records([(
                "c",
                Record {
                    state: asked,
                    ..running()
                }
            )]),
            1
        ),
        "@7"
    );
    assert_eq!(outline(&pod, &records([("c", ended(143, 2))]), 2), "release");
}

#[test]
fn what_does_not_end_in_time_is_killed_and_a_second_deletion_may_shorten_the_time() {
    let mut pod = simple("Always");
    pod.metadata.deletion_timestamp = serde_json::from_value(json!("1970-01-01T00:01:00Z")).unwrap();
    pod.metadata.deletion_grace_period_seconds = Some(30);
    let state = State::Stopping {
        since: at(0),
        kill: at(30),
    };
    let known = records([("c", Record { state, ..running() })]);
    assert_eq!(outline(&pod, &known, 10), "@30");
    assert_eq!(outline(&pod, &known, 30), "!c");
    pod.metadata.deletion_grace_period_seconds = Some(5);
    assert_eq!(outline(&pod, &known, 10), "-c:5 @30");
}

#[test]
fn visitors_come_once_and_nobody_waits_for_them() {
    let pod = pod(json!({
        "containers": [{"name": "c"}],
        "ephemeralContainers": [{"name": "v"}],
    }));
    assert_eq!(outline(&pod, &records([("c", running())]), 0), "+v0");
    assert_eq!(
        outline(&pod, &records([("c", running()), ("v", ended(1, 1))]), 2),
        ""
    );
}

#[test]
fn a_pod_may_not_run_longer_than_its_deadline() {
    let pod = pod(json!({"activeDeadlineSeconds": 60, "containers": [{"name": "c"}]}));
    let known = records([("c", running())]);
    assert_eq!(outline(&pod, &known, 10), "@60");
    assert_eq!(outline(&pod, &known, 60), "-c:30");
}

#[test]
fn what_a_probe_condemns_is_stopped_within_the_probes_grace_period() {
    let pod = pod(json!({"containers": [
        {"name": "c", "livenessProbe": {"terminationGracePeriodSeconds": 3}},
    ]}));
    let doomed = Record {
        doom: Some("failed its probe".into()),
        ..running()
    };
    assert_eq!(outline(&pod, &records([("c", doomed)]), 0), "-c:3");
}
