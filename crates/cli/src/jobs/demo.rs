//! `trainyard demo`: a distributed training on this machine, from nothing to what was learnt.

mod progress;
mod tidying;

use std::{ops::ControlFlow, path::Path, process::ExitCode, time::Duration};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::{task::spawn_blocking, time::timeout};

use super::{
    departure::Departure,
    embedded,
    follow::{Beginning, Ending, Heard, Voices, follow},
    job::{Job, State},
    place::{Cluster, Place},
    removal,
    run::{Framework, HOST, Mount, Wish, Workspace, compose, short_random, submit},
    wait_for, why,
};
use crate::{
    Answer, Output, Surroundings, advised, ailments,
    data_dir::{ClusterDir, DataDir},
    instance::Instance,
};
use progress::{Learnt, Shown};

const WORKERS: u32 = 4;
const STEPS: u32 = 300;
/// The time in which the job of the demo must be gone; its programs get 30 s to end.
const TIDYING: Duration = Duration::from_secs(45);

/// Train a small model with several workers on this machine, and tidy up
///
/// Starts the embedded cluster, or uses the one that runs; submits a PyTorchJob whose replicas learn to
/// read digits together; shows how they do; removes the job, and stops the cluster if it was started for
/// this and nobody else has begun to use it. Only the cluster's data stays, also after Ctrl-C. No Python, GPU,
/// root or network is needed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard demo
  trainyard demo --workers 8 -o json

Exit codes: 0 trained, 1 the accuracy was not reached, 2 it could not be done, 130 Ctrl-C,
129 or 143 the signals HUP or TERM")]
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
    let Ended {
        outcome,
        is_new,
        others,
    } = wait_for(start_and_train(arguments, surroundings, &dir))?;
    let is_stopped = is_new && others.is_empty();
    let stopped = if is_stopped {
        embedded::wait_until_cleared(&dir);
        embedded::stop(&dir)
    } else {
        Ok(())
    };
    if is_new && !is_stopped {
        eprintln!(
            "the cluster goes on, as there is more on it: {}; `{}` stops it",
            why::listed(&others),
            dir.command("down")
        );
    }
    let outcome = outcome?;
    stopped?;
    match outcome {
        Outcome::Trained { learnt, workers } => {
            tell(arguments, &learnt, workers, &next(surroundings, is_stopped));
            Ok(ExitCode::SUCCESS)
        }
        Outcome::NotReached(words) => {
            eprintln!("error: {words}");
            Ok(ExitCode::from(1))
        }
        Outcome::Interrupted(code) => {
            eprintln!("interrupted; nothing of the demo is left behind but the cluster's data");
            Ok(ExitCode::from(code))
        }
    }
}

/// How it went.
enum Outcome {
    Trained { learnt: Learnt, workers: u32 },
    NotReached(String),
    Interrupted(u8),
}

/// What is to be told, and what is still to be tidied up.
struct Ended {
    outcome: Result<Outcome>,
    /// Whether the cluster was started for this.
    is_new: bool,
    /// What others do on it, where it was.
    others: Vec<String>,
}

async fn start_and_train(
    arguments: &Arguments,
    surroundings: &Surroundings,
    dir: &ClusterDir,
) -> Result<Ended> {
    let mut departure = Departure::listen()?;
    let place = dir.clone();
    let start = spawn_blocking(move || embedded::ensure(&place));
    let started = departure.outlasted_by(start).await;
    let running = started.context("the cluster could not be started")??;
    let is_new = running.is_new;
    let name = format!("demo-{}", short_random());
    let place = Place::embedded(DataDir::of(dir.path.clone()));
    let cluster = match place.connect_to(running.instance.clone(), surroundings).await {
        Ok(cluster) => cluster,
        Err(error) => {
            return Ok(Ended {
                outcome: Err(error),
                is_new,
                others: Vec::new(),
            });
        }
    };
    let outcome = train(arguments, &running.instance, &cluster, &name, &mut departure).await;
    let others = if is_new {
        // One that does not answer is of no use to others.
        let others = departure.outlasted_by(tidying::others(&cluster, &name)).await;
        others.unwrap_or_default()
    } else {
        Vec::new()
    };
    Ok(Ended {
        outcome: outcome.map(|outcome| departure.left_by().map_or(outcome, Outcome::Interrupted)),
        is_new,
        others,
    })
}

async fn train(
    arguments: &Arguments,
    instance: &Instance,
    cluster: &Cluster,
    name: &str,
    departure: &mut Departure,
) -> Result<Outcome> {
    if let Some(code) = departure.left_by() {
        return Ok(Outcome::Interrupted(code));
    }
    if instance.tier.is_none() {
        let ailment = ailments::without_pods(&cluster.command("down"), &cluster.command("up"));
        return Err(advised(ailment.what, ailment.hint));
    }
    let workers = workers(arguments.workers, instance)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let job = compose(&wish(arguments, name, workers, &program)?);
    let job = departure
        .outlasted_by(submit(cluster, Framework::Pytorch.kind(), job))
        .await?;
    let outcome = watch(arguments, workers, cluster, &job, departure).await;
    let removal = async {
        removal::ask_to_remove(cluster, &job).await?;
        removal::wait_until_gone(cluster, &job).await
    };
    // A cluster that could not start the job may be as unable to remove it.
    let removal = timeout(TIDYING, removal);
    let removed = departure.outlasted_by(removal).await;
    let outcome = outcome?;
    match removed {
        Ok(removed) => removed?,
        Err(_) => bail!(
            "the job `{name}` could not be removed within {} s",
            TIDYING.as_secs()
        ),
    }
    Ok(outcome)
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

fn wish(arguments: &Arguments, name: &str, workers: u32, program: &Path) -> Result<Wish> {
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
        name: name.to_owned(),
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
async fn watch(
    arguments: &Arguments,
    workers: u32,
    cluster: &Cluster,
    job: &Job,
    departure: &mut Departure,
) -> Result<Outcome> {
    let mut shown = Shown::new(workers, arguments.answer.output == Output::Text);
    let mut obstacles = Vec::new();
    let hear = |heard: Heard<'_>| {
        match heard {
            Heard::Look { job, replicas } => shown.look(job, replicas),
            Heard::Line { line, .. } => shown.line(&String::from_utf8_lossy(&line.text)),
            Heard::Obstacles { causes } => {
                if shown.obstacles(causes) {
                    obstacles = causes.to_vec();
                    return ControlFlow::Break(());
                }
            }
            Heard::Lost { why } => shown.lost(why),
        }
        ControlFlow::Continue(())
    };
    let ending = tokio::select! {
        biased;
        code = departure.wait() => Err(code),
        ending = follow(cluster, job.clone(), &Voices::Leading, Beginning::First, hear) => Ok(ending?),
    };
    shown.clear();
    match ending {
        Err(code) => Ok(Outcome::Interrupted(code)),
        Ok(Ending::Finished { job, .. }) => match shown.learnt() {
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
        Ok(Ending::Unheard) => {
            let told: Vec<String> = obstacles.iter().map(why::sentence).collect();
            let message = format!("the workers cannot start: {}", told.join("; "));
            let hint = obstacles.into_iter().find_map(|cause| cause.advice);
            Err(advised(
                message,
                hint.unwrap_or_else(|| cluster.command("status")),
            ))
        }
        Ok(_) => bail!("somebody else has stopped or removed `{}`", job.name()),
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
