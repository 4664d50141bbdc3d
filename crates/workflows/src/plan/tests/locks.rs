//! Locks beside limits: whoever waits for the one does not stop whoever waits for the other.

use serde_json::{Value, json};

use super::cluster::{Cluster, ok};
use crate::node::Phase;

fn container() -> Value {
    json!({"image": "i", "command": ["c"]})
}

/// It has ended when somebody notes it, and what comes next needs its lock; or it was known to wait for that.
#[test]
fn a_lock_passes_from_a_pod_that_nobody_could_note() {
    let spec = json!({"entrypoint": "main", "templates": [
        {"name": "main", "dag": {"tasks": [{"name": "a", "template": "locked"}, {"name": "b", "template": "locked"}]}},
        {"name": "locked", "synchronization": {"mutex": {"name": "m"}}, "retryStrategy": {"limit": 1},
         "container": container()},
    ]});
    for requests in [2, usize::MAX] {
        let mut cluster = Cluster::new(spec.clone(), |_, _| ok());
        // Twice the lock is written down and a pod made, and nothing more the second time.
        cluster.step_dying(requests);
        assert_eq!(cluster.made.len(), 1);
        cluster.run_pods();
        cluster.step_dying(2);
        assert_eq!(cluster.made.len(), 2);
        cluster.run_pods();
        let cluster = cluster.play();
        assert_eq!(cluster.phase(), Phase::Succeeded, "{:?}", cluster.told());
        let nodes = cluster.status().nodes;
        assert!(nodes.values().all(|node| node.message.is_empty()), "{nodes:?}");
        assert_eq!(cluster.made.len(), 2);
    }
}
