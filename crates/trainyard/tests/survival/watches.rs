//! Ten thousand watches at once.

use http::Method;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    client::{Connection, Events, Version},
    server::Place,
};

const CONNECTIONS: usize = 5;
const WATCHES: usize = 10_000;
/// An open watch may cost this much, its share of the connection included.
const BYTES_PER_WATCH: usize = 24 * 1024;
const PATH: &str = "/api/v1/namespaces/default/configmaps";

async fn open_watches(connection: Connection) -> Vec<Events> {
    let path = format!("{PATH}?watch=true&labelSelector=seen%3Dby-all");
    let mut open = Vec::new();
    for _ in 0..WATCHES / CONNECTIONS {
        open.push(Events::of(
            connection.open(Method::GET, &path, "", "").await.unwrap(),
        ));
    }
    open
}

#[tokio::test]
async fn ten_thousand_watches_are_all_served_in_bounded_memory() {
    let place = Place::new();
    let server = place.start();
    let connection = server.client.connect(Version::Http2).await.unwrap();
    connection.get(PATH).await.unwrap().ok();
    let before = server.memory();
    let mut opening = JoinSet::new();
    for _ in 0..CONNECTIONS {
        opening.spawn(open_watches(server.client.connect(Version::Http2).await.unwrap()));
    }
    let mut watches: Vec<Events> = opening.join_all().await.into_iter().flatten().collect();
    let each = server.memory().saturating_sub(before) / WATCHES;
    println!("{WATCHES} watches, {each} bytes each, {before} bytes before");
    assert!(each < BYTES_PER_WATCH, "a watch costs {each} bytes");

    let object = json!({ "metadata": { "name": "news", "labels": { "seen": "by-all" } } });
    connection.post(PATH, &object).await.unwrap().ok();
    for events in &mut watches {
        let event = events.next().await.unwrap();
        assert_eq!(
            (&event["type"], &event["object"]["metadata"]["name"]),
            (&json!("ADDED"), &json!("news"))
        );
    }
    drop(watches);
    let none = "apiserver_longrunning_requests{verb=\"WATCH\"} 0\n";
    let metrics = async || connection.get("/metrics").await.unwrap().body;
    while !String::from_utf8_lossy(&metrics().await).contains(none) {
        tokio::task::yield_now().await;
    }
}
