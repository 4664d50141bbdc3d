//! The pods of this node, out of all that are followed.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use reconcile::{Change, Informer};

#[derive(Clone)]
pub(crate) struct OwnPods {
    all: Informer<Pod>,
    node: Arc<str>,
}

impl OwnPods {
    pub(crate) fn new(all: Informer<Pod>, node: &str) -> Self {
        Self {
            all,
            node: node.into(),
        }
    }

    pub(crate) async fn synced(&self) {
        self.all.synced().await;
    }

    /// Calls `handler` at every change of a pod of this node. A pod becomes one once and stays it.
    pub(crate) fn on_change(&self, handler: impl Fn(&Change<'_, Pod>) + Send + Sync + 'static) {
        let node = self.node.clone();
        self.all.on_change(move |change| {
            if change.object().is_some_and(|pod| is_on(&node, pod)) {
                handler(change);
            }
        });
    }

    pub(crate) fn all(&self) -> Vec<Arc<Pod>> {
        self.own(self.all.all())
    }

    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<Arc<Pod>> {
        self.own(self.all.in_namespace(namespace))
    }

    pub(crate) fn wrote(&self, pod: Pod) {
        self.all.wrote(pod);
    }

    fn own(&self, mut pods: Vec<Arc<Pod>>) -> Vec<Arc<Pod>> {
        pods.retain(|pod| is_on(&self.node, pod));
        pods
    }
}

fn is_on(node: &str, pod: &Pod) -> bool {
    let place = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    place == Some(node)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    #[test]
    fn pods_of_other_nodes_and_of_none_are_not_there() {
        let followed = Informer::detached();
        let pods = OwnPods::new(followed.clone(), "here");
        let told = Arc::new(AtomicUsize::new(0));
        let counted = told.clone();
        pods.on_change(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        for (version, node) in [(1, None), (2, Some("there")), (3, Some("here"))] {
            let pod = json!({
                "metadata": {"name": format!("p{version}"), "namespace": "n", "resourceVersion": version.to_string()},
                "spec": {"nodeName": node, "containers": []},
            });
            followed.wrote(serde_json::from_value(pod).unwrap());
        }
        assert_eq!(told.load(Ordering::Relaxed), 1);
        assert_eq!(pods.all().len(), 1);
        assert_eq!(pods.in_namespace("n").len(), 1);
    }
}
