//! Leader election over a Lease.

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use kube_lease_manager::{LeaseCreateMode, LeaseManager, LeaseManagerBuilder};

use crate::with_client;

#[test]
fn there_is_one_leader_and_then_the_next() {
    with_client(|client| async move {
        let first = candidate(client.clone(), "first").await;
        let second = candidate(client.clone(), "second").await;
        assert!(first.changed().await.unwrap(), "the first one leads");
        assert_eq!(holder(&client).await.as_deref(), Some("first"));
        let waiting = tokio::spawn(async move { second.changed().await.unwrap() });
        first.release().await.unwrap();
        assert!(waiting.await.unwrap(), "the second one follows");
        assert_eq!(holder(&client).await.as_deref(), Some("second"));
    });
}

async fn candidate(client: Client, identity: &str) -> LeaseManager {
    LeaseManagerBuilder::new(client, "leader")
        .with_namespace("default")
        .with_identity(identity)
        .with_create_mode(LeaseCreateMode::AutoCreate)
        .with_duration(4)
        .with_grace(1)
        .build()
        .await
        .unwrap()
}

async fn holder(client: &Client) -> Option<String> {
    let leases: Api<Lease> = Api::default_namespaced(client.clone());
    leases.get("leader").await.unwrap().spec.unwrap().holder_identity
}
