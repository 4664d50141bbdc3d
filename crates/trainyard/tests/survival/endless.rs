//! Updates without end: neither the process nor its file keeps growing.

use std::fs;

use http::Method;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    client::{Client, Version},
    server::Place,
};

const CLIENTS: usize = 4;
const UPDATES: usize = 250;
const SIZE: usize = 20_000;
const PATH: &str = "/api/v1/namespaces/default/configmaps";

/// Replaces the data of one object again and again.
async fn update(client: Client, name: String) {
    let connection = client.connect(Version::Http2).await.unwrap();
    let object = json!({ "metadata": { "name": name } });
    let _ = connection.post(PATH, &object).await.unwrap();
    for number in 0..UPDATES {
        let filling = format!("{number:05}").repeat(SIZE / 5);
        let patch = json!({ "data": { "filling": filling } }).to_string();
        let path = format!("{PATH}/{name}");
        let content_type = "application/merge-patch+json";
        let answer = connection.send(Method::PATCH, &path, content_type, patch).await;
        answer.unwrap().ok();
    }
}

async fn update_all(client: &Client) {
    let mut updates = JoinSet::new();
    for number in 0..CLIENTS {
        updates.spawn(update(client.clone(), format!("busy-{number}")));
    }
    updates.join_all().await;
}

#[tokio::test]
async fn endless_updates_leave_memory_and_file_bounded() {
    let place = Place::new();
    let server = place.start();
    let size = || fs::metadata(place.file("store.db")).unwrap().len() as usize;
    let written = CLIENTS * UPDATES * SIZE;
    update_all(&server.client).await;
    let first = (server.memory(), size());
    update_all(&server.client).await;
    let second = (server.memory(), size());
    println!("after {written} bytes: {first:?}; after twice as many: {second:?}");
    let (memory, file) = second;
    assert!(memory < first.0 + 32 * 1024 * 1024, "{first:?} to {second:?}");
    // It grows by 8 MiB and is compacted, again and again, while it is written on: wherever it stands, it is far from the
    // 40 MB that were written.
    assert!(file < 24 * 1024 * 1024, "{first:?} to {second:?}");
}

/// As large as objects may be, nearly.
const LARGE: usize = 900_000;
/// What docs/kubernetes-api.md says of the history of one collection.
const HISTORY: usize = 8 << 20;

#[tokio::test]
async fn the_history_of_a_large_object_is_bounded_by_its_bytes() {
    let place = Place::new();
    let server = place.start();
    let connection = server.client.connect(Version::Http2).await.unwrap();
    let made = connection
        .post(PATH, &json!({ "metadata": { "name": "large" } }))
        .await
        .unwrap();
    let first = made.json()["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    for number in 0..40 {
        let patch = json!({ "data": { "filling": format!("{number:05}").repeat(LARGE / 5) } }).to_string();
        let path = format!("{PATH}/large");
        let content_type = "application/merge-patch+json";
        let answer = connection.send(Method::PATCH, &path, content_type, patch).await;
        answer.unwrap().ok();
        let metrics = connection.get("/metrics").await.unwrap().body;
        let metrics = String::from_utf8_lossy(&metrics).into_owned();
        let kept = metrics
            .lines()
            .find_map(|line| line.strip_prefix("trainyard_store_history_bytes "));
        let kept: usize = kept.unwrap().parse().unwrap();
        // What comes of the start is a little.
        assert!(kept < HISTORY + LARGE, "{kept} bytes after {number} updates");
    }
    let old = format!("{PATH}?watch=true&resourceVersion={first}");
    let told = connection.get(&old).await.unwrap().body;
    assert!(String::from_utf8_lossy(&told).contains("too old resource version"));
}
