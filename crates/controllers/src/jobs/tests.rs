//! What is planned for a job and what its status says, case by case.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};
use reconcile::Next;
use serde_json::{Value, json};

use super::{
    account::{Account, account},
    observed::Observed,
    plan::{Plan, plan},
    tracking,
};

const NOW: i64 = 10_000;

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(super) fn job(spec: Value, status: Value) -> Job {
    let mut job = json!({
        "metadata": {"name": "train", "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "spec": {
            "selector": {"matchLabels": {"job": "train"}},
            "template": {
                "metadata": {"labels": {"job": "train"}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main"}]},
            },
        },
        "status": status,
    });
    for (name, value) in spec.as_object().unwrap() {
        job["spec"][name] = value.clone();
    }
    serde_json::from_value(job).unwrap()
}

/// A tracked pod; one that is over ended just now.
fn pod(name: &str, phase: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "n", "uid": name, "finalizers": [tracking::FINALIZER],
            "annotations": {}, "creationTimestamp": at(NOW).to_string()},
        "spec": {"nodeName": "node", "containers": []},
        "status": {"phase": phase},
    })
}

fn of_index(index: u32, phase: &str) -> Value {
    let mut pod = pod(&format!("{phase}-{index}"), phase);
    pod["metadata"]["annotations"][tracking::INDEX] = json!(index.to_string());
    pod
}

fn stopping(mut pod: Value) -> Value {
    pod["metadata"]["deletionTimestamp"] = json!(at(NOW).to_string());
    pod
}

fn released(mut pod: Value) -> Value {
    pod["metadata"]["finalizers"] = json!([]);
    pod
}

fn exited(mut pod: Value, code: i32) -> Value {
    pod["status"]["containerStatuses"] = json!([{
        "name": "main", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": code}},
    }]);
    pod
}

struct Case {
    job: Job,
    pods: Vec<Arc<Pod>>,
    now: Timestamp,
}

fn case(spec: Value, status: Value, pods: &[Value]) -> Case {
    let pods = pods
        .iter()
        .map(|pod| Arc::new(serde_json::from_value(pod.clone()).unwrap()));
    Case {
        job: job(spec, status),
        pods: pods.collect(),
        now: at(NOW),
    }
}

impl Case {
    fn plan(&self) -> Plan {
        plan(&Observed::new(
            &self.job,
            self.job.spec.as_ref().unwrap(),
            &self.pods,
            self.now,
        ))
    }

    fn account(&self) -> Account {
        account(&Observed::new(
            &self.job,
            self.job.spec.as_ref().unwrap(),
            &self.pods,
            self.now,
        ))
    }

    fn later(mut self, seconds: i64) -> Self {
        self.now = at(NOW + seconds);
        self
    }
}

fn names(pods: &[Arc<Pod>]) -> Vec<&str> {
    pods.iter()
        .filter_map(|pod| pod.metadata.name.as_deref())
        .collect()
}

fn created_indexes(plan: &Plan) -> Vec<u32> {
    plan.create.iter().filter_map(tracking::index).collect()
}

/// `Type/Status/Reason` of each condition.
fn conditions(account: &Account) -> Vec<String> {
    let conditions = account.status.conditions.iter().flatten();
    conditions
        .map(|condition| {
            let reason = condition.reason.as_deref().unwrap_or_default();
            format!("{}/{}/{reason}", condition.type_, condition.status)
        })
        .collect()
}

fn on_record(kind: &str) -> Value {
    json!({"startTime": at(NOW).to_string(), "conditions": [
        {"type": kind, "status": "True", "reason": "R", "message": "m"},
    ]})
}

#[test]
fn as_many_pods_as_work_side_by_side_and_no_more_than_are_left_to_complete() {
    let create = |spec, status, pods: &[Value]| case(spec, status, pods).plan().create.len();
    assert_eq!(create(json!({}), json!({}), &[]), 1);
    assert_eq!(
        create(json!({"parallelism": 3}), json!({}), &[pod("a", "Running")]),
        2
    );
    let five = json!({"parallelism": 3, "completions": 5});
    assert_eq!(create(five.clone(), json!({"succeeded": 3}), &[]), 2);
    assert_eq!(create(five, json!({"succeeded": 3}), &[pod("a", "Succeeded")]), 1);
    assert_eq!(create(json!({"parallelism": 900}), json!({}), &[]), 500);
    // Without a number of completions the first success is the sign to finish.
    assert_eq!(
        create(
            json!({"parallelism": 3}),
            json!({"succeeded": 1}),
            &[pod("a", "Running")]
        ),
        0
    );
}

