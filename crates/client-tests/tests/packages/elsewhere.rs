//! `apply` on clusters that are slower, or say less, than ours: what they answer is made up here.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::Arc,
    thread,
};

use client_tests::{Output, binary, run};
use serde_json::{Value, json};

type Answer = dyn Fn(&str, &str, Value) -> Option<Value> + Send + Sync;

/// Runs the program against a server that answers requests by method, path and body; what it has no answer to is
/// not there.
fn against(
    answer: impl Fn(&str, &str, Value) -> Option<Value> + Send + Sync + 'static,
    manifests: &str,
    line: &str,
) -> Output {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer: Arc<Answer> = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || while serve(&stream, &*answer).is_some() {});
        }
    });
    let home = tempfile::tempdir().unwrap();
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "made-up",
        "clusters": [{"name": "made-up", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "made-up", "user": {}}],
        "contexts": [{"name": "made-up", "context": {"cluster": "made-up", "user": "made-up"}}],
    });
    fs::write(home.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
    let mut command = Command::new("bash");
    command
        .args(["-c", &format!("\"$TRAINYARD\" {line} -f -")])
        .current_dir(home.path())
        .env("TRAINYARD", binary())
        .env("HOME", home.path())
        .env("KUBECONFIG", "kubeconfig");
    run(&mut command, manifests)
}

/// One request; none when the peer is gone.
fn serve(mut stream: &TcpStream, answer: &Answer) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let (method, rest) = line.split_once(' ')?;
    let path = rest.split_once(' ')?.0;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim_end().to_lowercase();
        if header.is_empty() {
            break;
        }
        length = header
            .strip_prefix("content-length: ")
            .map_or(length, |length| length.parse().unwrap());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let absent = || json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "gone"});
    let said = answer(method, path, body).unwrap_or_else(absent);
    let code = said["code"].as_u64().unwrap_or(200);
    let said = said.to_string();
    let head = format!(
        "HTTP/1.1 {code} Said\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        said.len()
    );
    stream.write_all((head + &said).as_bytes()).ok()
}

fn forbidden(what: &str) -> Value {
    json!({"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403,
        "message": format!("{what} is forbidden")})
}

fn resource(name: &str, kind: &str, namespaced: bool) -> Value {
    json!({"resources": [{"name": name, "kind": kind, "namespaced": namespaced,
        "verbs": ["get", "list", "patch", "delete"]}]})
}

const WAGON: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: wagons.rail.example}
spec: {group: rail.example, names: {kind: Wagon}}
---
apiVersion: rail.example/v1
kind: Wagon
metadata: {name: one}
";

#[test]
fn a_kind_may_be_told_of_some_time_after_its_definition() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let applied = against(
        move |method, path, body| match (method, path.split_once('?').map_or(path, |(path, _)| path)) {
            ("GET", "/apis/apiextensions.k8s.io/v1") => Some(resource(
                "customresourcedefinitions",
                "CustomResourceDefinition",
                false,
            )),
            ("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions") => Some(json!({
                "metadata": {"resourceVersion": "1"},
                "items": [{"metadata": {"name": "wagons.rail.example"},
                    "status": {"conditions": [{"type": "Established", "status": "True"}]}}],
            })),
            ("GET", "/apis/rail.example/v1") => {
                let asked = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                (asked >= 2).then(|| resource("wagons", "Wagon", true))
            }
            ("PATCH", _) => Some(body),
            _ => None,
        },
        WAGON,
        "apply",
    );
    assert_eq!(
        (applied.code, applied.stdout.as_str()),
        (
            0,
            "customresourcedefinition.apiextensions.k8s.io/wagons.rail.example created\nwagon.rail.example/one created\n"
        ),
        "{applied:?}"
    );
}

const SETTINGS: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: hidden}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
";

/// A cluster that lets somebody into one namespace, and of which a part is away.
fn restricted(method: &str, path: &str, body: Value) -> Option<Value> {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    match (
        method,
        path.trim_start_matches("/api/v1/namespaces/default/configmaps/"),
    ) {
        ("GET", "/api/v1") => Some(resource("configmaps", "ConfigMap", true)),
        ("GET", "/apis") => Some(json!({"groups": [
            {"preferredVersion": {"groupVersion": "metrics.example/v1"}}]})),
        ("GET", "/apis/metrics.example/v1") => Some(
            json!({"kind": "Status", "reason": "ServiceUnavailable", "code": 503, "message": "it is away"}),
        ),
        ("GET", "/api/v1/configmaps") => Some(forbidden("configmaps")),
        ("GET", "/api/v1/namespaces/default/configmaps") => Some(json!({"items": [
            {"metadata": {"name": "old", "namespace": "default", "uid": "1",
                "managedFields": [{"manager": "trainyard", "operation": "Apply"}]}}]})),
        ("GET", "hidden") => Some(forbidden("configmaps \"hidden\"")),
        ("GET", "old") => Some(json!({"metadata": {"name": "old", "uid": "1"}})),
        ("DELETE", "old") => Some(json!({"kind": "Status"})),
        ("PATCH", _) => Some(body),
        _ => None,
    }
}

#[test]
fn who_may_not_see_everything_is_told_what() {
    let apply = "apply --package trainer --prune";
    let refused = against(restricted, SETTINGS, apply);
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (1, "configmap/plain created\n"),
        "{refused:?}"
    );
    assert!(
        refused.stderr.contains("configmaps \"hidden\" is forbidden"),
        "{}",
        refused.stderr
    );
    let pruned = against(restricted, &SETTINGS.replace("hidden", "other"), apply);
    assert_eq!(
        (pruned.code, pruned.stdout.as_str()),
        (
            0,
            "configmap/other created\nconfigmap/plain created\nconfigmap/old pruned\n"
        ),
        "{pruned:?}"
    );
    assert!(
        pruned.stderr.contains("metrics.example/v1: it is away"),
        "{}",
        pruned.stderr
    );
}
