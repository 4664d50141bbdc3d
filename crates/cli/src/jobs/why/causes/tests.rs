use resources::kinds;
use serde_json::json;

use super::*;
use crate::jobs::job::Job;

fn observed(job: Value, pods: &[(&str, Value)]) -> Observed {
    let mut job = job;
    job["metadata"]["name"] = json!("digits");
    job["metadata"]["uid"] = json!("job");
    let pods = pods.iter().map(|(name, pod)| {
        let mut pod = pod.clone();
        pod["metadata"] = json!({"name": format!("digits-{name}"), "uid": name, "namespace": "lab"});
        ((*name).to_owned(), Arc::new(pod))
    });
    Observed {
        subject: Subject::Job(Job {
            kind: &kinds::PYTORCH_JOB,
            object: job,
        }),
        pods: pods.collect(),
        between: Vec::new(),
        claims: Vec::new(),
        quotas: Vec::new(),
        events: Vec::new(),
        nodes: None,
        classes: None,
        machine: None,
        workload: None,
        last_lines: BTreeMap::new(),
        unseen: Vec::new(),
        now: "2026-01-01T00:01:00Z".parse().unwrap(),
    }
}

fn state(state: &str) -> Value {
    json!({"status": {"conditions": [{"type": state, "status": "True", "message": "so it is"}]}})
}

#[track_caller]
fn check(observed: &Observed, expected: &[(&str, &str)]) -> Explanation {
    let explanation = explain(observed, &|words| format!("trainyard {words}"));
    let told: Vec<(String, &str)> = explanation
        .causes
        .iter()
        .map(|cause| (cause.who.join(","), cause.what.as_str()))
        .collect();
    let told: Vec<(&str, &str)> = told.iter().map(|(who, what)| (who.as_str(), *what)).collect();
    assert_eq!(told, expected);
    explanation
}

fn waiting(reason: &str, message: &str) -> Value {
    let state = json!({"waiting": {"reason": reason, "message": message}});
    let container = json!({"name": "pytorch", "image": "nowhere/app:1", "state": state});
    json!({"spec": {}, "status": {"phase": "Pending", "containerStatuses": [container]}})
}

fn ended(code: i64, message: &str) -> Value {
    let state = json!({"terminated": {"exitCode": code, "reason": "Error", "message": message}});
    let container = json!({"name": "pytorch", "state": state});
    json!({"spec": {}, "status": {"phase": "Failed", "containerStatuses": [container]}})
}

#[test]
fn nothing_is_in_the_way_of_a_job_that_runs() {
    let running = json!({"spec": {}, "status": {"phase": "Running"}});
    let mut observed = observed(state("Running"), &[("master-0", running)]);
    observed.events = vec![json!({
        "type": "Warning", "reason": "FailedScheduling", "message": "0/1 nodes",
        "involvedObject": {"uid": "master-0"},
    })];
    assert!(!check(&observed, &[]).is_trouble(), "what is over is not told");
}

#[test]
fn an_image_that_cannot_be_had_is_told_once_for_all_pods() {
    let pod = waiting("ImagePullBackOff", "Back-off pulling image");
    let mut observed = observed(state("Created"), &[("master-0", pod.clone()), ("worker-0", pod)]);
    observed.events = vec![json!({
        "type": "Warning", "reason": "Failed", "message": "Failed to pull image",
        "involvedObject": {"uid": "worker-0"},
    })];
    let what = "the image `nowhere/app:1` cannot be pulled: ImagePullBackOff: Back-off pulling image";
    assert!(check(&observed, &[("master-0,worker-0", what)]).is_trouble());
}

#[test]
fn a_pod_without_a_place_has_the_numbers_of_the_scheduler() {
    let message = "0/1 nodes are available: 1 Insufficient cpu.";
    let condition = json!({"type": "PodScheduled", "status": "False", "message": message});
    let pod = json!({"spec": {}, "status": {"phase": "Pending", "conditions": [condition]}});
    let explanation = check(
        &observed(state("Created"), &[("worker-0", pod)]),
        &[(
            "worker-0",
            "it has no node: 0/1 nodes are available: 1 Insufficient cpu.",
        )],
    );
    assert!(
        explanation.causes[0]
            .advice
            .as_deref()
            .unwrap()
            .starts_with("ask for less")
    );
}

#[test]
fn a_crash_has_its_code_its_meaning_and_its_last_words() {
    let mut observed = observed(
        state("Failed"),
        &[
            ("worker-0", ended(139, "")),
            ("master-0", ended(3, "a\nValueError: no\n")),
        ],
    );
    observed
        .last_lines
        .insert("digits-worker-0".to_owned(), "step 7".to_owned());
    let explanation = check(
        &observed,
        &[
            (
                "worker-0",
                "its program ended with exit code 139, ended by SIGSEGV; its last line: step 7",
            ),
            (
                "master-0",
                "its program ended with exit code 3; its last line: ValueError: no",
            ),
        ],
    );
    assert_eq!(
        explanation.causes[1].advice.as_deref(),
        Some("`trainyard logs digits --all --tail 50` has more")
    );
}

