//! How long a start takes.

use std::time::Instant;

use super::pod::{Pod, within};

#[tokio::test]
async fn a_hundred_containers_start_at_once() {
    let pod = Pod::new().await;
    let containers: Vec<_> = (0..100)
        .map(|number| pod.container(&format!("c{number}"), "exec sleep 1000"))
        .collect();
    let begin = Instant::now();
    let starts: Vec<_> = containers
        .into_iter()
        .map(|container| {
            let sandbox = pod.sandbox.clone();
            tokio::spawn(async move { sandbox.start_container(&container).await })
        })
        .collect();
    for start in starts {
        within(start).await.unwrap().unwrap();
    }
    println!(
        "{:.2} ms a container",
        begin.elapsed().as_secs_f64() * 1000.0 / 100.0
    );
    assert_eq!(pod.sandbox.state().await.unwrap().containers.len(), 100);
    pod.stop().await;
}
