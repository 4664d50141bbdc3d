//! The first hour of a developer: builds and tests in clones of their own, with nothing cached.

mod clone;
mod units;

use std::{
    fmt::Write as _,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};

use self::clone::Clone;
use super::{Arguments, Output, work::Work};
use crate::run;

pub(crate) use units::{LOG as UNITS, record};

/// The development build that the README's first command is compared with.
const BASE: &str = "6bf98b7b";
/// The most that the first command may take of the time of that build.
const OF_BASE: f64 = 0.55;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Step {
    /// `cargo build` of the commit that the first command is compared with
    Base,
    /// The README's first command
    Run,
    /// The README's test command, in the same clone
    Test,
    /// One changed line in a crate, until its tests run again, in the same clone
    Change,
    /// The merge gate in a new clone
    Gate,
    /// `cargo install` in a new clone
    Install,
}

impl Step {
    fn title(self) -> &'static str {
        match self {
            Self::Base => "`cargo build` of 6bf98b7b",
            Self::Run => "`./trainyard demo`",
            Self::Test => "`cargo xtask test`, next",
            Self::Change => "one changed line, until its tests run",
            Self::Gate => "`.ci/run`",
            Self::Install => "`cargo install --path crates/trainyard`",
        }
    }

    /// Seconds that it may take on two cores.
    fn bar(self) -> Option<u64> {
        match self {
            Self::Base => None,
            Self::Run => Some(6 * 60),
            Self::Test | Self::Install => Some(15 * 60),
            Self::Change => Some(30),
            Self::Gate => Some(35 * 60),
        }
    }
}

/// A step as it was measured.
struct Measured {
    title: String,
    took: Duration,
    /// Processor time of everything that was started and waited for.
    processor: Duration,
    bar: Option<Duration>,
}

impl Measured {
    fn is_missed(&self) -> bool {
        self.bar.is_some_and(|bar| self.took > bar)
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let steps = match arguments.parts.as_slice() {
        [] => Step::value_variants(),
        some => some,
    };
    let work = Work::new(arguments.keep)?;
    let mut lab = Lab {
        folder: work.path.clone(),
        first_hour: None,
        base: None,
    };
    let mut measured = Vec::new();
    for step in steps {
        lab.measure(*step, &mut measured)?;
    }
    let units = units::dearest(&work.path)?;
    match arguments.output {
        Output::Text => print!("{}{}", text(&measured), units::table(&units)),
        Output::Json => println!("{:#}", json(&measured, &units)),
    }
    let missed = measured.iter().filter(|result| result.is_missed());
    let missed: Vec<&str> = missed.map(|result| result.title.as_str()).collect();
    if arguments.check && !missed.is_empty() {
        bail!("missed: {}", missed.join("; "));
    }
    Ok(())
}

/// Where clones are made.
struct Lab {
    folder: PathBuf,
    /// The clone in which the run command, the test command and changes follow each other.
    first_hour: Option<Clone>,
    /// The time of the build that the first command is compared with.
    base: Option<Duration>,
}

impl Lab {
    fn measure(&mut self, step: Step, measured: &mut Vec<Measured>) -> Result<()> {
        let mut bar = step.bar().map(Duration::from_secs);
        let mut command = match step {
            Step::Base => self.clone_of("base", BASE)?.command("cargo", &["build"]),
            Step::Run => {
                let of_base = self.base.map(|base| base.mul_f64(OF_BASE));
                bar = [bar, of_base].into_iter().flatten().min();
                self.first_hour()?.command("./trainyard", &["demo"])
            }
            Step::Test => self
                .first_hour()?
                .command("cargo", &["xtask", "test", "--slowest"]),
            Step::Change => return self.changes(bar, measured),
            Step::Gate => {
                let mut gate = self.clone_of("gate", "HEAD")?.command("bash", &[".ci/run"]);
                gate.env("CI", "true");
                gate
            }
            Step::Install => self
                .clone_of("install", "HEAD")?
                .command("cargo", &["install", "--path", "crates/trainyard"]),
        };
        let result = timed(step.title().to_owned(), bar, &mut command)?;
        if step == Step::Base {
            self.base = Some(result.took);
        }
        measured.push(result);
        Ok(())
    }

    fn clone_of(&self, name: &str, commit: &str) -> Result<Clone> {
        Clone::make(&self.folder, name, commit)
    }

    fn first_hour(&mut self) -> Result<&Clone> {
        if self.first_hour.is_none() {
            self.first_hour = Some(self.clone_of("first-hour", "HEAD")?);
        }
        self.first_hour.as_ref().context("the clone was just made")
    }

    fn changes(&mut self, bar: Option<Duration>, measured: &mut Vec<Measured>) -> Result<()> {
        let clone = self.first_hour()?;
        for name in ["apiserver", "node-agent", "cli"] {
            let mut tests = clone.command("cargo", &["xtask", "test", name, "--", "--list"]);
            // A developer who changes a line has built the crate before.
            run::check(&mut tests)?;
            clone.change(name)?;
            let title = format!("{} (`{name}`)", Step::Change.title());
            measured.push(timed(title, bar, &mut tests)?);
        }
        Ok(())
    }
}

fn timed(title: String, bar: Option<Duration>, command: &mut Command) -> Result<Measured> {
    let before = processor_time()?;
    let begun = Instant::now();
    run::check(command)?;
    let took = begun.elapsed();
    eprintln!("{title}: {}", minutes(took));
    Ok(Measured {
        title,
        took,
        processor: processor_time()?.saturating_sub(before),
        bar,
    })
}

/// Processor time of all programs that were started and waited for.
fn processor_time() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("processor time cannot be read")?;
    let [user, system] = [usage.user_time(), usage.system_time()].map(|time| {
        let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
        Duration::from_micros(micros.unsigned_abs())
    });
    Ok(user + system)
}

fn text(measured: &[Measured]) -> String {
    let mut text = String::from("\n| step | time | processor | bar | |\n|---|---|---|---|---|\n");
    for result in measured {
        let mark = if result.is_missed() { "✗" } else { "" };
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} s | {} | {mark} |",
            result.title,
            minutes(result.took),
            result.processor.as_secs(),
            result.bar.map(minutes).unwrap_or_default(),
        );
    }
    text
}

fn json(measured: &[Measured], units: &[units::Unit]) -> Value {
    let steps: Vec<Value> = measured
        .iter()
        .map(|result| {
            json!({
                "step": result.title,
                "seconds": result.took.as_secs_f64(),
                "processorSeconds": result.processor.as_secs_f64(),
                "bar": result.bar.map(|bar| bar.as_secs_f64()),
                "missed": result.is_missed(),
            })
        })
        .collect();
    let units: Vec<Value> = units
        .iter()
        .map(|unit| json!({ "unit": unit.name, "processorSeconds": unit.processor.as_secs_f64() }))
        .collect();
    json!({ "steps": steps, "units": units })
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
