//! `kubectl top`.

use crate::cluster::{Cluster, Transport};

#[tokio::test(flavor = "multi_thread")]
async fn top_shows_what_is_used() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let top = |line: &'static str| cluster.ok(Transport::WebSocket, line);
    assert_eq!(
        top("kubectl top pods --no-headers")
            .await
            .split_whitespace()
            .collect::<Vec<_>>(),
        ["web", "251m", "65Mi"]
    );
    let containers = top("kubectl top pod web --containers --no-headers").await;
    assert!(
        containers.contains("main") && containers.contains("250m") && containers.contains("64Mi"),
        "{containers}"
    );
    let nodes = top("kubectl top nodes --no-headers").await;
    assert!(
        nodes.starts_with("here") && nodes.contains("500m") && nodes.contains("1024Mi"),
        "{nodes}"
    );
}
