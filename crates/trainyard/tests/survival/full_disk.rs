//! A disk of a few megabytes that fills up under the whole server, in a mount namespace of its own.

use std::{
    fs,
    io::ErrorKind,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    client::{Answer, Client, Connection, Events, Version},
    server::Place,
};

const PATH: &str = "/api/v1/namespaces/default/configmaps";

/// A small file system over a place's data directory. It exists as long as this process does.
struct SmallDisk {
    holder: Child,
}

impl SmallDisk {
    /// `None` where the machine does not let its users mount anything.
    fn mount(place: &Place, megabytes: u32) -> Option<Self> {
        fs::create_dir(place.data_dir()).unwrap();
        let script = format!(
            "mount -t tmpfs -o size={megabytes}m,mode=700 small \"$0\" && echo mounted && exec sleep infinity"
        );
        let started = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
            .arg(place.data_dir())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn();
        let mut holder = match started {
            Ok(holder) => holder,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
                assert!(!is_ci, "the merge gate needs `unshare`, of util-linux");
                println!("skipped: there is no `unshare`, of util-linux");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let mut said = [0; 7];
        let output = holder.stdout.as_mut().unwrap();
        let is_mounted = std::io::Read::read_exact(output, &mut said).is_ok();
        let disk = Self { holder };
        if !is_mounted {
            println!("skipped: this machine does not let its users mount a file system");
            return None;
        }
        Some(disk)
    }

    fn root(&self) -> PathBuf {
        format!("/proc/{}/root", self.holder.id()).into()
    }

    /// The command that starts a server on this disk.
    fn command(&self, place: &Place) -> Command {
        self.enter(&place.command())
    }

    /// The command, run where this disk is.
    fn enter(&self, inner: &Command) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--user", "--mount", "--preserve-credentials", "--target"])
            .arg(self.holder.id().to_string())
            .arg(inner.get_program())
            .args(inner.get_args());
        command
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn config_map(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "data": { "filling": "x".repeat(60_000) } })
}

/// Writes until there is no space. Returns what was answered, and the refusal.
async fn fill(connection: &Connection) -> (Vec<String>, Answer) {
    let mut written = Vec::new();
    loop {
        let name = format!("filling-{:04}", written.len());
        let answer = connection.post(PATH, &config_map(&name)).await.unwrap();
        if answer.code != StatusCode::CREATED {
            return (written, answer);
        }
        written.push(name);
    }
}

/// Tries until the server has noticed that it can write again.
async fn write_again(connection: &Connection, name: &str) {
    while connection.post(PATH, &config_map(name)).await.unwrap().code != StatusCode::CREATED {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn names(connection: &Connection) -> Vec<String> {
    let list = connection.get(PATH).await.unwrap().ok();
    let names = list["items"].as_array().unwrap().iter();
    let names = names.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned());
    names.filter(|name| name.starts_with("filling")).collect()
}

#[tokio::test]
async fn a_full_disk_stops_writes_and_nothing_else_until_there_is_space_again() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place, 16) else {
        return;
    };
    let place = place.below(disk.root());
    fs::write(place.file("ballast"), vec![1; 4 << 20]).unwrap();
    let server = place.try_start(&mut disk.command(&place)).unwrap();
    let connection = server.client.connect(Version::Http2).await.unwrap();

    let (mut written, refusal) = fill(&connection).await;
    let status = refusal.json();
    assert_eq!(
        (refusal.code.as_u16(), &status["kind"], &status["reason"]),
        (507, &json!("Status"), &json!("InsufficientStorage")),
        "{status}"
    );
    let path = format!("{PATH}?watch=true&fieldSelector=metadata.name%3Dfilling-after");
    let mut events = Events::of(connection.open(Method::GET, &path, "", "").await.unwrap());
    for _ in 0..3 {
        assert_eq!(names(&connection).await, written);
        let late = connection.post(PATH, &config_map("filling-late")).await.unwrap();
        assert_eq!(late.code, StatusCode::INSUFFICIENT_STORAGE);
    }

    fs::remove_file(place.file("ballast")).unwrap();
    write_again(&connection, "filling-after").await;
    written.insert(0, "filling-after".to_owned());
    written.sort();
    let event = events.next().await.unwrap();
    assert_eq!(event["object"]["metadata"]["name"], "filling-after");
    server.kill();

    let server = place.try_start(&mut disk.command(&place)).unwrap();
    let connection = server.client.connect(Version::Http2).await.unwrap();
    assert_eq!(names(&connection).await, written);
}

/// A server in the background. Stopped when it goes out of scope.
struct Background<'a> {
    disk: &'a SmallDisk,
    place: &'a Place,
}

impl<'a> Background<'a> {
    fn start(disk: &'a SmallDisk, place: &'a Place) -> Self {
        // Every request is worth a line, so that it is soon the log that finds no space.
        let mut command = disk.command(place);
        let output = command.arg("--detach").env("TRAINYARD_LOG", "debug").output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        Self { disk, place }
    }
}

impl Drop for Background<'_> {
    fn drop(&mut self) {
        let mut down = Command::new(env!("CARGO_BIN_EXE_trainyard"));
        down.args(["down", "--data-dir"]).arg(self.place.data_dir());
        let _ = self.disk.enter(&down).output();
    }
}

#[tokio::test]
async fn a_server_whose_log_is_on_the_full_disk_writes_again_when_there_is_space() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place, 16) else {
        return;
    };
    let place = place.below(disk.root());
    fs::write(place.file("ballast"), vec![1; 4 << 20]).unwrap();
    let _server = Background::start(&disk, &place);
    let client = Client::from_kubeconfig(&place.file("kubeconfig"));
    let connection = client.connect(Version::Http2).await.unwrap();

    let (mut written, refusal) = fill(&connection).await;
    assert_eq!(refusal.code, StatusCode::INSUFFICIENT_STORAGE);
    for _ in 0..20 {
        assert_eq!(names(&connection).await, written);
    }
    fs::remove_file(place.file("ballast")).unwrap();
    write_again(&connection, "filling-after").await;
    written.insert(0, "filling-after".to_owned());
    written.sort();
    assert_eq!(names(&connection).await, written);
    let log = fs::read_to_string(place.file("server.log")).unwrap();
    assert!(log.contains("lines of this log are missing here"), "{log}");
}

#[tokio::test]
async fn a_start_without_space_says_so_and_the_next_one_with_space_works() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place, 16) else {
        return;
    };
    let place = place.below(disk.root());
    let ballast = place.file("ballast");
    // What is there at first decides how far the first start gets.
    for free in [0, 4 << 10, 64 << 10, 512 << 10, 1 << 20, 2 << 20] {
        for entry in fs::read_dir(place.file("")).unwrap() {
            let path = entry.unwrap().path();
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
        fs::write(&ballast, vec![1; (16 << 20) - free]).unwrap();
        if let Err(refusal) = place.try_start(&mut disk.command(&place)) {
            assert_eq!(refusal.status.code(), Some(2), "{refusal:?}");
            assert!(refusal.error.contains("No space left on device"), "{refusal:?}");
        }
        fs::remove_file(&ballast).unwrap();
        let server = place.try_start(&mut disk.command(&place)).unwrap();
        let connection = server.client.connect(Version::Http1).await.unwrap();
        connection
            .post(PATH, &config_map("filling-0"))
            .await
            .unwrap()
            .ok();
    }
}
