//! One informer a kind for all engines that run together.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
};

use kube::{Client, Resource};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use crate::{Informer, Unread};

/// What one client sees of the cluster. A kind is followed from when it is first asked for until this is
/// dropped, once, however many ask.
pub struct Informers {
    client: Client,
    started: Mutex<Started>,
}

#[derive(Default)]
struct Started {
    /// An `Informer<K>` by the type of `K`.
    by_kind: HashMap<TypeId, Box<dyn Any + Send>>,
    tasks: JoinSet<()>,
}

impl Informers {
    pub fn new(client: Client) -> Self {
        Self {
            client,
            started: Mutex::default(),
        }
    }

    /// All objects of a kind, in all namespaces.
    pub fn of<K>(&self) -> Informer<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        let Started { by_kind, tasks } = &mut *self.started.lock();
        let known = by_kind.get(&TypeId::of::<K>());
        if let Some(informer) = known.and_then(|known| known.downcast_ref::<Informer<K>>()) {
            return informer.clone();
        }
        let informer = Informer::start(Unread::of::<K>(self.client.clone(), &(), None), tasks);
        by_kind.insert(TypeId::of::<K>(), Box::new(informer.clone()));
        informer
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Pod, Service};
    use kube::Config;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn whoever_asks_for_a_kind_reads_the_same_cache() {
        let nobody = Config::new("http://127.0.0.1:9".parse().unwrap());
        let informers = Informers::new(Client::try_from(nobody).unwrap());
        let (one, other) = (informers.of::<Pod>(), informers.of::<Pod>());
        let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1"}});
        one.wrote(serde_json::from_value(pod).unwrap());
        assert_eq!(other.len(), 1);
        assert!(informers.of::<Service>().is_empty());
    }
}
