//! The commands around the server, as users and scripts meet them.

use std::{
    fs,
    io::Read as _,
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use client_tests::{Output, Release, Server, Shell, binary, get, kubectl, needed, run};
use serde_json::Value;

/// Runs `trainyard` with a data directory.
fn trainyard(dir: &Path, arguments: &[&str]) -> Output {
    run(
        Command::new(binary()).args(arguments).arg("--data-dir").arg(dir),
        "",
    )
}

/// A server that was told to stay behind; it goes with the test all the same.
struct Detached<'a>(&'a Path);

impl Drop for Detached<'_> {
    fn drop(&mut self) {
        trainyard(self.0, &["down"]);
    }
}

#[test]
fn a_second_server_in_one_directory_is_told_of_the_first() {
    let server = Server::start();
    for extra in [&[][..], &["--detach"]] {
        let arguments = [&["up", "--api-only", "--listen", "127.0.0.1:0"][..], extra].concat();
        let second = trainyard(&server.data_dir(), &arguments);
        assert_eq!(second.code, 2, "{second:?}");
        let expected = format!("is in use by process {} (trainyard)", server.pid());
        assert!(second.stderr.contains(&expected), "{}", second.stderr);
        assert!(
            second.stderr.contains("trainyard status --data-dir"),
            "{}",
            second.stderr
        );
    }
    assert_eq!(server.status()["pid"], server.pid());
}

#[test]
fn a_detached_server_is_ready_when_the_command_returns_and_stops_when_told() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("data");
    let _detached = Detached(&dir);
    let up = trainyard(&dir, &["up", "--api-only", "--listen", "127.0.0.1:0", "--detach"]);
    assert_eq!(up.code, 0, "{up:?}");
    assert!(
        up.stdout
            .starts_with("Trainyard is ready\n\n  address     https://127.0.0.1:"),
        "{}",
        up.stdout
    );
    assert!(up.stdout.contains("export KUBECONFIG="), "{}", up.stdout);

    let status: Value = serde_json::from_str(&trainyard(&dir, &["status", "-o", "json"]).success()).unwrap();
    assert_eq!(status["running"], true);
    assert_eq!(status["kubeconfig"], dir.join("kubeconfig").display().to_string());
    let ready = get(status["address"].as_str().unwrap(), "/readyz", None);
    assert_eq!((ready.status, ready.body.as_str()), (200, "ok"));

    let down = trainyard(&dir, &["down"]);
    assert_eq!(
        (down.code, down.stdout),
        (0, format!("Trainyard stopped (process {})\n", status["pid"]))
    );
    let address = status["address"].as_str().unwrap().trim_start_matches("https://");
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
    let again = trainyard(&dir, &["down"]);
    assert_eq!(
        (again.code, again.stdout),
        (1, format!("Trainyard is not running in {}\n", dir.display()))
    );
}

#[test]
fn a_server_goes_on_when_nobody_reads_what_it_prints() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("data");
    let _detached = Detached(&dir);
    let mut up = Command::new(binary())
        .args(["up", "--api-only", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(&dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0];
    up.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let status: Value = serde_json::from_str(&trainyard(&dir, &["status", "-o", "json"]).success()).unwrap();
    let ready = get(status["address"].as_str().unwrap(), "/readyz", None);
    trainyard(&dir, &["down"]).success();
    let ended = up.wait().unwrap();
    assert_eq!((ready.status, ended.code()), (200, Some(0)));
}

#[test]
fn the_status_is_told_to_people_and_to_programs() {
    let server = Server::start();
    let text = trainyard(&server.data_dir(), &["status"]).success();
    for line in [
        "Trainyard is running, but the cluster has no node: it was started with `--api-only`, so no pod can start"
            .to_owned(),
        format!("  pid         {}", server.pid()),
        format!("  address     {}", server.address()),
        format!("  kubeconfig  {}", server.kubeconfig().display()),
    ] {
        assert!(
            text.lines().any(|printed| printed == line),
            "no {line:?} in\n{text}"
        );
    }
    let json = server.status();
    assert_eq!(json["address"], server.address());
    assert_eq!(json["dataDir"], server.data_dir().display().to_string());
    assert!(
        json["memoryBytes"]
            .as_u64()
            .is_some_and(|bytes| bytes > 1_000_000),
        "{json}"
    );

    let elsewhere = tempfile::tempdir().unwrap();
    let nothing = trainyard(elsewhere.path(), &["status", "-o", "json"]);
    assert_eq!(nothing.code, 1);
    let json: Value = serde_json::from_str(&nothing.stdout).unwrap();
    assert_eq!(json["running"], false);
}

#[test]
fn what_opens_the_cluster_is_for_its_owner_only() {
    let server = Server::start();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&server.kubeconfig()), 0o600);
    assert_eq!(mode(&server.data_dir()), 0o700);
    for entry in fs::read_dir(server.data_dir()).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read(&path).unwrap_or_default();
        let secret = text
            .windows(server.token().len())
            .any(|window| window == server.token().as_bytes());
        assert!(
            !secret || mode(&path) == 0o600,
            "`{}` holds the token",
            path.display()
        );
    }
}

