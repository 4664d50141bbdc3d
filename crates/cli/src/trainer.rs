//! `trainyard trainer`: one worker of a small training, what the demo and the examples run in pods.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Result;
use trainer::{Course, Event, Place, TrainError, train};

use crate::advised;

/// Exit code of a worker that lost another: operators read it as "try again".
const LOST_A_PEER: u8 = 138;

/// Pictures of the exam.
const EXAM: u64 = 2000;

/// Train a small model that reads digits, alone or as one of several workers
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard trainer
  trainyard trainer --steps 2000 --checkpoint-dir ./digits --target-accuracy 0.97
  trainyard trainer --export-dir ./models/digits --exam-file exam.csv
  RANK=1 WORLD_SIZE=2 MASTER_ADDR=host-0 MASTER_PORT=29500 trainyard trainer

Reports are lines of name=value on standard output. Nothing is downloaded: the pictures are drawn.

Exit codes: 0 trained, 1 below the target, 2 it could not be done, 138 another worker was lost: try again")]
pub(crate) struct Arguments {
    /// Steps in all, those of earlier attempts included
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,

    /// Pictures a step, all workers together
    #[arg(long, value_name = "N", default_value_t = 96, value_parser = clap::value_parser!(u32).range(1..))]
    batch_size: u32,

    /// Steps from one report to the next
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u64).range(1..))]
    report_every: u64,

    /// Fail where fewer of the pictures of the exam are read right, as a part of 1
    #[arg(long, value_name = "PART", env = "TARGET_ACCURACY", value_parser = part)]
    target_accuracy: Option<f64>,

    /// Save what has been learnt here at each report, and go on from there
    #[arg(long, value_name = "DIR", env = "CHECKPOINT_DIR")]
    checkpoint_dir: Option<PathBuf>,

    /// Export a model that reaches the target here, as the next version of a SavedModel for `trainyard serve`
    #[arg(long, value_name = "DIR", env = "OUTPUT_DIR")]
    export_dir: Option<PathBuf>,

    /// Write the pictures of the exam here, one a line, as `trainyard bench-serving` reads them
    #[arg(long, value_name = "FILE")]
    exam_file: Option<PathBuf>,

    /// Which of the workers this is
    #[arg(long, value_name = "N", env = "RANK", default_value_t = 0)]
    rank: usize,

    /// How many workers there are
    #[arg(long, value_name = "N", env = "WORLD_SIZE", default_value_t = 1)]
    world_size: usize,

    /// Where the worker of rank 0 is found
    #[arg(long, value_name = "HOST", env = "MASTER_ADDR", default_value = "127.0.0.1")]
    master_addr: String,

    /// On which port it listens
    #[arg(long, value_name = "PORT", env = "MASTER_PORT", default_value_t = 29500)]
    master_port: u16,

    /// Seconds that workers wait for each other
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    patience: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.rank >= arguments.world_size {
        return Err(advised(
            format!(
                "there is no rank {} among {} workers",
                arguments.rank, arguments.world_size
            ),
            "ranks (--rank, RANK) are counted from 0 and are below the number of workers (--world-size, WORLD_SIZE)",
        ));
    }
    if let Some(path) = arguments.exam_file.as_deref().filter(|_| arguments.rank == 0) {
        trainer::write_exam(path, EXAM)?;
    }
    let place = Place {
        rank: arguments.rank,
        world: arguments.world_size,
        host: arguments.master_addr.clone(),
        port: arguments.master_port,
    };
    match train(&course(arguments), &place, &mut |event| {
        println!("{}", line(&event));
    }) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            let code = match &error {
                TrainError::BelowTarget { .. } => 1,
                TrainError::Peer(_) => LOST_A_PEER,
                TrainError::Checkpoint(_) | TrainError::Export(_) | TrainError::Disagreement => 2,
            };
            crate::report(&error.into());
            Ok(ExitCode::from(code))
        }
    }
}

fn course(arguments: &Arguments) -> Course {
    Course {
        steps: arguments.steps,
        batch: arguments.batch_size as usize,
        report_every: arguments.report_every,
        exam: EXAM,
        target: arguments.target_accuracy,
        checkpoints: arguments.checkpoint_dir.clone(),
        exports: arguments.export_dir.clone(),
        patience: Duration::from_secs(arguments.patience),
    }
}

pub(crate) fn part(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(part) if (0.0..=1.0).contains(&part) => Ok(part),
        _ => Err("a number from 0 to 1 is meant".to_owned()),
    }
}

/// One report, in the form that collectors of metrics read.
fn line(event: &Event) -> String {
    match event {
        Event::Joined { rank, world } => format!("joined rank={rank} world={world}"),
        Event::Resumed { step } => format!("resumed step={step}"),
        Event::Learnt {
            step,
            steps,
            loss,
            accuracy,
            pictures_per_second,
        } => format!(
            "learnt step={step} steps={steps} loss={loss:.4} accuracy={accuracy:.4} pictures_per_second={pictures_per_second:.0}"
        ),
        Event::Saved { step, path } => format!("saved step={step} path={}", path.display()),
        Event::Examined {
            accuracy,
            pictures,
            seconds,
        } => format!("examined accuracy={accuracy:.4} pictures={pictures} seconds={seconds:.2}"),
        Event::Exported { path } => format!("exported path={}", path.display()),
    }
}
