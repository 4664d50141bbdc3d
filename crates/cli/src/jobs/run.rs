//! `trainyard run`: a program of the user's as a training job, from the command line.

mod compose;
mod ending;
mod name;
mod workspace;

use std::{ops::ControlFlow, process::ExitCode, time::Duration};

use anyhow::{Context as _, Result, anyhow};
use clap::ValueEnum;
use kinds::quantity::Quantity;
use manifests::yaml;
use resources::Kind;
use serde_json::{Value, json};
use tokio::{signal::ctrl_c, time::Instant};

use super::{
    embedded, find,
    follow::{Ending, Heard, Voices, follow},
    job::Job,
    output::Part,
    place::{Cluster, Place, Whose},
    replicas::Replica,
    terminal::{self, Printer, Waiting},
};
use crate::{
    Surroundings, advised,
    instance::{Found, Instance},
};
pub(crate) use compose::{Framework, Mount, Wish, Workspace, compose};
pub(crate) use name::short_random;

/// Exit code where it is this command that failed and not the program: as `env` and `docker run` do.
const NOT_RUN: u8 = 125;
const DETACHED: u8 = 130;
const STOPPED: u8 = 143;

/// The image that is this machine's own file system.
pub(crate) const HOST: &str = "host";

/// Run a program as a training job, on one node or several
///
/// On the embedded cluster, which is started if it does not run, the program has this machine's own file
/// system with the working directory at its place, for reading and writing, and it runs as the caller.
/// PATH, the virtual environment and the like are kept. On other clusters it needs an `--image`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard run -- python train.py --epochs 3
  trainyard run --nodes 2 --all -- sh -c 'echo rank $RANK of $WORLD_SIZE'
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
2 wrong usage, 125 it could not be run, 130 detached by Ctrl-C, 143 stopped meanwhile")]
pub(crate) struct Arguments {
    /// How many nodes run the program
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    nodes: u32,

    /// GPUs for each node
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=1024))]
    gpus: u32,

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

    /// Print the job instead of running it; nothing is started
    #[arg(long)]
    dry_run: bool,

    /// The form of the job (`--dry-run`); `json` otherwise prints how it ended, and its output goes to
    /// standard error
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
    let wish = wish(arguments, surroundings, &whose)?;
    let job = checked(&wish)?;
    if arguments.dry_run {
        match arguments.output {
            Some(Format::Json) => println!("{job:#}"),
            _ => print!("{}", yaml::to_string(&job)),
        }
        return Ok(0);
    }
    if let Whose::Embedded(dir) = &whose {
        embedded::ensure(dir)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let code = runtime.block_on(async {
        let cluster = arguments.place.connect(surroundings).await?;
        let job = submit(&cluster, wish.framework.kind(), job).await?;
        attend(arguments, surroundings, &cluster, job).await
    });
    runtime.shutdown_background();
    code
}

/// What is asked for, with what the surroundings add to it.
fn wish(arguments: &Arguments, surroundings: &Surroundings, whose: &Whose) -> Result<Wish> {
    let (program, words) = (&arguments.command[0], &arguments.command);
    if program.is_empty() {
        return Err(anyhow!("the command is empty"));
    }
    let workspace = match whose {
        Whose::Embedded(dir) => {
            let tier = match Instance::find(&dir.path)? {
                Found::Running(instance) => instance.tier,
                Found::Nothing | Found::Silent(_) => None,
            };
            let image = arguments.image.as_deref().unwrap_or(HOST);
            Some(workspace::of(
                surroundings,
                program,
                &arguments.mount,
                image == HOST,
                tier.as_deref(),
            )?)
        }
        Whose::Other(_) => None,
    };
    if workspace.is_none() && !arguments.mount.is_empty() {
        return Err(advised(
            "another cluster does not have the folders of this machine",
            "leave `--mount` out; the image has to bring what the program needs",
        ));
    }
    let image = match (&arguments.image, whose) {
        (Some(image), _) => image.clone(),
        (None, Whose::Embedded(_)) => HOST.to_owned(),
        (None, Whose::Other(_)) => {
            return Err(advised(
                "a program needs an image on a cluster that is not this machine's own",
                "name one with `--image IMAGE`, or the embedded cluster with `--data-dir DIR`: KUBECONFIG or `--kubeconfig` name another",
            ));
        }
    };
    Ok(Wish {
        name: match &arguments.name {
            Some(name) => name.clone(),
            None => name::after(words),
        },
        namespace: None,
        framework: arguments.framework.unwrap_or_else(|| Framework::of(program)),
        nodes: arguments.nodes,
        gpus: arguments.gpus,
        cpus: arguments.cpus.clone(),
        memory: arguments.memory.clone(),
        image,
        environment: environment(&arguments.env, surroundings)?,
        command: words.clone(),
        retries: arguments.retries,
        is_attended: !arguments.detach,
        workspace,
    })
}

fn environment(wishes: &[String], surroundings: &Surroundings) -> Result<Vec<(String, String)>> {
    let variable = |wish: &String| {
        let (name, value) = match wish.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (wish.as_str(), surroundings.environment.get(wish).cloned()),
        };
        let value = value.ok_or_else(|| {
            advised(
                format!("there is no variable `{name}` here"),
                format!("give it a value with `--env {name}=VALUE`"),
            )
        })?;
        let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control());
        is_name
            .then(|| (name.to_owned(), value))
            .ok_or_else(|| anyhow!("`{wish}` is not of the form NAME=VALUE"))
    };
    wishes.iter().map(variable).collect()
}