#[test]
fn a_claim_that_is_missing_takes_the_place_of_what_the_scheduler_says_of_it() {
    let message = "0/1 nodes are available: persistentvolumeclaim \"data\" not found.";
    let condition = json!({"type": "PodScheduled", "status": "False", "message": message});
    let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": "data"}});
    let pod = json!({
        "spec": {"volumes": [volume]},
        "status": {"phase": "Pending", "conditions": [condition]},
    });
    check(
        &observed(state("Created"), &[("worker-0", pod)]),
        &[("worker-0", "its volume claim `data` does not exist")],
    );
}

#[test]
fn a_missing_configmap_is_missing_and_not_a_failure_to_start() {
    let pod = waiting("CreateContainerConfigError", "configmap \"settings\" not found");
    let explanation = check(
        &observed(state("Created"), &[("worker-0", pod)]),
        &[(
            "worker-0",
            "configmap \"settings\" not found (container `pytorch`)",
        )],
    );
    assert_eq!(explanation.causes[0].class, Class::Missing);
}

#[test]
fn a_quota_that_is_used_up_is_shown_with_its_numbers() {
    let mut observed = observed(state("Created"), &[]);
    observed.events = vec![json!({
        "type": "Warning", "reason": "FailedCreate",
        "message": "pods \"digits-worker-0\" is forbidden: exceeded quota: small",
        "involvedObject": {"uid": "job"},
    })];
    observed.quotas = vec![json!({
        "metadata": {"name": "small"},
        "status": {"hard": {"pods": "1"}, "used": {"pods": "1"}},
    })];
    let what =
        "the quota of the namespace is used up: pods \"digits-worker-0\" is forbidden: exceeded quota: small";
    let explanation = check(&observed, &[("", what)]);
    assert!(
        explanation.causes[0]
            .advice
            .as_deref()
            .unwrap()
            .ends_with("(small: pods 1 of 1)")
    );
}

#[test]
fn jobs_that_are_held_or_that_nobody_looks_after_say_so() {
    let mut held = state("Suspended");
    held["spec"] = json!({"runPolicy": {"suspend": true}});
    check(
        &observed(held, &[]),
        &[("", "it is suspended (spec.runPolicy.suspend)")],
    );
    let unseen = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}});
    check(
        &observed(unseen, &[]),
        &[("", "no operator has taken notice of it")],
    );
}

#[test]
fn the_past_is_told_last_and_is_no_trouble_by_itself() {
    let mut job = state("Running");
    job["spec"] = json!({"runPolicy": {"backoffLimit": 5}});
    job["status"]["restarts"] = json!({
        "count": 2, "cause": "worker-7 exit 137, OOMKilled", "notBefore": "2026-01-01T00:01:20Z",
    });
    let what = "it was restarted 2 times of 5 allowed; last because of worker-7 exit 137, OOMKilled; the next start is in 20s";
    assert!(!check(&observed(job, &[]), &[("", what)]).is_trouble());
}

#[test]
fn whatever_the_cluster_does_not_let_be_made_is_trouble_until_the_job_is_whole() {
    let event = |reason: &str| {
        json!({
            "type": "Warning", "reason": reason, "message": "Error creating: no",
            "involvedObject": {"uid": "job"},
        })
    };
    for reason in [
        "FailedCreateConfigMap",
        "FailedCreateRole",
        "FailedCreateServiceAccount",
        "FailedCreatePod",
        "ErrResourceExists",
    ] {
        let what = format!("{reason}: Error creating: no");
        let of = |condition: &str| {
            let mut job = state(condition);
            job["status"]["conditions"][0]["message"] = json!("PyTorchJob digits is well.");
            let mut observed = observed(job, &[]);
            observed.events = vec![event(reason)];
            check(&observed, &[("", &what)]).is_trouble()
        };
        assert!(of("Created"), "{reason}");
        assert!(!of("Running"), "{reason}: it was made since");
    }
}

#[test]
fn what_may_not_be_looked_at_is_not_said_to_be_missing() {
    let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": "data"}});
    let pod = json!({"spec": {"volumes": [volume]}, "status": {"phase": "Pending"}});
    let mut observed = observed(state("Created"), &[("worker-0", pod)]);
    observed.unseen = vec!["persistentvolumeclaims"];
    let explanation = check(&observed, &[]);
    assert_eq!(explanation.unseen, ["persistentvolumeclaims"]);
    let text = crate::jobs::why::as_text(&explanation);
    assert!(
        text.ends_with(
            "\nNothing that can be seen stands in its way.\n\nnote: you may not look at persistentvolumeclaims there\n"
        ),
        "{text}"
    );
}

