use std::{collections::VecDeque, sync::atomic::Ordering};

use serde_json::{Value, json};

use super::*;
use crate::probes::{
    reach::ExecFailure,
    testing::{POD, Pod, free_port},
};

struct Probing {
    reports: mpsc::Receiver<Report>,
    watch: Watch,
    pod: Arc<Pod>,
    began: Instant,
}

/// Commands end with these codes, in the order they are run.
fn probe(probes: Value, answers: Vec<Result<i32, ExecFailure>>) -> Probing {
    let mut container = json!({"name": "c"});
    for (key, value) in probes.as_object().unwrap() {
        container[key] = value.clone();
    }
    let container: Container = serde_json::from_value(container).unwrap();
    let subject = Subject {
        standing: Standing::new(&container),
        container,
        attempt: 2,
        pod_address: POD.to_owned(),
        age: Duration::ZERO,
        is_adopted: false,
    };
    let pod = Arc::new(Pod {
        answers: Mutex::new(VecDeque::from(answers)),
        ..Pod::default()
    });
    let (sender, reports) = mpsc::channel(16);
    Probing {
        reports,
        began: Instant::now(),
        watch: watch(subject, pod.clone(), sender).unwrap(),
        pod,
    }
}

impl Probing {
    /// The next report and after how many seconds it came.
    async fn next(&mut self) -> (u64, News) {
        let report = self.reports.recv().await.unwrap();
        assert_eq!((report.container.as_str(), report.attempt), ("c", 2));
        (self.began.elapsed().as_secs(), report.news)
    }
}

fn standing(is_started: bool, is_ready: bool, condemned_by: Option<Kind>) -> News {
    News::Standing(Standing {
        is_started,
        is_ready,
        condemned_by,
    })
}

fn event(reason: &'static str, message: &str) -> News {
    News::Event {
        reason,
        message: message.to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_container_becomes_ready_after_its_delay_and_unready_after_its_failures() {
    let readiness = json!({
        "exec": {"command": ["test", "ok"]}, "initialDelaySeconds": 5, "periodSeconds": 2, "failureThreshold": 2,
    });
    let mut probing = probe(json!({"readinessProbe": readiness}), vec![Ok(0), Ok(1), Ok(1)]);
    let failed = event("Unhealthy", "Readiness probe failed: test ok");
    assert_eq!(probing.next().await, (5, standing(true, true, None)));
    assert_eq!(probing.next().await, (7, failed.clone()));
    assert_eq!(probing.next().await, (9, failed));
    assert_eq!(probing.next().await, (9, standing(true, false, None)));
}

#[tokio::test(start_paused = true)]
async fn liveness_waits_for_startup_and_condemns() {
    let exec = json!({"command": ["check"]});
    let probes = json!({
        "startupProbe": {"exec": exec, "periodSeconds": 3},
        "livenessProbe": {"exec": exec, "periodSeconds": 4, "failureThreshold": 1},
    });
    let mut probing = probe(probes, vec![Ok(1), Ok(0), Err(ExecFailure::TimedOut)]);
    assert_eq!(
        probing.next().await,
        (0, event("Unhealthy", "Startup probe failed: check"))
    );
    assert_eq!(probing.next().await, (3, standing(true, true, None)));
    let message = "Liveness probe failed: command timed out: \"check\" timed out after 1s";
    assert_eq!(probing.next().await, (3, event("Unhealthy", message)));
    assert_eq!(
        probing.next().await,
        (3, standing(true, true, Some(Kind::Liveness)))
    );
    // Nothing is asked of the condemned.
    assert!(probing.reports.recv().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_cannot_be_made_condemns_nobody() {
    let liveness = json!({"exec": {"command": ["check"]}, "failureThreshold": 1, "periodSeconds": 1});
    let refused = || Err(ExecFailure::Refused("no such file".to_owned()));
    let answers = vec![refused(), refused(), refused(), refused(), Ok(0)];
    let mut probing = probe(json!({"livenessProbe": liveness}), answers);
    let message = "Liveness probe errored and resulted in unknown state: no such file";
    assert_eq!(probing.next().await, (0, event("Unhealthy", message)));
    // The second time it could be made at the second try.
    let quiet = tokio::time::timeout(Duration::from_mins(1), probing.reports.recv()).await;
    assert!(quiet.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_cannot_be_reached_for_no_fault_of_its_own_is_not_condemned() {
    let nobody_listens = free_port().await;
    let liveness = json!({"tcpSocket": {"port": nobody_listens}, "failureThreshold": 1, "periodSeconds": 1});
    let mut probing = probe(json!({"livenessProbe": liveness}), Vec::new());
    probing.pod.is_cut_off.store(true, Ordering::Relaxed);
    let quiet = tokio::time::timeout(Duration::from_mins(1), probing.reports.recv()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    probing.pod.is_cut_off.store(false, Ordering::Relaxed);
    assert!(matches!(probing.next().await.1, News::Event { .. }));
    assert_eq!(probing.next().await.1, standing(true, true, Some(Kind::Liveness)));
}

#[tokio::test(start_paused = true)]
async fn of_a_pod_that_ends_only_readiness_is_probed() {
    let exec = json!({"command": ["check"]});
    let probes = json!({
        "readinessProbe": {"exec": exec, "periodSeconds": 10, "failureThreshold": 1},
        "livenessProbe": {"exec": exec, "initialDelaySeconds": 5, "periodSeconds": 10, "failureThreshold": 1},
    });
    let mut probing = probe(probes, vec![Ok(0), Ok(1)]);
    assert_eq!(probing.next().await, (0, standing(true, true, None)));
    probing.watch.pod_is_ending();
    let failed = event("Unhealthy", "Readiness probe failed: check");
    assert_eq!(probing.next().await, (10, failed));
    assert_eq!(probing.next().await, (10, standing(true, false, None)));
}

#[tokio::test(start_paused = true)]
async fn thousands_of_probes_sleep_until_they_are_due() {
    let probes = json!({"readinessProbe": {"exec": {"command": ["check"]}, "periodSeconds": 10}});
    let mut all: Vec<Probing> = (0..3000).map(|_| probe(probes.clone(), vec![Ok(0)])).collect();
    for probing in &mut all {
        assert_eq!(probing.next().await.1, standing(true, true, None));
    }
}