#[test]
fn a_pod_one_too_many_is_dismissed_and_the_least_advanced_goes_first() {
    let pods = [pod("a", "Running"), pod("b", "Pending"), pod("c", "Running")];
    let plan = case(json!({"parallelism": 2, "completions": 9}), json!({}), &pods).plan();
    assert_eq!((names(&plan.dismiss), plan.create.len()), (vec!["b"], 0));
}

#[test]
fn a_pod_knows_its_job_and_its_index() {
    let spec = json!({"parallelism": 2, "completions": 2, "completionMode": "Indexed"});
    let plan = case(spec, json!({}), &[of_index(0, "Running")]).plan();
    let made = serde_json::to_value(&plan.create[0]).unwrap();
    let meta = &made["metadata"];
    assert_eq!(meta["generateName"], "train-1-");
    assert_eq!(meta["finalizers"], json!([tracking::FINALIZER]));
    assert_eq!(
        (
            &meta["labels"][tracking::INDEX],
            &meta["annotations"][tracking::INDEX]
        ),
        (&json!("1"), &json!("1"))
    );
    assert_eq!(meta["ownerReferences"][0]["uid"], "u");
    assert_eq!(made["spec"]["hostname"], "train-1");
    let variable = &made["spec"]["containers"][0]["env"][0];
    assert_eq!(variable["name"], "JOB_COMPLETION_INDEX");
    assert_eq!(
        variable["valueFrom"]["fieldRef"]["fieldPath"],
        format!("metadata.labels['{}']", tracking::INDEX)
    );
}

#[test]
fn indexes_that_are_neither_done_nor_taken_are_filled_from_the_lowest() {
    let spec = json!({"parallelism": 4, "completions": 7, "completionMode": "Indexed"});
    let status = json!({"completedIndexes": "0,3", "succeeded": 2});
    let plan = case(spec, status, &[of_index(1, "Running"), of_index(4, "Succeeded")]).plan();
    assert_eq!(created_indexes(&plan), [2, 5, 6]);
}

#[test]
fn pods_that_share_an_index_or_have_none_go() {
    let spec = json!({"parallelism": 3, "completions": 3, "completionMode": "Indexed"});
    let mut twin = of_index(0, "Pending");
    twin["metadata"]["uid"] = json!("twin");
    twin["metadata"]["name"] = json!("twin");
    let pods = [
        of_index(0, "Running"),
        twin,
        of_index(7, "Running"),
        pod("none", "Running"),
        of_index(1, "Running"),
    ];
    let mut plan = case(spec, json!({}), &pods).plan();
    plan.dismiss.sort_by_key(|pod| pod.metadata.name.clone());
    assert_eq!(names(&plan.dismiss), ["Running-7", "none", "twin"]);
}

#[test]
fn a_failed_pod_is_replaced_after_a_while_that_outlives_the_controller() {
    let wait = |seconds| {
        let pods = [pod("a", "Failed"), released(pod("b", "Failed"))];
        let plan = case(json!({}), json!({"failed": 1}), &pods).later(seconds).plan();
        (plan.create.len(), plan.next)
    };
    assert_eq!(wait(1), (0, Next::After(Duration::from_secs(19))));
    assert_eq!(wait(21), (1, Next::Wait));
}

#[test]
fn a_success_ends_the_wait() {
    let pods = [pod("a", "Failed"), pod("b", "Succeeded")];
    assert_eq!(
        case(json!({"completions": 2}), json!({}), &pods)
            .plan()
            .create
            .len(),
        1
    );
}

#[test]
fn a_stopping_pod_is_replaced_at_once_or_after_its_end() {
    let stopping = [stopping(pod("a", "Running"))];
    let create = |spec| case(spec, json!({}), &stopping).later(60).plan().create.len();
    assert_eq!(create(json!({"podReplacementPolicy": "TerminatingOrFailed"})), 1);
    assert_eq!(create(json!({"podReplacementPolicy": "Failed"})), 0);
}

