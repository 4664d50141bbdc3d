//! What dies, is damaged or is slow.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    net::TcpListener,
    process::Stdio,
    time::{Duration, Instant},
};

use crate::{Served, bench, copy, measured, trained};

#[test]
fn a_replica_killed_under_load_loses_no_request() {
    let folder = trained().copy();
    let model = folder.path().join("digits");
    let mut first = Served::start(&model, &[]);
    let second = Served::start(&model, &[]);
    let servers = format!("{},{}", first.address(), second.address());
    let mut child = bench(&servers, &["-n", "3000", "-w", "0", "-c", "4", "--rate", "1500"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    let mut answers = 0;
    while answers < 200 {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0);
        answers += usize::from(line.starts_with("Iteration "));
    }
    first.kill();
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    answers += rest.lines().filter(|line| line.starts_with("Iteration ")).count();
    assert_eq!(answers, 2000, "the exam has 2000 rows");
    assert!(rest.contains("Requests that were sent again: "), "{rest}");
}

#[test]
fn a_replica_that_is_stopped_answers_what_it_was_asked() {
    let folder = trained().copy();
    let model = folder.path().join("digits");
    let first = Served::start(&model, &[]);
    let second = Served::start(&model, &[]);
    let servers = format!("{},{}", first.address(), second.address());
    let mut child = bench(&servers, &["-n", "1500", "-w", "0", "-c", "4", "--rate", "1500"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("Iteration ") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0);
    }
    assert_eq!(first.stop(), Some(0));
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest}");
}

#[test]
fn a_damaged_version_is_refused_and_the_old_one_stays() {
    let folder = trained().copy();
    let model = folder.path().join("digits");
    let served = Served::start(&model, &[]);
    let draft = folder.path().join("draft");
    copy(&model.join("1"), &draft);
    let values = draft.join("variables/variables.data-00000-of-00001");
    let mut bytes = fs::read(&values).unwrap();
    bytes[1000] ^= 1;
    fs::write(&values, bytes).unwrap();
    fs::rename(&draft, model.join("2")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let status = loop {
        let status = served.get("/v1/models/digits");
        if status.contains("\"END\"") {
            break status;
        }
        assert!(Instant::now() < deadline, "{status}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(
        status.contains("do not match their checksum") && status.contains("AVAILABLE"),
        "{status}"
    );
    measured(&served.address(), &["-n", "5", "-w", "0", "-q"]).success();
    // The same model whole, as the next version, takes over.
    copy(&model.join("1"), &draft);
    fs::rename(&draft, model.join("3")).unwrap();
    while !served.get("/v1/models/digits/versions/3").contains("AVAILABLE") {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(20));
    }
    measured(&served.address(), &["-n", "5", "-w", "0", "-q"]).success();
}

#[test]
fn a_dead_server_is_told() {
    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let output = measured(&gone, &["--retries", "1"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains(&format!("error: {gone} does not answer")),
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains("Connection refused"), "{}", output.stderr);
    assert!(
        output.stderr.contains("hint: -s names the gRPC port"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_slow_server_is_given_up() {
    // It takes connections and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let started = Instant::now();
    let output = measured(&silent.local_addr().unwrap().to_string(), &["--timeout", "0.3"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("did not answer within 300 ms"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("--timeout gives it more time"),
        "{}",
        output.stderr
    );
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_server_that_goes_for_good_ends_the_run() {
    let folder = trained().copy();
    let mut served = Served::start(&folder.path().join("digits"), &[]);
    let mut child = bench(
        &served.address(),
        &["-n", "2000", "-w", "0", "--rate", "200", "--retries", "1"],
    )
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("Iteration 5:") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0);
    }
    served.kill();
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
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
