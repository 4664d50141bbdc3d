//! Clusters that have no time, and objects that a cluster refuses.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use client_tests::{Server, Shell, binary, run};
use serde_json::json;

/// As much of a cluster as `apply` of a ConfigMap needs, which says of the first changes that it has no time.
struct BusyCluster {
    address: String,
    changes: Arc<AtomicUsize>,
}

impl BusyCluster {
    /// One that asks so many times to be asked after `seconds`.
    fn start(times: usize, seconds: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let changes = Arc::new(AtomicUsize::new(0));
        let counted = changes.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let counted = counted.clone();
                thread::spawn(move || answer(stream, &counted, times, seconds));
            }
        });
        Self { address, changes }
    }

    fn apply(&self) -> client_tests::Output {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "busy",
            "clusters": [{"name": "busy", "cluster": {"server": self.address}}],
            "contexts": [{"name": "busy", "context": {"cluster": "busy", "user": "busy"}}],
            "users": [{"name": "busy", "user": {}}],
        });
        fs::write(&kubeconfig, text.to_string()).unwrap();
        let mut apply = Command::new(binary());
        apply
            .args(["apply", "-f", "-"])
            .env("KUBECONFIG", &kubeconfig)
            .env("HOME", folder.path());
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default"},
        });
        run(&mut apply, &object.to_string())
    }
}

/// None where the peer went away in the middle.
fn answer(mut stream: TcpStream, changes: &AtomicUsize, times: usize, seconds: &str) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim_end().is_empty() {
            break;
        }
        lines.push(line.to_lowercase());
    }
    let length = lines
        .iter()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap_or_default())];
    reader.read_exact(&mut body).ok()?;
    let mut words = lines.first()?.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let (status, more, body) = match (method, path) {
        ("get", "/api/v1") => {
            let resource =
                json!({"name": "configmaps", "kind": "ConfigMap", "namespaced": true, "verbs": []});
            (200, String::new(), json!({"resources": [resource]}).to_string())
        }
        ("patch", _) if changes.fetch_add(1, Ordering::Relaxed) < times => {
            let later = format!("Retry-After: {seconds}\r\n");
            (
                429,
                later,
                "Too many requests, please try again later.\n".to_owned(),
            )
        }
        ("patch", _) => (200, String::new(), String::from_utf8_lossy(&body).into_owned()),
        _ => {
            let status = json!({"kind": "Status", "status": "Failure", "code": 404, "message": "not found"});
            (404, String::new(), status.to_string())
        }
    };
    let answer = format!(
        "HTTP/1.1 {status} Said\r\n{more}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).ok()
}

#[test]
fn a_cluster_that_has_no_time_is_asked_again_when_it_says_so() {
    let cluster = BusyCluster::start(2, "1");
    let begin = Instant::now();
    let output = cluster.apply();
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(output.stdout, "configmap/settings created\n");
    assert_eq!(cluster.changes.load(Ordering::Relaxed), 3);
    assert!(
        begin.elapsed() >= Duration::from_secs(2),
        "it was asked before its time"
    );
}

#[test]
fn nobody_waits_for_a_cluster_that_has_no_time_for_an_hour() {
    let cluster = BusyCluster::start(usize::MAX, "3600");
    let output = cluster.apply();
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("Too many requests"), "{output:?}");
    assert_eq!(cluster.changes.load(Ordering::Relaxed), 1);
}

#[test]
fn a_difference_shows_the_others_where_an_object_is_refused() {
    let server = Server::start();
    let shell = Shell::new(&server, &[("trainyard", binary())]);
    let settings = |name: &str, key: &str| {
        let metadata = json!({"name": name, "namespace": "default"});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {key: "1"}}).to_string()
    };
    let unknown = json!({"apiVersion": "rail.example/v1", "kind": "Wagon", "metadata": {"name": "w"}});
    let all = [
        settings("first", "a"),
        settings("wrong", "not a key"),
        unknown.to_string(),
        settings("last", "b"),
    ];
    fs::write(server.home().join("all.yaml"), all.join("\n---\n")).unwrap();
    let difference = shell.run("trainyard diff -f all.yaml");
    assert_eq!(difference.code, 2, "{difference:?}");
    for shown in ["+  name: first\n", "+  name: last\n"] {
        assert!(difference.stdout.contains(shown), "{difference:?}");
    }
    assert!(!difference.stdout.contains("name: wrong"), "{difference:?}");
    for told in ["not a key", "Wagon", "all.yaml"] {
        assert!(difference.stderr.contains(told), "{difference:?}");
    }
    // Without them it is as it was.
    fs::write(server.home().join("all.yaml"), all[0].clone()).unwrap();
    assert_eq!(shell.run("trainyard diff -f all.yaml").code, 1);
}
