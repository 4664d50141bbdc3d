//! `trainyard run`: a program of the user's as a training job, from the command line.

mod asked;
mod attend;
mod compose;
mod ending;
mod gpus;
mod name;
mod possible;
mod submit;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use kinds::quantity::Quantity;
use manifests::yaml;
use serde_json::Value;

use super::{
    embedded,
    place::{self, Place, Whose},
    wait_for,
};
use crate::Surroundings;
pub(crate) use compose::{Framework, Mount, Wish, Workspace, compose};
use gpus::Gpus;
pub(crate) use name::short_random;
pub(crate) use submit::submit;

/// Exit code where it is this command that failed and not the program: as `env` and `docker run` do.
const NOT_RUN: u8 = 125;

/// The image that is this machine's own file system.
pub(crate) const HOST: &str = "host";

/// Run a program as a training job, on one node or several
///
/// On the embedded cluster, which is started if it does not run, the program has this machine's own file
/// system with the working directory at its place, for reading and writing, and it runs as the caller.
/// PATH, the virtual environment and the like are kept. On other clusters it needs an `--image`.
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained_with_start("Examples:
  trainyard run -- python train.py --epochs 3
  trainyard run --nodes 2 --all -- python train.py        with the output of both
  trainyard run --gpus all -- torchrun --standalone --nproc-per-node gpu train.py
  trainyard run --nodes 2 --gpus 4 -- torchrun train.py
  trainyard run --nodes 4 --framework mpi -- ./ring       by mpirun, over four workers
  trainyard run --name digits --detach -- python train.py
  trainyard run --nodes 2 --dry-run -o yaml -- ./train > job.yaml

Frameworks say how the nodes learn of each other:
  pytorch      MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, PET_* of torchrun (also for anything else)
  tensorflow   TF_CONFIG
  jax          COORDINATOR_ADDRESS, PROCESS_ID, NUM_PROCESSES
  mxnet        DMLC_*, with as many servers as nodes, and a scheduler
  mpi          a launcher that runs the program by mpirun over the nodes

Ctrl-C detaches: the job goes on. `logs -f`, `ps`, `why`, `stop` and `rm` take its name.

Exit codes: the program's own, that of the replica which failed first where there are several;
126 it cannot be executed, 127 it is not found; 2 wrong usage; 125 it could not be run, can never run here, or was removed; 130 detached by Ctrl-C, 129 or 143 by the
signals HUP or TERM; 143 also where the job was stopped"))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Arguments {
    /// How many nodes run the program
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    nodes: u32,

    /// GPUs for each node: a number, or `all` that this machine has [default: none]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = gpus::parse)]
    gpus: Option<Gpus>,

    /// How the nodes learn of each other [default: mpi for mpirun and its like, else pytorch]
    #[arg(long, value_name = "NAME", value_enum)]
    framework: Option<Framework>,

    /// What to call the job [default: after the program]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// CPUs for each node: `4`, `500m`
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    cpus: Option<String>,

    /// Memory for each node: `8Gi`
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    memory: Option<String>,

    /// A variable for the program; without a value, as it is here
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,

    /// A folder of this machine that the program sees at its place; `:ro` for reading only
    #[arg(long, value_name = "DIR[:ro]")]
    mount: Vec<String>,

    /// The image it runs in [default: host, this machine's own file system]
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,

    /// Start replicas that fail again, so many times in all
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    retries: u32,

    /// Print the output of all nodes, each line with the name of its replica before it
    #[arg(long)]
    all: bool,

    /// Return when the job is accepted, and leave it running
    #[arg(short, long)]
    detach: bool,

    /// Submit the job even if no node of the embedded cluster could ever run it, and wait for one that can
    #[arg(long)]
    wait: bool,

    /// Print the job as `--detach` would submit it instead of running it; nothing is started
    #[arg(long)]
    dry_run: bool,

    /// The form of the job (`--dry-run`), of what it is called (`--detach`), or of how it ended; then the
    /// program's output goes to standard error
    #[arg(short, long, value_name = "FORMAT", value_enum)]
    output: Option<Format>,

    #[command(flatten)]
    place: Place,

    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Yaml,
    Json,
}

impl Format {
    fn of(self, value: &Value) -> String {
        match self {
            Self::Yaml => yaml::to_string(value),
            Self::Json => format!("{value:#}\n"),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> ExitCode {
    match try_to_run(arguments, surroundings) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            crate::report(&error);
            ExitCode::from(NOT_RUN)
        }
    }
}

fn try_to_run(arguments: &Arguments, surroundings: &Surroundings) -> Result<u8> {
    let whose = arguments.place.whose(surroundings)?;
    let mut wish = asked::wish(arguments, surroundings, &whose)?;
    // What cannot be is told before anything is started.
    asked::check(&wish)?;
    if arguments.dry_run {
        let job = compose(&wish);
        print!("{}", arguments.output.unwrap_or(Format::Yaml).of(&job));
        return Ok(0);
    }
    if let (Whose::Embedded { dir, .. }, Some(workspace)) = (&whose, &mut wish.workspace) {
        workspace::fit(workspace, embedded::ensure(dir)?.instance.tier.as_deref());
    }
    wait_for(async {
        let cluster = arguments.place.connect(surroundings).await?;
        wish.gpus = gpus::settle(arguments.gpus, &cluster).await?;
        let job = compose(&wish);
        if !arguments.wait {
            possible::check(&cluster, &job).await?;
        }
        let job = submit(&cluster, wish.framework.kind(), job).await?;
        attend::attend(arguments, surroundings, &cluster, job).await
    })
}

fn amount(text: &str) -> Result<String, String> {
    match Quantity::parse(text) {
        Ok(amount) if !amount.is_negative() && !amount.is_zero() => Ok(text.to_owned()),
        _ => Err("an amount above zero is meant, such as 4, 500m or 8Gi".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// The job of a command with these words.
    fn job(words: &[&str]) -> Value {
        let words = [&["run", "--image=x", "--nodes=2"], words, &["--", "train"]].concat();
        let arguments = Command::parse_from(words).arguments;
        let whose = Whose::Other(Vec::new());
        compose(&asked::wish(&arguments, &Surroundings::default(), &whose).unwrap())
    }

    #[test]
    fn a_dry_run_shows_a_job_that_needs_nobody_to_end_what_still_runs() {
        let policy = |words: &[&str]| job(words)["spec"]["runPolicy"]["cleanPodPolicy"].clone();
        assert_eq!(policy(&[]), "None");
        assert_eq!(policy(&["--detach"]), "Running");
        assert_eq!(policy(&["--dry-run"]), "Running");
    }

    #[test]
    fn answers_have_the_form_that_is_asked_for() {
        let answer = json!({"name": "digits", "exitCode": null});
        assert_eq!(Format::Yaml.of(&answer), "exitCode: null\nname: digits\n");
        assert_eq!(
            Format::Json.of(&answer),
            "{\n  \"exitCode\": null,\n  \"name\": \"digits\"\n}\n"
        );
    }
}
