//! Clients that ask and do not take the answer.

use std::time::Duration;

use apiserver::Limits;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::cluster::{CONFIG_MAPS, Cluster, Guest, read_to_end};

const UPDATES: usize = 400;

/// Changes one object often enough to fill every buffer on the way to a watcher.
async fn update(cluster: &Cluster, admin: &Guest) {
    let filling = "x".repeat(50_000);
    cluster
        .ok(&admin.post(CONFIG_MAPS, &json!({ "metadata": { "name": "busy" } })))
        .await;
    for number in 0..UPDATES {
        let patch = json!({ "data": { "number": number.to_string(), "filling": filling } });
        cluster
            .ok(&admin.merge(&format!("{CONFIG_MAPS}/busy"), &patch))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_that_never_reads_is_cut_off_and_others_miss_nothing() {
    let cluster = Cluster::start(Limits {
        stalled: Duration::from_millis(500),
        ..Limits::default()
    })
    .await;
    let admin = cluster.admin();
    let path = format!("{CONFIG_MAPS}?watch=true&fieldSelector=metadata.name%3Dbusy");
    let watch = admin.get(&path);
    let mut deaf = cluster.stream().await;
    deaf.write_all(watch.as_bytes()).await.unwrap();
    let mut listener = cluster.stream().await;
    listener.write_all(watch.as_bytes()).await.unwrap();
    let listening = async {
        let mut lines = BufReader::new(listener).lines();
        let mut numbers = Vec::new();
        while numbers.len() < UPDATES {
            let line = lines.next_line().await.unwrap().unwrap();
            // Between the events stand the sizes of the chunks.
            let Ok(event) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if let Some(number) = event["object"]["data"]["number"].as_str() {
                numbers.push(number.parse::<usize>().unwrap());
            }
        }
        numbers
    };
    let (numbers, ()) = tokio::join!(listening, update(&cluster, &admin));
    assert_eq!(numbers, (0..UPDATES).collect::<Vec<_>>());
    // Nothing was read from it, and yet it is over.
    let none = "apiserver_longrunning_requests{verb=\"WATCH\"} 0";
    while !cluster.ask(&admin.get("/metrics")).await.contains(none) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(deaf);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_not_read_holds_its_place_until_it_is_cut_off() {
    let cluster = Cluster::start(Limits {
        request: Duration::from_secs(3),
        reads: 2,
        ..Limits::default()
    })
    .await;
    let (admin, guest) = (cluster.admin(), cluster.guest().await);
    // More than all buffers on the way take.
    let filling = "x".repeat(400_000);
    for number in 0..40 {
        let map = json!({ "metadata": { "name": format!("large-{number}") }, "data": { "k": filling } });
        cluster.ok(&admin.post(CONFIG_MAPS, &map)).await;
    }
    let small = guest.get("/api/v1/namespaces/default");
    let mut deaf = cluster.stream().await;
    deaf.write_all(guest.get(CONFIG_MAPS).as_bytes()).await.unwrap();
    let mut answers = Vec::new();
    // The one place a user has here is taken for a while, and then it is not.
    while answers.len() < 10_000 && answers != ["429", "200"] {
        let code = cluster.ask(&small).await[9..12].to_owned();
        // Until the deaf client has come in there is room.
        let is_new = answers.last().map_or(code == "429", |last| *last != code);
        answers.extend(is_new.then_some(code));
    }
    assert_eq!(answers, ["429", "200"]);
    assert!(read_to_end(&mut deaf).await.len() < 16_000_000);
}
