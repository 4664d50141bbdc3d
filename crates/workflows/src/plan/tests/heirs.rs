//! Workflows that are gone while their pods still run.

use serde_json::{Value, json};

use super::cluster::{Cluster, End, end};
use crate::{Locks, Pod, names, report::Report};

/// A workflow with two pods: one under a mutex of its own, both under that of the whole.
fn running() -> Cluster {
    let container = json!({"image": "i", "command": ["c"]});
    let spec = json!({
        "entrypoint": "main",
        "synchronization": {"mutex": {"name": "whole"}},
        "podMetadata": {"annotations": {names::LOCKS: "[{\"lock\": \"n/Mutex/mine\", \"holder\": \"n/w@u\"}]"}},
        "templates": [
            {"name": "main", "steps": [[{"name": "a", "template": "locked"}, {"name": "b", "template": "free"}]]},
            {"name": "locked", "synchronization": {"mutex": {"name": "m"}}, "container": container},
            {"name": "free", "container": container},
        ],
    });
    let mut cluster = Cluster::new(spec, |_, _| End::Never);
    cluster.step();
    cluster.run_pods();
    cluster.step();
    cluster
}

fn pods(cluster: &Cluster) -> Vec<Pod> {
    cluster.pods.values().map(Pod::read).collect()
}

/// What is held in the end by whom.
fn held(cluster: &Cluster, living: &str) -> Vec<(String, String)> {
    let mut locks = Locks::default();
    locks.inherit("n", "w", living, &pods(cluster));
    let all = locks.all().map(|(lock, who)| (lock.to_owned(), who.to_owned()));
    all.collect()
}

fn end_pod(cluster: &mut Cluster, step: &str) {
    let now = cluster.now;
    let is_meant = |pod: &Value| pod["metadata"]["annotations"][names::NODE_NAME] == format!("w[0].{step}");
    let pod = cluster.pods.values_mut().find(|pod| is_meant(pod)).unwrap();
    end(pod, 143, &Report::default(), now);
}

#[test]
fn a_lock_is_held_until_the_last_pod_under_it_has_ended() {
    let mut cluster = running();
    let id = names::node_id("w", "w[0].a");
    let whole = ("n/Mutex/whole".to_owned(), "n/w@u".to_owned());
    let own = ("n/Mutex/m".to_owned(), format!("n/w@u/{id}"));
    assert_eq!(held(&cluster, ""), [own, whole.clone()]);
    end_pod(&mut cluster, "a");
    assert_eq!(held(&cluster, ""), [whole]);
    end_pod(&mut cluster, "b");
    assert_eq!(held(&cluster, ""), []);
}

#[test]
fn a_workflow_that_is_there_holds_its_locks_itself() {
    let cluster = running();
    assert_eq!(held(&cluster, "u"), []);
    assert_eq!(held(&cluster, "another").len(), 2, "it is only called so");
    assert_eq!(cluster.locks.held_by("n", "w").len(), 2);
}

#[test]
fn what_is_inherited_is_found_out_anew_each_time() {
    let mut cluster = running();
    let mut locks = Locks::default();
    locks.inherit("n", "w", "", &pods(&cluster));
    assert!(locks.has_heirs("n", "w") && !locks.has_heirs("n", "w2"));
    assert_eq!(locks.held_by("n", "w").len(), 0);
    end_pod(&mut cluster, "a");
    end_pod(&mut cluster, "b");
    locks.inherit("n", "w", "", &pods(&cluster));
    assert_eq!(locks, Locks::default());
}

#[test]
fn a_pod_says_by_which_workflow_its_locks_are_held() {
    let under = pods(&running()).into_iter().flat_map(|pod| pod.under);
    let under: Vec<_> = under.collect();
    let all = |name: &str, uid: &str| under.iter().all(|under| under.is_held_by("n", name, uid));
    let any = |name: &str, uid: &str| under.iter().any(|under| under.is_held_by("n", name, uid));
    assert!(under.len() == 3 && all("w", "u"));
    assert!(!any("w", "u2") && !any("w", "") && !any("w2", "u"));
}