/// The job, if it is one that can be run: by the rules of the cluster, before there is one.
fn checked(wish: &Wish) -> Result<Value> {
    let problems = manifests::names::dns1035_label(&wish.name);
    if let Some(problem) = problems.first() {
        return Err(advised(
            format!("`{}` cannot be the name of a job: {problem}", wish.name),
            "choose another with `--name NAME`",
        ));
    }
    let job = compose(wish);
    match &training::check(&job)[..] {
        [] => Ok(job),
        errors => {
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Err(anyhow!("the job cannot be run: {}", texts.join("; ")))
        }
    }
}

/// How long a cluster that has just started may take until it knows the kinds of jobs.
const KINDS_PATIENCE: Duration = Duration::from_secs(30);

/// Makes the job. Its name must be free among all kinds, as it is what people call it by.
pub(crate) async fn submit(cluster: &Cluster, kind: &'static Kind, job: Value) -> Result<Job> {
    let name = job["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    match find::find(cluster, &name).await {
        Err(error) if error.is::<find::Absent>() => {}
        Err(error) => return Err(error),
        Ok(taken) => {
            return Err(advised(
                format!("there is a {} `{name}` already", taken.kind.kind),
                format!(
                    "choose another name with `--name NAME`, or remove it with `{}`",
                    cluster.command(&format!("rm {name}"))
                ),
            ));
        }
    }
    let version = job["apiVersion"]
        .as_str()
        .and_then(|text| text.rsplit('/').next());
    let version = version.unwrap_or(kind.versions[0]);
    let path = find::path(kind, version, Some(&cluster.namespace), None);
    let deadline = Instant::now() + KINDS_PATIENCE;
    loop {
        match cluster.api.create(&path, &job).await {
            Ok(object) => return Ok(Job { kind, object }),
            Err(error) if error.is_absent() && cluster.embedded.is_none() => {
                return Err(advised(
                    format!(
                        "the cluster does not know {}s, or the namespace: {error}",
                        kind.kind
                    ),
                    "the training operator has to be there: `trainyard operator`",
                ));
            }
            Err(error) if error.is_absent() && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => return Err(error).context("the job was refused"),
        }
    }
}

/// Stays with the job until it ends or the user goes.
async fn attend(
    arguments: &Arguments,
    surroundings: &Surroundings,
    cluster: &Cluster,
    job: Job,
) -> Result<u8> {
    let name = job.name().to_owned();
    if arguments.detach {
        match arguments.output {
            Some(_) => println!("{:#}", told(&job, None)),
            None => println!("{}", job.reference()),
        }
        eprintln!("{}", ways_back(cluster, &name));
        return Ok(0);
    }
    eprintln!(
        "{} ({} node{})",
        job.reference(),
        arguments.nodes,
        if arguments.nodes == 1 { "" } else { "s" }
    );
    let is_json = arguments.output == Some(Format::Json);
    let mut printer = Printer::new(arguments.all, terminal::has_colours(surroundings));
    printer.to_stderr = is_json;
    let voices = if arguments.all {
        Voices::All
    } else {
        Voices::Leading
    };
    let mut waiting = Waiting::new();
    let mut has_printed = false;
    let hear = |heard: Heard<'_>| match heard {
        Heard::Line { replica, line } => {
            waiting.clear();
            has_printed = true;
            printer.print(replica, line)
        }
        Heard::Look { job, .. } => {
            if let Some(what) = job.waits_for().filter(|_| !has_printed) {
                waiting.tell(&what);
            }
            ControlFlow::Continue(())
        }
    };
    let ending = tokio::select! {
        ending = follow(cluster, job.clone(), &voices, Part::default(), hear) => ending?,
        _ = ctrl_c() => {
            ending::leave_to_itself(cluster, &job).await?;
            eprintln!("\ndetached; {name} goes on\n{}", ways_back(cluster, &name));
            return Ok(DETACHED);
        }
    };
    match ending {
        Ending::Finished { job, replicas } => {
            let end = ending::of(&job, &replicas);
            if replicas.iter().any(Replica::is_active) {
                ending::leave_to_itself(cluster, &job).await?;
            }
            waiting.clear();
            if let Some(words) = ending::late(&job, &replicas) {
                eprintln!("note: {words}");
            }
            if let Some(words) = &end.words {
                eprintln!(
                    "error: {words}\n\nhint: `{}` tells more",
                    cluster.command(&format!("why {name}"))
                );
            }
            if is_json {
                println!("{:#}", told(&job, Some(end.code)));
            }
            Ok(end.code)
        }
        Ending::Suspended => {
            eprintln!(
                "{name} was stopped; `{}` lets it go on",
                cluster.command(&format!("resume {name}"))
            );
            Ok(STOPPED)
        }
        Ending::Removed => Err(anyhow!("`{name}` was removed meanwhile")),
        Ending::Unheard => {
            ending::leave_to_itself(cluster, &job).await?;
            Ok(DETACHED)
        }
    }
}

fn told(job: &Job, code: Option<u8>) -> Value {
    json!({
        "name": job.name(),
        "namespace": job.namespace(),
        "kind": job.kind.kind,
        "apiVersion": job.object["apiVersion"],
        "state": job.state().name(),
        "message": job.message(),
        "exitCode": code,
    })
}

fn ways_back(cluster: &Cluster, name: &str) -> String {
    let line = |words: &str, what: &str| {
        let command = cluster.command(&format!("{words} {name}"));
        format!("  {command}   {what}")
    };
    [
        line("logs -f", "follow its output"),
        line("why", "what it does, and what it waits for"),
        line("stop", "end its programs"),
    ]
    .join("\n")
}

fn amount(text: &str) -> Result<String, String> {
    match Quantity::parse(text) {
        Ok(amount) if !amount.is_negative() && !amount.is_zero() => Ok(text.to_owned()),
        _ => Err("an amount above zero is meant, such as 4, 500m or 8Gi".to_owned()),
    }
}
