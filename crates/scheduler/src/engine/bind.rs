//! Giving pods their nodes, at the server.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::core::v1::{Binding, ObjectReference, PersistentVolume, PersistentVolumeClaim, Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Resource as _, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
};
use reconcile::{
    Key,
    volumes::{SELECTED_NODE, claims_of, is_bound},
};
use serde_json::{Value, json};

use super::Engine;
use crate::{demand::Demand, storage::Arrangement};

/// How soon a pod whose binding was refused is looked at again.
const RETRY: Duration = Duration::from_secs(1);

/// How long a pod's claims may take to get their volumes.
const PATIENCE: Duration = Duration::from_mins(10);

impl Engine {
    pub(super) async fn bind(&self, demand: Arc<Demand>, node: String) {
        let (namespace, name) = (demand.namespace(), demand.name());
        let binding = Binding {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(namespace.to_owned()),
                uid: demand.pod.metadata.uid.clone(),
                ..ObjectMeta::default()
            },
            target: ObjectReference {
                kind: Some("Node".into()),
                name: Some(node.clone()),
                ..ObjectReference::default()
            },
        };
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let bound = pods
            .create_subresource::<Binding, Value>("binding", name, &PostParams::default(), &binding)
            .await;
        match bound {
            Ok(_) => {
                let note = format!("Successfully assigned {namespace}/{name} to {node}");
                self.recorder
                    .normal(demand.pod.object_ref(&()), "Scheduled", note);
            }
            // It was deleted before it could go anywhere.
            Err(kube::Error::Api(status)) if status.code == 404 => self.give_up(&demand),
            Err(error) => {
                tracing::warn!(pod = %Key::of(&*demand.pod), %error, "the pod could not be bound");
                self.give_up(&demand);
                tokio::time::sleep(RETRY).await;
                self.try_again(&demand);
            }
        }
    }

    /// Claims that waited for the pod get their volumes first.
    pub(super) async fn bind_with_claims(
        &self,
        demand: Arc<Demand>,
        node: String,
        arrangements: Vec<Arrangement>,
    ) {
        let arranged = self.arrange(&node, arrangements).await;
        let bound = tokio::time::timeout(PATIENCE, self.claims_bound(&demand));
        match arranged {
            Ok(()) if bound.await.is_ok() => self.bind(demand, node).await,
            outcome => {
                if let Err(error) = outcome {
                    tracing::warn!(pod = %Key::of(&*demand.pod), %error, "the pod's claims could not be settled");
                }
                self.give_up(&demand);
                tokio::time::sleep(RETRY).await;
                self.try_again(&demand);
            }
        }
    }

    async fn arrange(&self, node: &str, arrangements: Vec<Arrangement>) -> kube::Result<()> {
        for arrangement in arrangements {
            match arrangement {
                Arrangement::Take(claim, volume) => {
                    let patch = Patch::Merge(json!({
                        "metadata": {"resourceVersion": volume.metadata.resource_version},
                        "spec": {"claimRef": {
                            "apiVersion": "v1",
                            "kind": "PersistentVolumeClaim",
                            "namespace": claim.metadata.namespace,
                            "name": claim.metadata.name,
                            "uid": claim.metadata.uid,
                        }},
                    }));
                    let api: Api<PersistentVolume> = Api::all(self.client.clone());
                    let written = api
                        .patch(&volume.name_any(), &PatchParams::default(), &patch)
                        .await?;
                    self.volumes.wrote(written);
                }
                Arrangement::Provision(claim) => {
                    let patch = Patch::Merge(json!({"metadata": {
                        "resourceVersion": claim.metadata.resource_version,
                        "annotations": {SELECTED_NODE: node},
                    }}));
                    let namespace = claim.metadata.namespace.as_deref().unwrap_or_default();
                    let api: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), namespace);
                    let written = api
                        .patch(&claim.name_any(), &PatchParams::default(), &patch)
                        .await?;
                    self.claims.wrote(written);
                }
            }
        }
        Ok(())
    }

    /// Resolves when all claims of the pod have volumes.
    async fn claims_bound(&self, demand: &Demand) {
        loop {
            let changed = self.claimed.notified();
            let mut names = claims_of(&demand.pod);
            let is_done = names.all(|name| {
                let claim = self.claims.get(&Key::new(demand.namespace(), &name));
                claim.is_some_and(|claim| is_bound(&claim))
            });
            if is_done {
                return;
            }
            changed.await;
        }
    }

    fn give_up(&self, demand: &Demand) {
        let uid = demand.uid().to_owned();
        self.hear(move |picture| picture.cluster.remove_pod(&uid));
    }

    fn try_again(&self, demand: &Demand) {
        if let Some(pod) = self.pods.get(&Key::of(&*demand.pod)) {
            self.hear(move |picture| picture.put_back(pod));
        }
    }
}
