//! An operator in small: a kind of its own, and a config map for each of its objects.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResource, CustomResourceExt as _, Resource as _, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::{
        controller::{Action, Controller},
        wait::{await_condition, conditions},
        watcher,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::with_client;

/// A train in the yard.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Train", namespaced)]
#[kube(status = "TrainStatus", shortname = "tr")]
struct TrainSpec {
    /// How many wagons it has.
    #[schemars(range(min = 1))]
    wagons: u16,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct TrainStatus {
    assembled: u16,
}

#[test]
fn a_controller_keeps_what_it_owns_as_it_should_be() {
    with_client(|client| async move {
        define(&client).await;
        let trains: Api<Train> = Api::default_namespaced(client.clone());
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let operator = tokio::spawn(operate(client.clone()));

        trains
            .create(
                &PostParams::default(),
                &Train::new("express", TrainSpec { wagons: 3 }),
            )
            .await
            .unwrap();
        let first = wait_for(&maps, "3").await;
        let assembled = |train: Option<&Train>| {
            train
                .and_then(|train| train.status.as_ref())
                .is_some_and(|status| status.assembled == 3)
        };
        await_condition(trains.clone(), "express", assembled)
            .await
            .unwrap();

        let change = Patch::Merge(json!({"spec": {"wagons": 5}}));
        trains
            .patch("express", &PatchParams::default(), &change)
            .await
            .unwrap();
        wait_for(&maps, "5").await;

        // Whoever deletes what the controller owns sees it come back.
        maps.delete("express", &DeleteParams::default()).await.unwrap();
        let uid = first.uid().unwrap();
        await_condition(maps.clone(), "express", conditions::is_deleted(&uid))
            .await
            .unwrap();
        let second = wait_for(&maps, "5").await;
        assert_ne!(second.uid(), first.uid());

        // What is owned goes with its owner.
        operator.abort();
        trains
            .delete("express", &DeleteParams::background())
            .await
            .unwrap();
        let uid = second.uid().unwrap();
        await_condition(maps.clone(), "express", conditions::is_deleted(&uid))
            .await
            .unwrap();
    });
}

#[test]
fn a_derived_schema_refuses_what_does_not_fit() {
    with_client(|client| async move {
        define(&client).await;
        let trains: Api<Train> = Api::default_namespaced(client);
        let refused = trains
            .create(
                &PostParams::default(),
                &Train::new("empty", TrainSpec { wagons: 0 }),
            )
            .await;
        let Err(kube::Error::Api(status)) = refused else {
            panic!("a train has wagons")
        };
        assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
        assert!(
            status
                .message
                .contains("spec.wagons in body should be greater than or equal to 1"),
            "{status:?}"
        );
    });
}

/// Applies the definition as operators do when they start, and waits until it is served.
async fn define(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = Train::crd_name();
    definitions
        .patch(name, &PatchParams::apply("operator"), &Patch::Apply(Train::crd()))
        .await
        .unwrap();
    await_condition(definitions, name, conditions::is_crd_established())
        .await
        .unwrap();
}

/// Runs the controller until it is aborted.
async fn operate(client: Client) {
    let trains: Api<Train> = Api::default_namespaced(client.clone());
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    Controller::new(trains, watcher::Config::default())
        .owns(maps, watcher::Config::default())
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_millis(100)),
            Arc::new(client),
        )
        .for_each(|_| async {})
        .await;
}

async fn reconcile(train: Arc<Train>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let manager = PatchParams::apply("operator").force();
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::clone(&client));
    let wanted = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": train.name_any(), "ownerReferences": [train.controller_owner_ref(&())]},
        "data": {"wagons": train.spec.wagons.to_string()},
    });
    maps.patch(&train.name_any(), &manager, &Patch::Apply(wanted))
        .await?;
    let trains: Api<Train> = Api::default_namespaced(Client::clone(&client));
    let status = json!({
        "apiVersion": "example.com/v1",
        "kind": "Train",
        "status": TrainStatus { assembled: train.spec.wagons },
    });
    trains
        .patch_status(&train.name_any(), &manager, &Patch::Apply(status))
        .await?;
    Ok(Action::await_change())
}

/// The config map once it says how many wagons there are.
async fn wait_for(maps: &Api<ConfigMap>, wagons: &str) -> ConfigMap {
    let says = |map: Option<&ConfigMap>| {
        let data = map.and_then(|map| map.data.as_ref());
        data.and_then(|data| data.get("wagons"))
            .is_some_and(|value| value == wagons)
    };
    await_condition(maps.clone(), "express", says)
        .await
        .unwrap()
        .unwrap()
}
