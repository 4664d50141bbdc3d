//! `trainyard serve` beside TensorFlow's own predictions behind gRPC, and `trainyard bench-serving` beside the
//! official client in Python: one model of TensorFlow, one table, in one run.

use std::{
    fs,
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::{
    Arguments, environment,
    measures::{SERVING, Samples},
    report::Report,
    work::Work,
};
use crate::{
    processes::Background,
    servers::{Side, free_ports, subfolder},
};

const PROGRAM: &str = include_str!("serving/wide_deep.py");
/// The last with estimators, which the model is.
const PACKAGES: [&str; 2] = ["tensorflow==2.15.1", "tensorflow-serving-api==2.15.1"];
const MODEL: &str = "wide-deep-large-ds-fp32-training";
/// TensorFlow takes its time.
const PATIENCE: Duration = Duration::from_mins(2);
/// Rows of the table: as many as the hungriest work takes.
const ROWS: usize = 256 * 120;
/// Argmax may see two scores that are nearly the same in another order.
const TOLERANCE: f64 = 0.001;

/// What one kind of work is: rows of a request, requests, those to warm up, and how many at a time.
struct Load {
    batch: usize,
    requests: usize,
    warm_up: usize,
    at_a_time: usize,
}

const SINGLE: Load = Load {
    batch: 1,
    requests: 500,
    warm_up: 50,
    at_a_time: 1,
};
const CROWD: Load = Load {
    batch: 1,
    requests: 2000,
    warm_up: 200,
    at_a_time: 16,
};
const BATCHES: Load = Load {
    batch: 256,
    requests: 120,
    warm_up: 20,
    at_a_time: 4,
};
/// What the Python client can do, too.
const CLIENT: Load = Load {
    batch: 256,
    requests: 60,
    warm_up: 10,
    at_a_time: 1,
};

pub(super) fn run(arguments: &Arguments) -> Result<Report> {
    let binaries = arguments.binaries(&[])?;
    let work = Work::new(arguments.keep)?;
    let bench = Bench {
        program: binaries.join("trainyard"),
        python: match environment::of_tests("serving", &PACKAGES) {
            Some(python) => python,
            // The model is TensorFlow's, so ours cannot be measured without it either.
            None => environment::environment("bench-serving-python", &PACKAGES)?,
        },
        script: work.path.join("wide_deep.py"),
        folder: work.path.clone(),
    };
    fs::write(&bench.script, PROGRAM)?;
    eprintln!("TensorFlow trains a model");
    bench.python(&["train", &bench.path(""), &ROWS.to_string()])?;
    let mut samples = Samples::default();
    for round in 0..arguments.rounds() {
        eprintln!("round {} of {}", round + 1, arguments.rounds());
        let mut sides = [Side::Ours, Side::Real];
        if !round.is_multiple_of(2) {
            sides.reverse();
        }
        let mut correct = Vec::new();
        for side in sides {
            if arguments.only.is_none_or(|only| only == side) {
                correct.push(bench.measure(side, round, &mut samples)?);
            }
        }
        agree(&correct)?;
    }
    let note = "`real` is TensorFlow 2.15 in one process of Python behind gRPC, and the client of tensorflow-serving-api; both clients ask our server";
    Ok(Report::new(SERVING, samples, arguments.rounds()).with_note(note))
}

/// Whatever is not the same work is no comparison.
fn agree(correct: &[f64]) -> Result<()> {
    if let [first, second] = correct {
        ensure!(
            (first - second).abs() <= TOLERANCE * first.max(1.0),
            "one answers {first} rows right and the other {second}"
        );
    }
    Ok(())
}

struct Bench {
    program: PathBuf,
    python: PathBuf,
    script: PathBuf,
    folder: PathBuf,
}

impl Bench {
    /// One round of one side; how many of the rows in batches were answered right.
    fn measure(&self, side: Side, round: u32, samples: &mut Samples) -> Result<f64> {
        let name = match side {
            Side::Ours => "ours",
            Side::Real => "real",
        };
        eprintln!("{name}");
        let [port] = free_ports()?;
        let server = format!("127.0.0.1:{port}");
        let logs = subfolder(&self.folder, &format!("round-{round}-{name}"))?;
        let begun = Instant::now();
        let mut process = self.serve(side, port, &logs)?;
        self.answers(&mut process, &server)?;
        samples.add("start", name, begun.elapsed().as_secs_f64() * 1000.0);
        let single = self.ask(&server, &SINGLE)?;
        samples.add("single_p50", name, figure(&single, "/latencyMs/p50")?);
        samples.add("single_p99", name, figure(&single, "/latencyMs/p99")?);
        let crowd = self.ask(&server, &CROWD)?;
        samples.add("crowd", name, figure(&crowd, "/requestsPerSecond")?);
        samples.add("crowd_p99", name, figure(&crowd, "/latencyMs/p99")?);
        let batches = self.ask(&server, &BATCHES)?;
        samples.add("batches", name, figure(&batches, "/examplesPerSecond")?);
        samples.add("batches_p99", name, figure(&batches, "/latencyMs/p99")?);
        samples.add("memory", name, memory(process.pid())?);
        if matches!(side, Side::Ours) {
            self.clients(&server, samples)?;
        }
        process.stop()?;
        figure(&batches, "/correct")
    }

    fn serve(&self, side: Side, port: u16, logs: &Path) -> Result<Background> {
        let port = port.to_string();
        let mut command = match side {
            Side::Ours => {
                let mut command = Command::new(&self.program);
                command.args(["serve", &self.path(MODEL), "--port", &port]);
                command
            }
            Side::Real => {
                let mut command = self.command();
                command.args(["serve", &self.path(""), &port]);
                command
            }
        };
        Background::start("server", &mut command, logs)
    }

    /// Asks until one request is answered.
    fn answers(&self, process: &mut Background, server: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let first = Load {
            batch: 1,
            requests: 1,
            warm_up: 0,
            at_a_time: 1,
        };
        loop {
            process.check_alive()?;
            if TcpStream::connect(server).is_ok() && self.ask(server, &first).is_ok() {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("the server on {server} does not answer");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// By our client.
    fn ask(&self, server: &str, load: &Load) -> Result<Value> {
        let mut command = Command::new(&self.program);
        command
            .args([
                "bench-serving",
                "-o",
                "json",
                "-s",
                server,
                "-d",
                &self.path("eval.csv"),
            ])
            .args(["-b", &load.batch.to_string(), "-n", &load.requests.to_string()])
            .args(["-w", &load.warm_up.to_string(), "-c", &load.at_a_time.to_string()])
            .args(["--timeout", "60", "--no-shuffle"]);
        told(&mut command)
    }

    /// Ours and Python's on the same server.
    fn clients(&self, server: &str, samples: &mut Samples) -> Result<()> {
        for load in [&CLIENT, &SINGLE] {
            let theirs = self.python(&[
                "ask",
                server,
                &self.path("eval.csv"),
                &load.batch.to_string(),
                &load.requests.to_string(),
                &load.warm_up.to_string(),
            ])?;
            for (name, answer) in [("ours", self.ask(server, load)?), ("real", theirs)] {
                if load.batch == 1 {
                    samples.add("client_p50", name, figure(&answer, "/latencyMs/p50")?);
                } else {
                    samples.add("client_rows", name, figure(&answer, "/examplesPerSecond")?);
                }
            }
        }
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.python);
        command
            .arg(&self.script)
            .env("TF_CPP_MIN_LOG_LEVEL", "2")
            .env("CUDA_VISIBLE_DEVICES", "");
        command
    }

    fn python(&self, words: &[&str]) -> Result<Value> {
        told(self.command().args(words))
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

/// The JSON that a program prints, or nothing.
fn told(command: &mut Command) -> Result<Value> {
    let output = command.output().context("cannot start a program")?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout).unwrap_or_default())
}

fn figure(report: &Value, path: &str) -> Result<f64> {
    let found = report.pointer(path).and_then(Value::as_f64);
    found.with_context(|| format!("no `{path}` in {report}"))
}

/// Resident memory of a process in megabytes.
fn memory(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: f64 = line
        .and_then(|line| line.split_whitespace().next())
        .context("no VmRSS")?
        .parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_that_answer_differently_are_no_comparison() {
        assert!(agree(&[1000.0]).is_ok());
        assert!(agree(&[10_000.0, 10_004.0]).is_ok());
        assert!(agree(&[10_000.0, 9_000.0]).is_err());
    }
}