#[test]
fn nobody_gets_in_without_a_token() {
    let server = Server::start();
    let anonymous = get(&server.address(), "/api/v1/secrets", None);
    assert!(matches!(anonymous.status, 401 | 403), "{anonymous:?}");
    let wrong = get(&server.address(), "/api/v1/secrets", Some("wrong"));
    assert_eq!(wrong.status, 401, "{wrong:?}");
    let status: Value = serde_json::from_str(&wrong.body).unwrap();
    assert_eq!(
        (&status["reason"], &status["kind"]),
        (&"Unauthorized".into(), &"Status".into())
    );
    assert_eq!(
        get(&server.address(), "/api/v1/secrets", Some(&server.token())).status,
        200
    );
    for path in ["/readyz", "/livez", "/healthz"] {
        let health = get(&server.address(), path, None);
        assert_eq!((health.status, health.body.as_str()), (200, "ok"), "{path}");
    }
}

#[test]
fn a_killed_server_forgets_nothing_it_acknowledged() {
    let Some(kubectl) = needed(kubectl(Release::Ours)) else {
        return;
    };
    let mut server = Server::start();
    let shell = Shell::new(&server, &[("kubectl", &kubectl)]);
    shell.ok("for i in $(seq 20); do kubectl create configmap c$i --from-literal=n=$i; done");
    let list = "kubectl get configmaps -o jsonpath='{range .items[*]}{.metadata.name} {.metadata.uid} {.metadata.resourceVersion}{\"\\n\"}{end}'";
    let before = shell.ok(list);
    assert!(before.lines().count() >= 20, "{before}");
    let token = server.token();

    server.start_again();
    assert_eq!(Shell::new(&server, &[("kubectl", &kubectl)]).ok(list), before);
    assert_eq!(server.token(), token, "a kubeconfig that was copied still works");
}

#[test]
fn a_damaged_store_is_named_and_left_alone() {
    let mut server = Server::start();
    server.kill();
    let store = fs::read_dir(server.data_dir())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .max_by_key(|path| fs::metadata(path).map_or(0, |metadata| metadata.len()))
        .unwrap();
    let mut bytes = fs::read(&store).unwrap();
    bytes[..512].fill(0xa5);
    fs::write(&store, &bytes).unwrap();

    let up = trainyard(
        &server.data_dir(),
        &["up", "--api-only", "--listen", "127.0.0.1:0"],
    );
    assert_eq!(up.code, 2, "{up:?}");
    assert!(up.stderr.starts_with("error: "), "{}", up.stderr);
    assert!(up.stderr.contains(&store.display().to_string()), "{}", up.stderr);
    assert!(up.stderr.contains("\nhint: "), "{}", up.stderr);
    assert!(!up.stderr.contains("panicked"), "{}", up.stderr);
    assert_eq!(fs::read(&store).unwrap(), bytes, "the file is as it was");
}

#[test]
fn a_directory_that_cannot_be_used_is_an_error_and_not_a_panic() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    let up = trainyard(
        &file.join("data"),
        &["up", "--api-only", "--listen", "127.0.0.1:0"],
    );
    assert_eq!(up.code, 2, "{up:?}");
    assert!(up.stderr.starts_with("error: cannot create"), "{}", up.stderr);
}

#[test]
fn a_taken_port_is_an_error_with_a_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let home = tempfile::tempdir().unwrap();
    for extra in [&[][..], &["--detach"]] {
        let arguments = [&["up", "--api-only", "--listen", &address][..], extra].concat();
        let up = trainyard(&home.path().join("data"), &arguments);
        assert_eq!(up.code, 2, "{up:?}");
        assert!(up.stderr.contains(&address), "{}", up.stderr);
        assert!(
            up.stderr.contains("`--listen 127.0.0.1:0` picks a free port"),
            "{}",
            up.stderr
        );
    }
}

#[test]
fn the_server_listens_to_other_machines_only_when_told() {
    let server = Server::start();
    assert!(
        server.address().starts_with("https://127.0.0.1:"),
        "{}",
        server.address()
    );

    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("data");
    let _detached = Detached(&dir);
    let up = trainyard(&dir, &["up", "--api-only", "--listen", "0.0.0.0:0", "--detach"]);
    assert_eq!(up.code, 0, "{up:?}");
    let status: Value = serde_json::from_str(&trainyard(&dir, &["status", "-o", "json"]).success()).unwrap();
    assert_eq!(
        get(status["address"].as_str().unwrap(), "/readyz", None).status,
        200
    );
}

#[test]
fn a_stopped_server_leaves_no_trace_of_running() {
    let mut server = Server::start();
    let dir = server.data_dir();
    trainyard(&dir, &["down"]).success();
    assert_eq!(trainyard(&dir, &["status"]).code, 1);
    server.start_again();
    assert_eq!(server.status()["running"], true);
}
