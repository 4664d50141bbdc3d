//! `trainyard status`: whether the embedded cluster runs, and how.

use std::{process::ExitCode, time::Duration};

use anyhow::{Result, anyhow};
use jiff::SignedDuration;
use serde_json::json;
use tokio::time::timeout;

use crate::{
    Answer, Output, Surroundings, advised,
    ailments::{self, Ailment},
    data_dir::{ClusterDir, DataDir},
    instance::{self, Found, Instance},
    jobs::{place, wait_for},
};

/// How long the cluster may take to say how its nodes are.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a cluster may take until its node is there.
const STARTING: SignedDuration = SignedDuration::from_secs(4);

/// Show whether the embedded cluster runs, and how
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard status
  trainyard status -o json | jq -r .kubeconfig

The first line says what is wrong with a cluster that runs: its disk, its node, or a part that dies again and
again; with -o json, the field `problems`.

Exit codes: 0 it runs, 1 it does not, 2 that could not be found out")]
pub(crate) struct Arguments {
    #[command(flatten)]
    data_dir: DataDir,

    #[command(flatten)]
    answer: Answer,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let dir = arguments.data_dir.resolve(surroundings)?;
    let instance = match Instance::find(&dir.path)? {
        Found::Running(instance) => Some(instance),
        Found::Nothing => None,
        Found::Silent(pid) => return Err(silent(pid, &dir)),
    };
    let memory = instance
        .as_ref()
        .and_then(|instance| instance::memory(instance.pid));
    let ailments = instance.as_ref().map(|instance| ailments(instance, &dir));
    let ailments = ailments.unwrap_or_default();
    match (&instance, arguments.answer.output) {
        (Some(instance), Output::Text) => {
            println!(
                "{}

  pid         {}
  address     {}
  kubeconfig  {}
  service     {}
  tier        {}
  memory      {}
  since       {}
  data        {}",
                headline(&ailments),
                instance.pid,
                instance.address,
                instance.kubeconfig.display(),
                instance.service.as_deref().unwrap_or("none"),
                tier(instance),
                memory.map_or_else(|| "unknown".to_owned(), shown),
                instance.since,
                dir.path.display(),
            );
            for ailment in &ailments {
                eprintln!("\nhint: {}", ailment.hint);
            }
        }
        (Some(instance), Output::Json) => {
            let mut value = json!(instance);
            value["running"] = true.into();
            value["memoryBytes"] = memory.into();
            value["dataDir"] = json!(dir.path);
            value["problems"] = ailments.iter().map(Ailment::as_json).collect();
            // That was so when it started.
            if let Some(fields) = value.as_object_mut() {
                fields.remove("late");
            }
            println!("{value:#}");
        }
        (None, Output::Text) => {
            println!("Trainyard is not running in {}", dir.path.display());
            eprintln!("\nhint: `{}` starts it", dir.command("up"));
        }
        (None, Output::Json) => println!("{:#}", json!({ "running": false, "dataDir": dir.path })),
    }
    Ok(if instance.is_some() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

/// What is wrong with a cluster that runs. One that does not answer in time is wrong itself.
fn ailments(instance: &Instance, dir: &ClusterDir) -> Vec<Ailment> {
    let mut found: Vec<Ailment> = ailments::of_disk(&dir.path).into_iter().collect();
    let asked = wait_for(async {
        let nodes = place::nodes(&instance.kubeconfig);
        Ok(timeout(PATIENCE, nodes)
            .await
            .unwrap_or_else(|_| Err(anyhow!("it does not answer within {} s", PATIENCE.as_secs()))))
    });
    match asked.flatten() {
        Ok(nodes) if nodes.is_empty() && instance.tier.is_none() => {
            found.push(ailments::without_pods(&dir.command("down"), &dir.command("up")));
        }
        // Its node comes a moment after the API.
        Ok(nodes) if nodes.is_empty() && instance.age() < STARTING => {}
        Ok(nodes) => found.extend(ailments::of_nodes(&nodes, Some(&dir.path))),
        Err(error) => found.push(ailments::unanswered(&format!("{error:#}"), &dir.path)),
    }
    found
}

/// The first line: everything that is wrong, or that nothing is.
fn headline(ailments: &[Ailment]) -> String {
    let told: Vec<&str> = ailments.iter().map(|ailment| ailment.what.as_str()).collect();
    if told.is_empty() {
        "Trainyard is running".to_owned()
    } else {
        format!("Trainyard is running, but {}", told.join("; and "))
    }
}

fn silent(pid: u32, dir: &ClusterDir) -> anyhow::Error {
    advised(
        format!("process {pid} runs the cluster, but has not said where it is reached"),
        format!(
            "it may be just starting, then ask again; if not, `{}` and `{}` put it right",
            dir.command("down --keep-pods"),
            dir.command("up"),
        ),
    )
}

/// How pods are kept apart, and what stands in the way of more.
fn tier(instance: &Instance) -> String {
    match (&instance.tier, instance.tier_reasons.as_slice()) {
        (None, _) => "none: no pods run here".to_owned(),
        (Some(tier), []) => tier.clone(),
        (Some(tier), reasons) => format!("{tier} ({})", reasons.join("; ")),
    }
}

fn shown(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
