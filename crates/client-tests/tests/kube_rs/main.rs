//! kube-rs, the library under every Rust operator: its client, watchers, controller and helpers.

mod applying;
mod controller;
mod discovery;
mod election;
mod events;
mod finalizing;
mod watching;

use std::{future::Future, time::Duration};

use client_tests::Server;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Client, Config,
    api::ObjectMeta,
    config::{KubeConfigOptions, Kubeconfig},
};

/// Bounds every test; nothing here takes more than a moment.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test with a server and a client of its own.
#[track_caller]
fn with_client<F: Future<Output = ()>>(test: impl FnOnce(Client) -> F) {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let client = connect(&server).await;
        tokio::time::timeout(PATIENCE, test(client))
            .await
            .expect("the test ends in time");
    });
    runtime.shutdown_background();
}

async fn connect(server: &Server) -> Client {
    let kubeconfig = Kubeconfig::read_from(server.kubeconfig()).expect("the kubeconfig can be read");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("the kubeconfig is complete");
    Client::try_from(config).expect("a client can be made")
}

/// A config map with one entry.
fn config_map(name: &str, key: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some([(key.to_owned(), value.to_owned())].into()),
        ..ConfigMap::default()
    }
}
