use std::{
    fs::{self, OpenOptions},
    future::{pending, ready},
    io::Write as _,
    path::PathBuf,
    time::Duration,
};

use tempfile::TempDir;
use tokio::time::timeout;

use super::*;

const PATIENCE: Duration = Duration::from_mins(1);

struct Log {
    folder: TempDir,
}

impl Log {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("0.log")
    }

    fn write(&self, line: &str) {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path())
            .unwrap();
        writeln!(file, "2026-01-01T00:00:00Z stdout F {line}").unwrap();
    }

    fn rotate(&self, time: &str) {
        fs::rename(self.path(), self.folder.path().join(format!("0.log.{time}"))).unwrap();
    }

    async fn read(&self, options: Options) -> String {
        let (sender, mut receiver) = mpsc::channel(64);
        let path = self.path();
        let task = tokio::spawn(async move { read(&path, &options, ready(()), sender).await });
        let mut text = Vec::new();
        while let Some(bytes) = timeout(PATIENCE, receiver.recv()).await.unwrap() {
            text.extend_from_slice(&bytes);
        }
        task.await.unwrap().unwrap();
        String::from_utf8(text).unwrap()
    }

    async fn tail(&self, count: u64) -> String {
        self.read(Options {
            tail: Some(count),
            ..Options::default()
        })
        .await
    }
}

async fn until(receiver: &mut mpsc::Receiver<Bytes>, wanted: &str) {
    let mut text = String::new();
    while text != wanted {
        let bytes = timeout(PATIENCE, receiver.recv()).await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&bytes).unwrap());
        assert!(wanted.starts_with(&text), "{text:?} instead of {wanted:?}");
    }
}

#[tokio::test]
async fn files_put_aside_belong_to_the_log() {
    let log = Log::new();
    for (line, time) in [("1", "20260101-000001"), ("2", "20260101-000002")] {
        log.write(line);
        log.rotate(time);
    }
    log.write("3");
    log.write("4");
    assert_eq!(log.read(Options::default()).await, "1\n2\n3\n4\n");
    let tails = [0, 1, 2, 3, 9];
    let expected = ["", "4\n", "3\n4\n", "2\n3\n4\n", "1\n2\n3\n4\n"];
    for (count, expected) in tails.into_iter().zip(expected) {
        assert_eq!(log.tail(count).await, expected, "the last {count}");
    }
}

#[tokio::test]
async fn the_end_of_a_long_log_is_found() {
    let log = Log::new();
    let long = "x".repeat(30_000);
    for number in 0..10 {
        log.write(&format!("{number}{long}"));
    }
    let text = log.tail(4).await;
    let firsts: String = text.lines().filter_map(|line| line.chars().next()).collect();
    assert_eq!(firsts, "6789");
}

#[tokio::test]
async fn what_comes_while_a_log_is_read_is_for_those_who_follow_it() {
    let log = Log::new();
    for _ in 0..4 {
        log.write(&"x".repeat(CHUNK));
    }
    let (sender, mut receiver) = mpsc::channel(1);
    let path = log.path();
    let task = tokio::spawn(async move {
        let options = Options {
            tail: Some(3),
            ..Options::default()
        };
        read(&path, &options, ready(()), sender).await
    });
    // Reading has begun, and cannot go on before somebody takes what was read.
    let mut text = timeout(PATIENCE, receiver.recv())
        .await
        .unwrap()
        .unwrap()
        .to_vec();
    log.write("late");
    log.rotate("20260101-000001");
    log.write("later");
    while let Some(bytes) = timeout(PATIENCE, receiver.recv()).await.unwrap() {
        text.extend_from_slice(&bytes);
    }
    task.await.unwrap().unwrap();
    assert_eq!(text.len(), 3 * (CHUNK + 1));
    assert!(!String::from_utf8(text).unwrap().contains("late"));
}

#[tokio::test]
async fn a_log_is_followed_through_rotation_to_the_containers_end() {
    let log = Log::new();
    followed(&log, Changes::of(log.folder.path())).await;
}

/// As where other programs have all that the kernel gives a user.
#[tokio::test]
async fn a_log_is_followed_where_the_kernel_tells_of_no_changes() {
    followed(&Log::new(), Changes::LookedFor).await;
}

async fn followed(log: &Log, changes: Changes) {
    log.write("1");
    let (sender, mut receiver) = mpsc::channel(64);
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let path = log.path();
    let task = tokio::spawn(async move {
        let options = Options {
            follow: true,
            ..Options::default()
        };
        let ended = async {
            let _ = ended.await;
        };
        read_with(&path, &options, Some(changes), ended, sender).await
    });
    until(&mut receiver, "1\n").await;
    log.write("2");
    until(&mut receiver, "2\n").await;
    log.write("3");
    log.rotate("20260101-000001");
    log.write("4");
    log.rotate("20260101-000002");
    log.write("5");
    until(&mut receiver, "3\n4\n5\n").await;
    log.write("6");
    end.send(()).unwrap();
    until(&mut receiver, "6\n").await;
    timeout(PATIENCE, task).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn following_stops_when_nobody_listens() {
    let log = Log::new();
    log.write("1");
    let (sender, receiver) = mpsc::channel(64);
    drop(receiver);
    let options = Options {
        follow: true,
        ..Options::default()
    };
    timeout(PATIENCE, read(&log.path(), &options, pending(), sender))
        .await
        .unwrap()
        .unwrap();
}