#[test]
fn the_status_notes_an_end_before_the_pod_is_released_and_counts_it_after() {
    let spec = json!({"completions": 3});
    let noted = case(
        spec.clone(),
        json!({}),
        &[pod("a", "Succeeded"), pod("b", "Failed")],
    )
    .account();
    let uncounted = noted.status.uncounted_terminated_pods.clone().unwrap();
    assert_eq!(
        (uncounted.succeeded, uncounted.failed),
        (Some(vec!["a".into()]), Some(vec!["b".into()]))
    );
    assert_eq!(
        (noted.status.succeeded, names(&noted.release)),
        (None, vec!["a", "b"])
    );

    // A crash now, with one of them released.
    let status = serde_json::to_value(&noted.status).unwrap();
    let half = case(
        spec.clone(),
        status,
        &[released(pod("a", "Succeeded")), pod("b", "Failed")],
    )
    .account();
    assert_eq!(
        (half.status.succeeded, half.status.failed, names(&half.release)),
        (Some(1), None, vec!["b"])
    );

    // The other is released and then deleted.
    let status = serde_json::to_value(&half.status).unwrap();
    let counted = case(spec, status, &[released(pod("a", "Succeeded"))]).account();
    assert_eq!(
        (counted.status.succeeded, counted.status.failed),
        (Some(1), Some(1))
    );
    assert!(counted.release.is_empty());
}

#[test]
fn completion_is_put_on_record_first_and_closed_when_all_is_counted() {
    let spec = json!({"completions": 1});
    let first = case(spec.clone(), json!({}), &[pod("a", "Succeeded")]).account();
    assert_eq!(conditions(&first), ["SuccessCriteriaMet/True/CompletionsReached"]);
    assert!(first.status.completion_time.is_none() && first.notices.is_empty());

    let status = serde_json::to_value(&first.status).unwrap();
    let last = case(spec, status, &[released(pod("a", "Succeeded"))]).account();
    assert_eq!(conditions(&last)[1], "Complete/True/CompletionsReached");
    assert!(last.status.completion_time.is_some());
    assert_eq!(last.notices[0].reason, "Completed");
}

#[test]
fn a_verdict_is_on_record_before_pods_are_stopped_and_they_count_as_failed() {
    let spec = json!({"parallelism": 2, "activeDeadlineSeconds": 60});
    let status = json!({"startTime": at(NOW - 60).to_string()});
    let pods = [pod("a", "Running"), pod("b", "Running")];
    let late = case(spec.clone(), status, &pods);
    assert!(late.plan().stop.is_empty());
    let account = late.account();
    assert_eq!(conditions(&account), ["FailureTarget/True/DeadlineExceeded"]);
    assert!(account.release.is_empty());

    let status = serde_json::to_value(&account.status).unwrap();
    assert_eq!(
        names(&case(spec.clone(), status.clone(), &pods).plan().stop),
        ["a", "b"]
    );
    let account = case(spec.clone(), status, &pods.map(stopping)).account();
    assert_eq!((account.release.len(), account.status.terminating), (2, Some(2)));

    // Released, but still running down: the job is not over yet.
    let status = serde_json::to_value(&account.status).unwrap();
    let pods = [pod("a", "Running"), pod("b", "Running")]
        .map(stopping)
        .map(released);
    let account = case(spec.clone(), status, &pods).account();
    assert_eq!((account.status.failed, conditions(&account).len()), (Some(2), 1));

    let status = serde_json::to_value(&account.status).unwrap();
    let account = case(spec, status, &[]).account();
    assert_eq!(conditions(&account)[1], "Failed/True/DeadlineExceeded");
    assert_eq!(
        account.notices[0].text,
        "Job was active longer than specified deadline"
    );
}

#[test]
fn the_deadline_is_looked_at_when_it_comes() {
    let status = json!({"startTime": at(NOW - 20).to_string()});
    let plan = case(
        json!({"activeDeadlineSeconds": 60}),
        status,
        &[pod("a", "Running")],
    )
    .plan();
    assert_eq!(plan.next, Next::After(Duration::from_secs(40)));
}

