//! A thousand tasks are submitted while the whole program is killed again and again: every task that was acknowledged
//! runs once, and whoever asked to be told of it is told of everything, in order.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use client_tests::{Call, Receiver, Server, User, get, is_real};
use serde_json::{Value, json};

const TASKS: usize = 1000;
/// Submissions that are under way at a time.
const CLIENTS: usize = 8;
/// The program is killed when so many tasks are acknowledged.
const KILLS: [usize; 4] = [120, 350, 600, 850];
/// Nothing here takes longer, on however busy a machine.
const PATIENCE: Duration = Duration::from_mins(10);

#[test]
fn every_acknowledged_task_runs_once_and_is_told_of_in_order() {
    if is_real() {
        return;
    }
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let listen = format!("127.0.0.1:{port}");
    let mut server = Server::start_with_options(
        User::Us,
        &[
            "--simulated-nodes",
            "20",
            "--service-listen",
            &listen,
            "--service-rate",
            "0",
        ],
    );
    let receiver = Receiver::start();
    let token = std::fs::read_to_string(server.data_dir().join("service-token")).unwrap();
    let service = Service {
        port,
        token: token.trim().to_owned(),
    };
    service.prepare();

    let jobs = Mutex::new(BTreeMap::new());
    let acknowledged = submit_and_kill(&mut server, &service, &receiver.url("/told"), &jobs);
    assert_eq!(acknowledged.len(), TASKS, "every key has a task of its own");

    let deadline = Instant::now() + PATIENCE;
    let tasks = until_over(&server, &acknowledged, &jobs, deadline);
    for name in &acknowledged {
        let task = &tasks[name];
        assert_eq!(task["status"]["phase"], "Succeeded", "{task}");
        assert_eq!(task["status"]["attempts"].as_array().unwrap().len(), 1, "{task}");
    }
    assert_eq!(tasks.len(), TASKS, "nothing was made that nobody knows of");
    // One job each, of one pod, and the same that was there when it was first seen.
    assert_eq!(jobs.lock().unwrap().len(), TASKS);
    let pods = list(&server, "api/v1", "pods");
    let of_tasks: Vec<&Value> = pods
        .iter()
        .filter_map(|pod| pod["metadata"]["labels"].get("job-name"))
        .collect();
    let distinct: BTreeSet<&str> = of_tasks.iter().filter_map(|name| name.as_str()).collect();
    assert_eq!((of_tasks.len(), distinct.len()), (TASKS, TASKS), "one pod each");

    let written = service.written();
    for name in tasks.keys() {
        assert!(written.contains(name), "nothing in the audit log tells of {name}");
    }

    until_told(&server, &receiver, &tasks, deadline);
    told_in_order(&receiver.calls(), &tasks);
}

struct Service {
    port: u16,
    token: String,
}

impl Service {
    /// A template of a pod that only seems to run, and a definition of it.
    fn prepare(&self) {
        let text = "\
apiVersion: batch/v1
kind: Job
metadata: {name: \"{{ global.release }}\"}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {trainyard.dev/simulated-duration: 1s}}
    spec:
      restartPolicy: Never
      nodeSelector: {trainyard.dev/simulated: \"true\"}
      containers:
        - {name: main, image: none, resources: {requests: {cpu: 10m}}}
";
        let template = json!({"name": "timer", "template": text, "description": "waits"});
        let definition = json!({
            "creator": "admin", "name": "timer", "task_template_name": "timer", "description": "waits",
            "user_values_description": "taskDef: (Required) name", "user_values_example": "taskDef: timer",
            "system_values": "", "application": "Test",
        });
        for (path, body) in [("/v1/templates", template), ("/v1/definitions", definition)] {
            let (status, answer) = self.post(path, &body, None).unwrap();
            assert!(status == 201 || status == 200, "{path}: {status} {answer}");
        }
    }

    /// The status and body of an answer; none where the connection broke.
    fn post(&self, path: &str, body: &Value, key: Option<&str>) -> Option<(u16, Value)> {
        let key = key
            .map(|key| format!("Idempotency-Key: {key}\r\n"))
            .unwrap_or_default();
        self.ask("POST", path, &key, &body.to_string())
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Option<(u16, Value)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_mins(1))).ok()?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             {headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        Some((status, serde_json::from_str(body).unwrap_or_default()))
    }

    /// The tasks of which the audit log says that somebody has made, or begun to make them.
    fn written(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/v1/audit?namespace=default&limit=500{cursor}");
            let (status, page) = self.ask("GET", &path, "", "").unwrap();
            assert_eq!(status, 200, "{page}");
            let records = page["items"].as_array().unwrap().iter();
            let made = records.filter(|record| record["operation"] == "createTask");
            names.extend(made.map(|record| record["name"].as_str().unwrap().to_owned()));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return names,
            }
        }
    }

    /// Submits until somebody says that it is done; the task's name.
    fn submit(&self, number: usize, callback: &str) -> String {
        let key = format!("key-{number}");
        let values = json!({
            "taskDef": "timer", "name": "demo", "creator": "admin", "number": number,
            "endpoints": [{"endpoint": callback, "type": "event", "headers": {"x-api-key": "key"}}],
        });
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.post("/v1/tasks", &values, Some(&key)) {
                Some((200 | 201, task)) => return task["name"].as_str().unwrap().to_owned(),
                // Another try of the same key is under way, or the server is on its way up or down.
                Some((409 | 429 | 500..=599, _)) | None => thread::sleep(Duration::from_millis(20)),
                Some((status, answer)) => panic!("{status}: {answer}"),
            }
            assert!(Instant::now() < deadline, "nobody took task {number}");
        }
    }
}

