//! What dies, is damaged or is slow.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    net::TcpListener,
    process::{Child, ChildStdout, Stdio},
    time::{Duration, Instant},
};

use crate::{bench, copy, measured, refused, trained, until};

/// A client that is at it.
struct Measuring {
    child: Child,
    told: BufReader<ChildStdout>,
}

impl Measuring {
    fn start(servers: &str, further: &[&str]) -> Self {
        let mut child = bench(servers, further)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let told = BufReader::new(child.stdout.take().unwrap());
        Self { child, told }
    }

    /// Returns when it has told of so many answers.
    #[track_caller]
    fn until_answers(&mut self, count: usize) {
        let (mut line, mut answers) = (String::new(), 0);
        while answers < count {
            line.clear();
            assert!(self.told.read_line(&mut line).unwrap() > 0);
            answers += usize::from(line.starts_with("Iteration "));
        }
    }

    /// How it ended, what else it told, and what it complained of.
    fn end(mut self) -> (Option<i32>, String, String) {
        let mut rest = String::new();
        self.told.read_to_string(&mut rest).unwrap();
        let output = self.child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), rest, stderr)
    }
}

#[test]
fn a_replica_killed_under_load_loses_no_request() {
    let model = trained().copy();
    let (mut first, second) = (model.serve(&[]), model.serve(&[]));
    let servers = format!("{},{}", first.address(), second.address());
    let mut measuring = Measuring::start(&servers, &["-n", "3000", "-w", "0", "-c", "4", "--rate", "1500"]);
    measuring.until_answers(200);
    first.kill();
    let (code, rest, stderr) = measuring.end();
    assert_eq!(code, Some(0), "{stderr}");
    let answers = rest.lines().filter(|line| line.starts_with("Iteration "));
    assert_eq!(200 + answers.count(), 2000, "the exam has 2000 rows");
    assert!(rest.contains("Requests that were sent again: "), "{rest}");
}

#[test]
fn a_replica_that_is_stopped_answers_what_it_was_asked() {
    let model = trained().copy();
    let (first, second) = (model.serve(&[]), model.serve(&[]));
    let servers = format!("{},{}", first.address(), second.address());
    let mut measuring = Measuring::start(&servers, &["-n", "1500", "-w", "0", "-c", "4", "--rate", "1500"]);
    measuring.until_answers(1);
    assert_eq!(first.stop(), Some(0));
    let (code, rest, stderr) = measuring.end();
    assert_eq!(code, Some(0), "{rest}{stderr}");
}

#[test]
fn a_damaged_version_is_refused_and_the_old_one_stays() {
    let model = trained().copy();
    let (versions, draft) = (model.path(), model.beside("draft"));
    let served = model.serve(&[]);
    copy(&versions.join("1"), &draft);
    let values = draft.join("variables/variables.data-00000-of-00001");
    let mut bytes = fs::read(&values).unwrap();
    bytes[1000] ^= 1;
    fs::write(&values, bytes).unwrap();
    fs::rename(&draft, versions.join("2")).unwrap();
    until("the damaged version is not refused", || {
        served.get("/v1/models/digits").contains("\"END\"")
    });
    let status = served.get("/v1/models/digits");
    assert!(
        status.contains("do not match their checksum") && status.contains("AVAILABLE"),
        "{status}"
    );
    measured(&served.address(), &["-n", "5", "-w", "0", "-q"]).success();
    // The same model whole, as the next version, takes over.
    copy(&versions.join("1"), &draft);
    fs::rename(&draft, versions.join("3")).unwrap();
    until("the good version does not take over", || {
        let status = served.get("/v1/models/digits/versions/3");
        status.contains("AVAILABLE")
    });
    measured(&served.address(), &["-n", "5", "-w", "0", "-q"]).success();
}

#[test]
fn a_dead_server_is_told() {
    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    refused(
        &measured(&gone, &["--retries", "1"]),
        &[
            &format!("error: {gone} does not answer"),
            "Connection refused",
            "hint: -s names the gRPC port",
        ],
    );
}

#[test]
fn a_slow_server_is_given_up() {
    // It takes connections and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let started = Instant::now();
    let output = measured(&silent.local_addr().unwrap().to_string(), &["--timeout", "0.3"]);
    refused(
        &output,
        &["did not answer within 300 ms", "--timeout gives it more time"],
    );
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_server_that_goes_for_good_ends_the_run() {
    let model = trained().copy();
    let mut served = model.serve(&[]);
    let mut measuring = Measuring::start(
        &served.address(),
        &["-n", "2000", "-w", "0", "--rate", "200", "--retries", "1"],
    );
    measuring.until_answers(5);
    served.kill();
    let (code, rest, stderr) = measuring.end();
    assert_eq!(code, Some(2), "{stderr}");
    assert!(
        stderr.contains("error: the server stopped answering after "),
        "{stderr}"
    );
    // What was measured until then is told.
    assert!(
        rest.contains("Average time: ") && rest.contains("Accuracy: "),
        "{rest}"
    );
}