#[test]
fn too_many_failures_end_the_job() {
    let verdict = |spec, status, pods: &[Value]| conditions(&case(spec, status, pods).account());
    let exceeded = ["FailureTarget/True/BackoffLimitExceeded"];
    assert!(verdict(json!({"backoffLimit": 1}), json!({"failed": 1}), &[]).is_empty());
    assert_eq!(
        verdict(
            json!({"backoffLimit": 1}),
            json!({"failed": 1}),
            &[pod("a", "Failed")]
        ),
        exceeded
    );
    // Restarts within a pod count too, where pods are restarted.
    let mut restarted = exited(pod("a", "Running"), 1);
    restarted["status"]["containerStatuses"][0]["restartCount"] = json!(2);
    let mut spec = json!({"backoffLimit": 2});
    assert!(verdict(spec.clone(), json!({}), &[restarted.clone()]).is_empty());
    spec["template"] = json!({"spec": {"restartPolicy": "OnFailure", "containers": []}});
    assert_eq!(verdict(spec, json!({}), &[restarted]), exceeded);
}

#[test]
fn rules_of_failure_end_the_job_or_the_index_or_nothing() {
    let rule = |action| json!({"action": action, "onExitCodes": {"operator": "In", "values": [42]}});
    let spec = |action| {
        json!({"backoffLimit": 0, "completions": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 3,
            "podFailurePolicy": {"rules": [rule(action)]}})
    };
    let failed = || [exited(of_index(0, "Failed"), 42)];
    let by_job = case(spec("FailJob"), json!({}), &failed()).account();
    assert_eq!(conditions(&by_job), ["FailureTarget/True/PodFailurePolicy"]);
    let by_index = case(spec("FailIndex"), json!({}), &failed()).account();
    assert_eq!(by_index.status.failed_indexes.as_deref(), Some("0"));
    let ignored = case(spec("Ignore"), json!({}), &failed()).account();
    assert!(
        conditions(&ignored).is_empty() && ignored.status.uncounted_terminated_pods.unwrap().failed.is_none()
    );
}

fn failed_before(index: u32, failures: i32) -> Value {
    let mut pod = of_index(index, "Failed");
    pod["metadata"]["annotations"][tracking::FAILURES] = json!(failures.to_string());
    pod
}

#[test]
fn an_index_has_its_own_limit_and_its_own_wait() {
    let spec = json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed",
        "backoffLimit": 99, "backoffLimitPerIndex": 1});
    let pods = [failed_before(0, 1), failed_before(1, 0)];
    let soon = case(spec.clone(), json!({}), &pods);
    assert_eq!(created_indexes(&soon.plan()), [2]);
    assert_eq!(soon.plan().next, Next::After(Duration::from_secs(10)));
    let account = soon.account();
    assert_eq!(account.status.failed_indexes.as_deref(), Some("0"));
    // The pod of index 1 is kept for its successor to inherit from.
    assert_eq!(names(&account.release), ["Failed-0"]);

    let later = case(spec, json!({}), &pods).later(11).plan();
    assert_eq!(created_indexes(&later), [1, 2]);
    let inherited = later.create[0].metadata.annotations.as_ref().unwrap();
    assert_eq!(inherited[tracking::FAILURES], "1");
}

#[test]
fn failed_indexes_fail_the_job_when_they_are_too_many_or_nothing_else_is_left() {
    let spec = |most: Value| {
        json!({"completions": 3, "completionMode": "Indexed", "backoffLimit": 99, "backoffLimitPerIndex": 0,
            "maxFailedIndexes": most})
    };
    let verdict = |most, status| conditions(&case(spec(most), status, &[]).account());
    let status = json!({"failedIndexes": "0,1", "failed": 2});
    assert!(verdict(json!(2), status.clone()).is_empty());
    assert_eq!(
        verdict(json!(1), status.clone()),
        ["FailureTarget/True/MaxFailedIndexesExceeded"]
    );
    let status = json!({"failedIndexes": "0,1", "failed": 2, "completedIndexes": "2", "succeeded": 1});
    assert_eq!(verdict(json!(null), status), ["FailureTarget/True/FailedIndexes"]);
}