/// The names of all tasks that were acknowledged.
fn submit_and_kill(
    server: &mut Server,
    service: &Service,
    callback: &str,
    jobs: &Mutex<BTreeMap<String, String>>,
) -> BTreeSet<String> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let names = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= TASKS {
                        return;
                    }
                    let name = service.submit(number, callback);
                    names.lock().unwrap().insert(name);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for kill in KILLS {
            let deadline = Instant::now() + PATIENCE;
            while done.load(Ordering::Relaxed) < kill {
                assert!(Instant::now() < deadline, "submissions do not get on");
                thread::sleep(Duration::from_millis(5));
            }
            server.start_again();
            note_jobs(server, jobs);
        }
    });
    names.into_inner().unwrap()
}

fn list(server: &Server, group: &str, resource: &str) -> Vec<Value> {
    let path = format!("/{group}/namespaces/default/{resource}");
    let answer = get(&server.address(), &path, Some(&server.token()));
    let mut list: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    match list["items"].take() {
        Value::Array(items) => items,
        other => panic!("{path}: {other}"),
    }
}

/// Which job each task has; one that is made anew has another uid.
fn note_jobs(server: &Server, jobs: &Mutex<BTreeMap<String, String>>) {
    let mut known = jobs.lock().unwrap();
    for job in list(server, "apis/batch/v1", "jobs") {
        let text = |field: &str| job["metadata"][field].as_str().unwrap().to_owned();
        let uid = text("uid");
        let first = known.entry(text("name")).or_insert_with(|| uid.clone());
        assert_eq!(*first, uid, "the job of {} was made twice", text("name"));
    }
}

fn until_over(
    server: &Server,
    names: &BTreeSet<String>,
    jobs: &Mutex<BTreeMap<String, String>>,
    deadline: Instant,
) -> BTreeMap<String, Value> {
    loop {
        note_jobs(server, jobs);
        let tasks: BTreeMap<String, Value> = list(server, "apis/trainyard.dev/v1alpha1", "tasks")
            .into_iter()
            .map(|task| (task["metadata"]["name"].as_str().unwrap().to_owned(), task))
            .collect();
        assert!(
            names.iter().all(|name| tasks.contains_key(name)),
            "an acknowledged task is lost"
        );
        let is_over = |task: &Value| matches!(task["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let open = tasks.values().filter(|task| !is_over(task)).count();
        if open == 0 {
            return tasks;
        }
        assert!(Instant::now() < deadline, "{open} tasks do not end");
        thread::sleep(Duration::from_millis(500));
    }
}

/// Every event of every task has arrived.
fn until_told(server: &Server, receiver: &Receiver, tasks: &BTreeMap<String, Value>, deadline: Instant) {
    let wanted: usize = tasks
        .values()
        .map(|task| task["status"]["events"].as_array().unwrap().len())
        .sum();
    loop {
        let calls = receiver.calls();
        let distinct: BTreeSet<&str> = calls
            .iter()
            .filter_map(|call| call.header("webhook-id"))
            .collect();
        if distinct.len() == wanted {
            return;
        }
        if Instant::now() > deadline {
            let open: Vec<Value> = list(server, "apis/trainyard.dev/v1alpha1", "callbackdeliveries")
                .into_iter()
                .filter(|delivery| delivery["status"]["phase"] != "Delivered")
                .take(3)
                .collect();
            panic!("{} of {wanted} callbacks arrived; {open:#?}", distinct.len());
        }
        thread::sleep(Duration::from_millis(500));
    }
}

/// What arrives twice is the last that arrived; nothing is left out or overtaken.
fn told_in_order(calls: &[Call], tasks: &BTreeMap<String, Value>) {
    let mut told: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for call in calls {
        assert_eq!(call.header("x-api-key"), Some("key"));
        let sequence = call.body["data"]["sequence"].as_i64().unwrap();
        let task = call.body["task_id"].as_str().unwrap();
        let told = told.entry(task).or_default();
        match told.last() {
            Some(last) if *last == sequence => {}
            last => {
                assert_eq!(sequence, last.copied().unwrap_or(0) + 1, "{task}: {told:?}");
                told.push(sequence);
            }
        }
    }
    for (name, task) in tasks {
        let events = task["status"]["events"].as_array().unwrap();
        assert_eq!(told[name.as_str()].len(), events.len(), "{name}");
        assert_eq!(events.last().unwrap()["type"], "task.succeeded");
    }
}
