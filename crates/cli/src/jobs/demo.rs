//! `trainyard demo`: a distributed training on this machine, from nothing to what was learnt.

mod progress;

use std::{ops::ControlFlow, path::Path, process::ExitCode};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    embedded::{self, Running},
    follow::{Beginning, Ending, Heard, Voices, follow},
    job::{Job, State},
    place::{Cluster, Place},
    removal,
    run::{Framework, HOST, Mount, Wish, Workspace, compose, short_random, submit},
    wait_for, why,
};
use crate::{
    Answer, Output, Surroundings, advised,
    data_dir::{ClusterDir, DataDir},
    instance::Instance,
};
use progress::{Learnt, Shown};

const WORKERS: u32 = 4;
const STEPS: u32 = 300;
const INTERRUPTED: u8 = 130;

/// Train a small model with several workers on this machine, and tidy up
///
/// Starts the embedded cluster, or uses the one that runs; submits a PyTorchJob whose replicas learn to
/// read digits together; shows how they do; removes the job, and stops the cluster if it was started for
/// this. Only the cluster's data stays. No Python, GPU, root or network is needed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard demo
  trainyard demo --workers 8 -o json

Exit codes: 0 trained, 1 the accuracy was not reached, 2 it could not be done, 130 Ctrl-C")]
pub(crate) struct Arguments {
    /// How many replicas learn together [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    workers: Option<u32>,

