//! The pods of a job get their places together or not at all.

use client_tests::{
    manifests::Job,
    team::{Team, message, play},
};

#[test]
fn a_job_that_does_not_fit_waits_as_a_whole() {
    play(&[("gang", waits_as_a_whole)]);
}

fn waits_as_a_whole(team: &Team<'_>) {
    let processors: f64 = team
        .shell
        .ok("kubectl get nodes -o jsonpath='{.items[0].status.allocatable.cpu}'")
        .parse()
        .expect("processors are whole");
    let share = |part: f64| {
        format!(
            "resources: {{requests: {{cpu: {}m}}}}",
            (processors * part) as i64
        )
    };
    let job = |name: &str, workers: u32, part: f64| {
        let job = Job {
            kind: "JAXJob",
            name,
            roles: &[("Worker", workers, "")],
            command: "sleep infinity",
            container: &share(part),
            ..Job::default()
        };
        team.apply(&job.manifest());
    };
    job("first", 1, 600.0);
    team.until_is("jaxjobs/first", "Running");
    job("second", 3, 300.0);
    let second = team.until_says("jaxjobs/second", "1 of the 3 pods it needs fit");
    assert!(
        message(&second).contains("Insufficient cpu") && message(&second).contains("The pod needs"),
        "{}",
        message(&second)
    );
    let placed = |pod: &serde_json::Value| !pod["spec"]["nodeName"].is_null();
    let second = || (0..3).map(|worker| team.find(&format!("pods/second-worker-{worker}")));
    assert!(second().all(|pod| pod.is_object() && !placed(&pod)));
    team.ok("delete jaxjob first");
    team.until("jaxjobs/second", |job| job["status"]["progress"] == "3/3");
    assert!(second().all(|pod| placed(&pod)));
}
