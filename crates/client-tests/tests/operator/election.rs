//! Of several operators one acts, whatever happens to it.

use client_tests::{Server, Shell};

use crate::{
    apply, job, pods,
    process::{Operator, QUICK, command},
    until, with_server,
};

/// Without tasks, which are looked after at times of their own: what an operator changes can be counted.
fn start(server: &Server) -> Operator {
    Operator::start(
        server,
        &[&["--install-definitions", "--no-tasks"], &QUICK[..]].concat(),
    )
}

/// One that leads and one that waits for it to end.
fn two(server: &Server, shell: &Shell<'_>) -> (Operator, Operator) {
    let leader = start(server);
    leader.leads(shell);
    let other = start(server);
    other.says("standing by");
    (leader, other)
}

#[track_caller]
fn until_made(shell: &Shell<'_>, count: usize) {
    until("all pods are made", || pods(shell, "default").len() == count);
}

#[test]
fn the_next_takes_over_at_once_from_one_that_is_told_to_stop() {
    with_server(|server, shell| {
        let (mut first, second) = two(server, shell);
        apply(shell, "default", &job("one", 3));
        until_made(shell, 4);
        let made = pods(shell, "default");
        assert_eq!(
            (
                first.metric("created_pods_total "),
                second.metric("created_pods_total ")
            ),
            (4, 0)
        );
        assert_eq!(
            (
                first.metric("mpi_operator_is_leader"),
                second.metric("mpi_operator_is_leader")
            ),
            (1, 0)
        );
        assert!(second.get("/readyz").contains("ok: stands by"));

        first.signal("TERM");
        assert_eq!(first.ends().code(), Some(0));
        second.leads(shell);
        apply(shell, "default", &job("two", 3));
        until_made(shell, 8);
        assert_eq!(second.metric("created_pods_total "), 4);
        assert!(
            made.iter().all(|pod| pods(shell, "default").contains(pod)),
            "nothing is made twice"
        );
        let transitions = "kubectl get lease trainyard-operator -o jsonpath={.spec.leaseTransitions}";
        assert_eq!(shell.ok(transitions), "1");
    });
}

#[test]
fn a_pod_says_who_leads_and_where_by_its_environment() {
    with_server(|server, shell| {
        shell.ok("kubectl create namespace jobs-system");
        let operator = Operator::of(
            command(server, &["--install-definitions"])
                .env("MY_POD_NAMESPACE", "jobs-system")
                .env("MY_POD_NAME", "operator-7"),
        );
        operator.leads(shell);
        let holder = "kubectl get lease trainyard-operator -n jobs-system -o jsonpath={.spec.holderIdentity}";
        assert!(shell.ok(holder).starts_with("operator-7"));
    });
}

#[test]
fn the_next_takes_over_from_one_that_died_when_its_lease_is_over() {
    with_server(|server, shell| {
        let (mut first, second) = two(server, shell);
        first.signal("KILL");
        first.ends();
        apply(shell, "default", &job("one", 3));
        second.leads(shell);
        until_made(shell, 4);
    });
}

#[test]
fn one_that_wakes_up_after_its_lease_has_passed_on_changes_nothing() {
    with_server(|server, shell| {
        let (first, second) = two(server, shell);
        let start = first.changes();
        apply(shell, "default", &job("one", 3));
        until_made(shell, 4);
        // Pods, services, a status, and an event for each that was made.
        until("the first has told of all it did", || {
            first.changes() >= start + 4 + 4 + 1 + 8
        });
        let before = first.changes();
        first.signal("STOP");
        second.leads(shell);
        // There is something to do for whoever believes to lead.
        apply(shell, "default", &job("two", 3));
        shell.ok("kubectl delete pod one-worker-0 --wait=false");
        until_made(shell, 8);
        first.signal("CONT");
        first.says("the lease is lost");
        first.says("standing by");
        assert_eq!(first.changes(), before);
        assert_eq!(pods(shell, "default").len(), 8);
    });
}

#[test]
fn an_operator_that_dies_while_jobs_start_leaves_work_that_the_next_completes() {
    with_server(|server, shell| {
        let mut first = start(server);
        first.leads(shell);
        let jobs: Vec<String> = (0..20).map(|number| job(&format!("job-{number}"), 3)).collect();
        apply(shell, "default", &jobs.join("---\n"));
        until("some pods are made", || !pods(shell, "default").is_empty());
        first.signal("KILL");
        first.ends();
        let made = pods(shell, "default");
        let _second = Operator::start(server, &["--leader-elect=false"]);
        until_made(shell, 80);
        let all = pods(shell, "default");
        assert!(made.iter().all(|pod| all.contains(pod)), "nothing is made twice");
        let services = "kubectl get services --no-headers | grep -c job-";
        until("all services are made", || shell.ok(services).trim() == "80");
    });
}

#[test]
fn an_operator_that_is_told_to_stop_tells_first_what_it_has_done() {
    with_server(|server, shell| {
        let mut first = start(server);
        first.leads(shell);
        let jobs: Vec<String> = (0..20).map(|number| job(&format!("job-{number}"), 3)).collect();
        apply(shell, "default", &jobs.join("---\n"));
        until("some pods are made", || !pods(shell, "default").is_empty());
        first.signal("TERM");
        assert_eq!(first.ends().code(), Some(0));
        for (resource, reason) in [
            ("pods", "SuccessfulCreatePod"),
            (
                "services -l training.kubeflow.org/operator-name",
                "SuccessfulCreateService",
            ),
        ] {
            let count = |line: &str| shell.ok(line).lines().count();
            let made = count(&format!("kubectl get {resource} --no-headers"));
            let told = count(&format!(
                "kubectl get events --field-selector reason={reason} --no-headers"
            ));
            assert_eq!(told, made, "{reason}");
        }
    });
}