    /// How much of the exam must be right, as a part of 1
    #[arg(long, value_name = "PART", default_value = "0.9", value_parser = crate::trainer::part)]
    target_accuracy: f64,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    data_dir: DataDir,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let dir = arguments.data_dir.resolve(surroundings)?;
    let running = embedded::ensure(&dir)?;
    let is_new = running.is_new;
    let result = train(arguments, surroundings, &dir, running);
    let stopped = if is_new {
        embedded::wait_until_cleared(&dir);
        embedded::stop(&dir)
    } else {
        Ok(())
    };
    let (outcome, next) = (result?, next(surroundings, is_new));
    stopped?;
    match outcome {
        Outcome::Trained { learnt, workers } => {
            tell(arguments, &learnt, workers, &next);
            Ok(ExitCode::SUCCESS)
        }
        Outcome::NotReached(words) => {
            eprintln!("error: {words}");
            Ok(ExitCode::from(1))
        }
        Outcome::Interrupted => {
            eprintln!("interrupted; nothing is left behind but the cluster's data");
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

/// How it went.
enum Outcome {
    Trained { learnt: Learnt, workers: u32 },
    NotReached(String),
    Interrupted,
}

fn train(
    arguments: &Arguments,
    surroundings: &Surroundings,
    dir: &ClusterDir,
    running: Running,
) -> Result<Outcome> {
    let workers = workers(arguments.workers, &running.instance)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let job = compose(&wish(arguments, workers, &program)?);
    wait_for(async {
        let place = Place::embedded(DataDir::of(dir.path.clone()));
        let cluster = place.connect_to(running.instance, surroundings).await?;
        let job = submit(&cluster, Framework::Pytorch.kind(), job).await?;
        let outcome = watch(arguments, workers, &cluster, &job).await;
        removal::ask_to_remove(&cluster, &job).await?;
        removal::wait_until_gone(&cluster, &job).await?;
        outcome
    })
}

/// Plain processes have no names and addresses of their own by which several would find each other.
fn workers(asked: Option<u32>, instance: &Instance) -> Result<u32> {
    if instance.tier.as_deref() != Some("process") {
        return Ok(asked.unwrap_or(WORKERS));
    }
    let why = format!(
        "workers that talk to each other need namespaces, which this machine does not allow ({})",
        instance.tier_reasons.join("; ")
    );
    match asked {
        Some(1) => Ok(1),
        Some(_) => Err(advised(why, "`trainyard demo --workers 1` trains with one")),
        None => {
            eprintln!("note: {why}; one trains alone");
            Ok(1)
        }
    }
}

fn wish(arguments: &Arguments, workers: u32, program: &Path) -> Result<Wish> {
    let program = program
        .to_str()
        .context("the path of this program is not text")?
        .to_owned();
    let words = [
        program.clone(),
        "trainer".to_owned(),
        "--steps".to_owned(),
        STEPS.to_string(),
        "--target-accuracy".to_owned(),
        arguments.target_accuracy.to_string(),
    ];
    Ok(Wish {
        name: format!("demo-{}", short_random()),
        namespace: None,
        framework: Framework::Pytorch,
        nodes: workers,
        gpus: 0,
        cpus: None,
        memory: None,
        image: HOST.to_owned(),
        environment: Vec::new(),
        command: words.to_vec(),
        retries: 0,
        is_attended: true,
        workspace: Some(Workspace {
            // Wherever it lies, pods find it at the same place.
            mounts: vec![Mount {
                path: program,
                is_file: true,
                read_only: false,
                is_optional: false,
            }],
            ..Workspace::default()
        }),
    })
}

/// Shows how the job does until it ends.
async fn watch(arguments: &Arguments, workers: u32, cluster: &Cluster, job: &Job) -> Result<Outcome> {
    let mut shown = Shown::new(workers, arguments.answer.output == Output::Text);
    let hear = |heard: Heard<'_>| {
        match heard {
            Heard::Look { job, replicas } => shown.look(job, replicas),
            Heard::Line { line, .. } => shown.line(&String::from_utf8_lossy(&line.text)),
            Heard::Lost { why } => shown.lost(why),
        }
        ControlFlow::Continue(())
    };
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for the stop signal")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let ending = tokio::select! {
        ending = follow(cluster, job.clone(), &Voices::Leading, Beginning::First, hear) => Some(ending?),
        _ = interrupt.recv() => None,
        _ = terminate.recv() => None,
    };
    shown.clear();
    match ending {
        None => Ok(Outcome::Interrupted),
        Some(Ending::Finished { job, .. }) => match shown.learnt() {
            Some(learnt) if job.state() == State::Succeeded => Ok(Outcome::Trained { learnt, workers }),
            Some(learnt) if learnt.accuracy < arguments.target_accuracy => Ok(Outcome::NotReached(format!(
                "the workers read {:.1} % of the pictures right, and {:.1} % were wanted",
                learnt.accuracy * 100.0,
                arguments.target_accuracy * 100.0
            ))),
            _ => {
                let explanation = why::explanation(cluster, &job.reference()).await?;
                bail!("the training failed\n{}", why::as_text(&explanation));
            }
        },
        Some(_) => bail!("somebody else has stopped or removed `{}`", job.name()),
    }
}

fn tell(arguments: &Arguments, learnt: &Learnt, workers: u32, next: &[(String, &str)]) {
    if arguments.answer.output == Output::Json {
        let told: Value = json!({
            "accuracy": learnt.accuracy,
            "pictures": learnt.pictures,
            "trainingSeconds": learnt.seconds,
            "workers": workers,
            "steps": STEPS,
        });
        println!("{told:#}");
        return;
    }
    let who = if workers == 1 {
        "One worker learnt".to_owned()
    } else {
        format!("{workers} workers learnt together")
    };
    println!(
        "\n{who} to read digits: {:.1} % of {} pictures they had never seen are read right.\n",
        learnt.accuracy * 100.0,
        learnt.pictures
    );
    println!("What to try next:");
    let width = next
        .iter()
        .map(|(command, _)| command.len())
        .max()
        .unwrap_or_default();
    for (command, what) in next {
        println!("  {command:width$}   {what}");
    }
}

fn next(surroundings: &Surroundings, was_stopped: bool) -> Vec<(String, &'static str)> {
    let program = surroundings.program();
    let mut next = vec![
        (
            format!("{program} run -- python train.py"),
            "your own program, in this folder",
        ),
        (
            format!("{program} run --nodes 2 --all -- {program} trainer"),
            "a program that several nodes run together",
        ),
        (
            format!("{program} render -f examples/training/pytorch.yaml"),
            "what a job is made of",
        ),
    ];
    if was_stopped {
        next.push((
            format!("{program} up"),
            "the cluster itself, for kubectl and any other client",
        ));
    }
    next
}