#[test]
fn enough_indexes_are_a_success_and_the_others_are_stopped_without_blame() {
    let spec = json!({"completions": 5, "parallelism": 5, "completionMode": "Indexed",
        "successPolicy": {"rules": [{"succeededIndexes": "0"}]}});
    let pods = [of_index(0, "Succeeded"), of_index(1, "Running")];
    let first = case(spec.clone(), json!({}), &pods).account();
    assert_eq!(conditions(&first), ["SuccessCriteriaMet/True/SuccessPolicy"]);
    let status = serde_json::to_value(&first.status).unwrap();
    let pods = [
        released(of_index(0, "Succeeded")),
        stopping(of_index(1, "Running")),
    ];
    let mut case = case(spec, status, &pods);
    // How a stopping pod ends is nobody's fault here.
    case.job.spec.as_mut().unwrap().pod_replacement_policy = Some("Failed".into());
    let then = case.account();
    assert_eq!(names(&then.release), ["Running-1"]);
    assert!(then.status.uncounted_terminated_pods.unwrap().failed.is_none());
}

#[test]
fn a_suspended_job_lets_its_pods_go_and_starts_anew_when_resumed() {
    let status = json!({"startTime": at(1).to_string()});
    let suspended = case(json!({"suspend": true}), status, &[pod("a", "Running")]);
    assert_eq!(names(&suspended.plan().dismiss), ["a"]);
    let account = suspended.account();
    assert_eq!(conditions(&account), ["Suspended/True/JobSuspended"]);
    assert_eq!(account.notices[0].reason, "Suspended");

    let status = serde_json::to_value(&account.status).unwrap();
    let resumed = case(
        json!({"suspend": false, "activeDeadlineSeconds": 60}),
        status,
        &[],
    );
    assert_eq!(resumed.plan().create.len(), 1);
    let account = resumed.account();
    assert_eq!(conditions(&account), ["Suspended/False/JobResumed"]);
    assert_eq!(account.status.start_time.unwrap().0, at(NOW));
    assert_eq!(account.notices[0].reason, "Resumed");
}

#[test]
fn a_job_made_suspended_has_no_start_and_one_never_suspended_says_nothing_of_it() {
    let account = case(json!({"suspend": true}), json!({}), &[]).account();
    assert!(account.status.start_time.is_none());
    let account = case(json!({}), json!({}), &[]).account();
    assert!(account.status.start_time.is_some() && account.status.conditions.is_none());
}

#[test]
fn a_job_that_is_being_deleted_makes_nothing_and_releases_all() {
    let mut case = case(json!({"parallelism": 2}), json!({}), &[pod("a", "Running")]);
    case.job.metadata.deletion_timestamp = serde_json::from_value(json!(at(NOW).to_string())).unwrap();
    assert!(case.plan().create.is_empty() && case.plan().stop.is_empty());
    assert_eq!(names(&case.account().release), ["a"]);
}

#[test]
fn what_is_on_record_stands_whatever_happens_afterwards() {
    let failed = case(
        json!({"completions": 1}),
        on_record("FailureTarget"),
        &[released(pod("a", "Succeeded"))],
    );
    assert_eq!(conditions(&failed.account())[1], "Failed/True/R");
    let many_failed = [pod("a", "Failed"), pod("b", "Failed")];
    let succeeded = case(
        json!({"backoffLimit": 0}),
        on_record("SuccessCriteriaMet"),
        &many_failed,
    );
    assert_eq!(conditions(&succeeded.account()), ["SuccessCriteriaMet/True/R"]);
}

#[test]
fn the_counts_tell_active_ready_and_stopping_pods() {
    let mut ready = pod("a", "Running");
    ready["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    let pods = [ready, pod("b", "Pending"), stopping(pod("c", "Running"))];
    let status = case(
        json!({"parallelism": 2, "podReplacementPolicy": "Failed"}),
        json!({}),
        &pods,
    )
    .account()
    .status;
    assert_eq!(
        (status.active, status.ready, status.terminating),
        (Some(2), Some(1), Some(1))
    );
}
