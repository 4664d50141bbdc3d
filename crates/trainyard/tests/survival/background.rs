//! A server in the background: its log, and what is said when it does not start.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Command, Output},
    time::{Duration, Instant},
};

use crate::server::Place;

fn trainyard(command: &str, data_dir: &Path) -> Command {
    let mut trainyard = Command::new(env!("CARGO_BIN_EXE_trainyard"));
    trainyard.args([command, "--data-dir"]).arg(data_dir);
    trainyard
}

fn code_and_text(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn a_start_that_fails_is_explained_by_its_own_log() {
    let place = Place::new();
    fs::create_dir(place.data_dir()).unwrap();
    fs::write(place.file("server.log"), "error: what went wrong long ago\n").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    let output = trainyard("up", &place.data_dir())
        .args(["--detach", "--api-only", "--listen", &taken])
        .output()
        .unwrap();
    let (code, text) = code_and_text(&output);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains(&format!("error: cannot listen on {taken}")),
        "{text}"
    );
    assert!(!text.contains("long ago"), "{text}");
}

#[test]
fn a_log_that_is_full_is_set_aside() {
    let place = Place::new();
    fs::create_dir(place.data_dir()).unwrap();
    fs::write(place.file("server.log"), "a line of long ago\n".repeat(500_000)).unwrap();
    let started = trainyard("up", &place.data_dir())
        .args(["--detach", "--api-only", "--listen", "127.0.0.1:0"])
        .env("TRAINYARD_LOG", "debug")
        .output()
        .unwrap();
    let (code, text) = code_and_text(&started);
    assert_eq!(code, Some(0), "{text}");
    let address = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("address"))
        .unwrap();
    let address = address.trim().strip_prefix("https://").unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    while !place.file("server.log.1").exists() {
        assert!(Instant::now() < deadline, "the log was not set aside");
        // A client that hangs up is worth a line.
        drop(std::net::TcpStream::connect(address).unwrap());
    }
    assert_eq!(
        code_and_text(&trainyard("down", &place.data_dir()).output().unwrap()).0,
        Some(0)
    );
    assert!(fs::metadata(place.file("server.log")).unwrap().len() < 8 << 20);
}

#[test]
fn a_directory_that_cannot_be_looked_into_is_an_error() {
    let place = Place::new();
    fs::write(place.data_dir(), "a file").unwrap();
    for command in ["status", "down"] {
        let output = trainyard(command, &place.data_dir().join("below"))
            .output()
            .unwrap();
        let (code, text) = code_and_text(&output);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.starts_with("error: cannot read `"), "{text}");
    }
    let output = trainyard("status", Path::new("/nowhere")).output().unwrap();
    assert_eq!(code_and_text(&output).0, Some(1));
}

#[test]
fn a_server_that_does_not_say_where_it_is_still_runs() {
    let place = Place::new();
    let started = trainyard("up", &place.data_dir())
        .args(["--detach", "--api-only", "--listen", "127.0.0.1:0"])
        .output()
        .unwrap();
    assert_eq!(code_and_text(&started).0, Some(0));
    fs::remove_file(place.file("instance.json")).unwrap();
    let (code, text) = code_and_text(&trainyard("status", &place.data_dir()).output().unwrap());
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("has not said where it is reached"), "{text}");
    let (code, text) = code_and_text(&trainyard("down", &place.data_dir()).output().unwrap());
    assert_eq!(code, Some(0), "{text}");
}
