//! `kubectl logs`.

use std::sync::atomic::Ordering;

use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::{
    cluster::{Cluster, DEADLINE, Transport},
    commands::wait_until,
};

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_followed_as_they_are_written() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let mut kubectl = cluster.spawn(Transport::WebSocket, "kubectl logs -f web");
    let mut lines = BufReader::new(kubectl.stdout.take().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("main began"));
    wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 1).await;
    let sender = cluster.node.lines.lock().unwrap().clone().unwrap();
    for number in 0..3 {
        sender.send(format!("line {number}\n")).unwrap();
        let line = tokio::time::timeout(DEADLINE, lines.next_line()).await.unwrap();
        assert_eq!(line.unwrap(), Some(format!("line {number}")));
    }
    kubectl.kill().await.unwrap();
    wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn options_reach_the_node_and_mistakes_do_not() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let logs = |arguments: &str| {
        let line = format!("kubectl logs {arguments}");
        async { cluster.run(Transport::WebSocket, &{ line }).await }
    };
    let output = logs("web -c side --tail=5 --limit-bytes=100 --timestamps --since=10s").await;
    assert_eq!(output.text(), "side began\n", "{}", output.stderr);
    let options = cluster.node.log_options.lock().unwrap().take().unwrap();
    assert_eq!((options.tail_lines, options.limit_bytes), (Some(5), Some(100)));
    assert!(options.timestamps && options.since.is_some() && !options.follow);
    let refusals = [
        (
            "web --previous",
            "Error from server (BadRequest): previous terminated container \"main\" in pod \"web\" not found\n",
        ),
        ("web -c nope", "error: container nope is not valid for pod web\n"),
        (
            "nobody",
            "error: error from server (NotFound): pods \"nobody\" not found in namespace \"default\"\n",
        ),
    ];
    for (arguments, expected) in refusals {
        assert_eq!(logs(arguments).await.stderr, expected, "for {arguments}");
    }
    let raw = "kubectl get --raw '/api/v1/namespaces/default/pods/web/log?container=main&tailLines=-1'";
    let output = cluster.run(Transport::WebSocket, raw).await;
    assert_eq!(
        output.stderr,
        "The PodLogOptions \"web\" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0\n"
    );
}