fn unplaced(message: &str, spec: Value) -> Value {
    let condition = json!({"type": "PodScheduled", "status": "False", "message": message});
    json!({"spec": spec, "status": {"phase": "Pending", "conditions": [condition]}})
}

#[test]
fn a_node_that_is_ill_is_the_cause_and_not_its_taint() {
    let message =
        "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }.";
    let mut observed = observed(state("Created"), &[("worker-0", unplaced(message, json!({})))]);
    let condition = json!({"type": "NetworkUnavailable", "status": "True", "message": "it ended at once"});
    observed.nodes = Some(vec![
        json!({"metadata": {"name": "desk"}, "status": {"conditions": [condition]}}),
    ]);
    observed.events = vec![json!({
        "type": "Warning", "reason": "FailedScheduling", "message": message,
        "involvedObject": {"uid": "worker-0"},
    })];
    let explanation = check(
        &observed,
        &[("", "pods on node `desk` have no network: it ended at once")],
    );
    assert_eq!(explanation.causes[0].class, Class::Cluster);
}

#[test]
fn a_node_that_is_ill_is_no_cause_where_another_is_well() {
    let running = json!({"spec": {"nodeName": "well"}, "status": {"phase": "Pending"}});
    let mut observed = observed(state("Created"), &[("worker-0", running)]);
    let node = |name: &str, ready: &str| json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}});
    observed.nodes = Some(vec![node("well", "True"), node("ill", "False")]);
    check(&observed, &[]);
    observed.nodes = Some(vec![node("other", "True"), node("well", "Unknown")]);
    check(&observed, &[("", "node `well` is not ready: ")]);
}

#[test]
fn a_pod_larger_than_any_node_is_not_told_to_wait_for_others() {
    let limits = json!({"containers": [{"resources": {"limits": {"cpu": "64"}}}]});
    let pod = unplaced("0/1 nodes are available: 1 Insufficient cpu.", limits);
    let mut observed = observed(state("Created"), &[("worker-0", pod)]);
    let small = json!({
        "metadata": {"name": "desk"},
        "status": {"allocatable": {"cpu": "2"}, "conditions": [{"type": "Ready", "status": "True"}]},
    });
    observed.nodes = Some(vec![small]);
    let what = "it has no node: 0/1 nodes are available: 1 Insufficient cpu.";
    let advice = |observed: &Observed| {
        check(observed, &[("worker-0", what)]).causes[0]
            .advice
            .clone()
            .unwrap()
    };
    assert_eq!(
        advice(&observed),
        "a pod asks for 64 CPU, and no node of the cluster has more than 2: ask for at most 2 (`trainyard run --cpus`), or use a cluster with larger nodes"
    );
    if let Some(nodes) = &mut observed.nodes {
        nodes[0]["status"]["allocatable"]["cpu"] = json!("96");
    }
    assert!(advice(&observed).contains("wait for others to end"));
}

#[test]
fn a_claim_of_a_class_that_is_not_there_names_the_class_and_those_that_are() {
    let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": "data"}});
    let pod = json!({"spec": {"volumes": [volume]}, "status": {"phase": "Pending"}});
    let mut observed = observed(state("Created"), &[("worker-0", pod)]);
    observed.claims = vec![json!({
        "metadata": {"name": "data"}, "spec": {"storageClassName": "aws-efs"}, "status": {"phase": "Pending"},
    })];
    observed.classes = Some(vec!["standard".to_owned()]);
    let what = "its volume claim `data` asks for StorageClass `aws-efs`, which the cluster does not have (it has `standard`)";
    let explanation = check(&observed, &[("worker-0", what)]);
    assert_eq!(explanation.causes[0].class, Class::Missing);
}

#[test]
fn what_the_scheduler_said_before_a_pod_had_its_place_is_over() {
    let placed = json!({"spec": {"nodeName": "desk"}, "status": {"phase": "Pending"}});
    let mut observed = observed(state("Created"), &[("worker-0", placed)]);
    observed.events = vec![json!({
        "type": "Warning", "reason": "FailedScheduling", "message": "pod group needs 3 pods and has 1",
        "involvedObject": {"uid": "worker-0"},
    })];
    check(&observed, &[]);
}

#[test]
fn causes_that_differ_in_numbers_or_in_how_a_pull_fails_are_one_topic() {
    let topic = |reason: &str, message: &str| {
        let observed = observed(state("Created"), &[("worker-0", waiting(reason, message))]);
        explain(&observed, &|words| words.to_owned()).causes[0].topic()
    };
    assert_eq!(
        topic("ErrImagePull", "no such host"),
        topic("ImagePullBackOff", "Back-off pulling image")
    );
    let cause = |count: u32| Cause::new(Class::Unplaced, format!("0/{count} nodes are available"));
    assert_eq!(cause(1).topic(), cause(12).topic());
}
