//! `kubectl exec` and `kubectl attach`, over both transports.

use std::sync::atomic::Ordering;

use node_api::TerminalSize;

use crate::cluster::{Cluster, DEADLINE, Transport};

#[tokio::test(flavor = "multi_thread")]
async fn a_command_has_its_streams_and_its_exit_code() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    for transport in Transport::ALL {
        let output = cluster
            .run(
                transport,
                "kubectl exec web -- sh -c 'echo out; echo err >&2; exit 7'",
            )
            .await;
        assert_eq!(
            (output.text().as_str(), output.code),
            ("out\n", 7),
            "{transport:?}"
        );
        assert_eq!(output.stderr, "err\ncommand terminated with exit code 7\n");
        assert_eq!(cluster.ok(transport, "kubectl exec web -- true").await, "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_megabytes_go_in_and_come_out() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let input: Vec<u8> = (0..10_u32 << 20)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for transport in Transport::ALL {
        let output = cluster
            .run_with(transport, "kubectl exec -i web -- cat", input.clone())
            .await;
        assert_eq!(output.code, 0, "{transport:?}: {}", output.stderr);
        assert!(
            output.stdout == input,
            "{transport:?}: {} bytes came back",
            output.stdout.len()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_input_reaches_the_command() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    for transport in Transport::ALL {
        let output = cluster
            .run_with(transport, "kubectl exec -i web -- wc -c", b"four".to_vec())
            .await;
        assert_eq!((output.text().trim(), output.code), ("4", 0), "{transport:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_does_not_read_its_input_ends_all_the_same() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    for transport in Transport::ALL {
        let line = "kubectl exec -i web -- sh -c 'exec <&-; echo done'";
        let output = cluster.run_with(transport, line, vec![b'x'; 4 << 20]).await;
        assert_eq!(
            (output.text().as_str(), output.code),
            ("done\n", 0),
            "{transport:?}: {}",
            output.stderr
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_one_and_knows_its_size() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    for transport in Transport::ALL {
        let line = "script -qefc \"stty cols 91 rows 33; $KUBECTL exec -it web -- tty\" /dev/null";
        let output = cluster.run(transport, line).await;
        assert_eq!(output.code, 0, "{transport:?}: {}", output.text());
        assert!(
            output.text().contains("/dev/pts/"),
            "{transport:?}: {}",
            output.text()
        );
        let line = "script -qefc \"stty cols 91 rows 33; $KUBECTL exec -it web -- sleep 1000\" /dev/null";
        let sleeping = cluster.spawn(transport, line);
        let size = TerminalSize {
            columns: 91,
            rows: 33,
        };
        wait_until(|| cluster.node.sizes.lock().unwrap().contains(&size)).await;
        drop(sleeping);
        wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 0).await;
        cluster.node.sizes.lock().unwrap().clear();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_run_is_explained() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    for transport in Transport::ALL {
        let output = cluster
            .run(transport, "kubectl exec web -- no-such-program")
            .await;
        assert_eq!(output.code, 1);
        assert_eq!(
            output.stderr,
            "error: Internal error occurred: error executing command in container: exec: \"no-such-program\": executable file not found in $PATH\n",
            "{transport:?}"
        );
        let output = cluster.run(transport, "kubectl exec web -c side -- true").await;
        let prefix = match transport {
            Transport::WebSocket => "Internal error occurred: ",
            Transport::Spdy => "",
        };
        assert_eq!(
            output.stderr,
            format!("error: {prefix}unable to upgrade connection: container not found (\"side\")\n")
        );
        let output = cluster.run(transport, "kubectl exec web -c other -- true").await;
        assert!(
            output.stderr.contains("container other is not valid for pod web"),
            "{}",
            output.stderr
        );
        let output = cluster.run(transport, "kubectl exec nobody -- true").await;
        assert!(
            output.stderr.contains("pods \"nobody\" not found"),
            "{}",
            output.stderr
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attaching_joins_what_runs() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    for transport in Transport::ALL {
        let output = cluster
            .run_with(transport, "kubectl attach -i web -c main", b"ping\n".to_vec())
            .await;
        assert_eq!(output.code, 0, "{transport:?}: {}", output.stderr);
        assert_eq!(output.text(), "hello\nping\n", "{transport:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_takes_its_session_along() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    for transport in Transport::ALL {
        let mut kubectl = cluster.spawn(transport, "kubectl exec web -- sleep 1000");
        wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 1).await;
        kubectl.kill().await.unwrap();
        wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_ends_its_sessions() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let kubectl = cluster.spawn(Transport::WebSocket, "kubectl exec web -- sleep 1000");
    wait_until(|| cluster.node.sessions.load(Ordering::SeqCst) == 1).await;
    let node = cluster.node.clone();
    cluster.running.stop().await;
    wait_until(|| node.sessions.load(Ordering::SeqCst) == 0).await;
    let ended = tokio::time::timeout(DEADLINE, kubectl.wait_with_output()).await;
    assert!(!ended.unwrap().unwrap().status.success());
}

/// Waits for something that must come true.
pub(crate) async fn wait_until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(DEADLINE, waiting).await.unwrap();
}
