//! A model from its training to its clients, with the program itself: trained, exported, served, measured; with
//! replicas that die, versions that are damaged, and servers that are slow or gone.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

mod encrypted;
mod external;
mod faults;
mod measuring;
mod mistakes;
mod onnx;
mod package;
mod tensorflow;

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use client_tests::{Output, binary, run};
use serde_json::Value;
use tempfile::TempDir;

/// What a training leaves: a model and the exam.
struct Trained {
    folder: TempDir,
    /// The part of the exam it got right, as the trainer says.
    accuracy: f64,
}

/// One training for all tests; each copies what it changes.
fn trained() -> &'static Trained {
    static TRAINED: OnceLock<Trained> = OnceLock::new();
    TRAINED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(binary());
        command
            .args([
                "trainer",
                "--steps",
                "120",
                "--report-every",
                "60",
                "--exam-file",
                "exam.csv",
            ])
            .args(["--export-dir", "digits"])
            .current_dir(folder.path());
        let told = run(&mut command, "").success();
        let accuracy = told
            .split("examined accuracy=")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        Trained {
            accuracy: accuracy.parse().unwrap(),
            folder,
        }
    })
}

impl Trained {
    fn exam(&self) -> PathBuf {
        self.folder.path().join("exam.csv")
    }

    /// The model, for a test to do with as it likes.
    fn copy(&self) -> Model {
        let folder = tempfile::tempdir().unwrap();
        copy(&self.folder.path().join("digits"), &folder.path().join("digits"));
        Model { folder }
    }
}

/// A copy of the model of the digits, and room for whatever a test writes.
struct Model {
    folder: TempDir,
}

impl Model {
    /// The folder with its versions.
    fn path(&self) -> PathBuf {
        self.beside("digits")
    }

    /// A path for something else.
    fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn serve(&self, further: &[&str]) -> Served {
        Served::start(&self.path(), further)
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// `trainyard serve`, killed with the test.
struct Served {
    child: Child,
    /// What it said when it was ready.
    block: Value,
}

impl Served {
    fn start(model: &Path, further: &[&str]) -> Self {
        Self::spawn(model, &[&["--poll-interval", "0.05"], further].concat())
    }

    fn spawn(model: &Path, further: &[&str]) -> Self {
        let mut child = Command::new(binary())
            .arg("serve")
            .arg(model)
            .args(["--port", "0", "--port", "0", "-o", "json"])
            .args(further)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut text = String::new();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap());
        while !text.ends_with("\n}\n") {
            assert!(lines.read_line(&mut text).unwrap() > 0, "it ended: {text}");
        }
        let block = serde_json::from_str(&text).unwrap();
        Self { child, block }
    }

    fn address(&self) -> String {
        self.block["addresses"][0].as_str().unwrap().to_owned()
    }

    fn get(&self, path: &str) -> String {
        http(
            &self.address(),
            &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
        )
    }

    /// Asks it to stop, and says how it ended.
    fn stop(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
        self.child.wait().unwrap().code()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn http(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// `trainyard bench-serving` on the exam of the digits.
fn bench(server: &str, further: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args([
            "bench-serving",
            "-s",
            server,
            "--model",
            "digits",
            "--signature",
            "serving_default",
            "-d",
        ])
        .arg(trained().exam())
        .args(further);
    command
}

fn measured(server: &str, further: &[&str]) -> Output {
    run(&mut bench(server, further), "")
}

/// It could not be done, and these words say why.
#[track_caller]
fn refused(output: &Output, words: &[&str]) {
    assert_eq!(output.code, 2, "{output:?}");
    for words in words {
        assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
    }
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
