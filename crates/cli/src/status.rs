//! `trainyard status`: whether the embedded cluster runs, and how.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use crate::{
    Answer, Output, Surroundings, advised,
    data_dir::{ClusterDir, DataDir},
    instance::{self, Found, Instance},
};

/// Show whether the embedded cluster runs, and how
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard status
  trainyard status -o json | jq -r .kubeconfig

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
    match (&instance, arguments.answer.output) {
        (Some(instance), Output::Text) => {
            println!(
                "Trainyard is running

  pid         {}
  address     {}
  kubeconfig  {}
  service     {}
  tier        {}
  memory      {}
  since       {}
  data        {}",
                instance.pid,
                instance.address,
                instance.kubeconfig.display(),
                instance.service.as_deref().unwrap_or("none"),
                tier(instance),
                memory.map_or_else(|| "unknown".to_owned(), shown),
                instance.since,
                dir.path.display(),
            );
        }
        (Some(instance), Output::Json) => {
            let mut value = json!(instance);
            value["running"] = true.into();
            value["memoryBytes"] = memory.into();
            value["dataDir"] = json!(dir.path);
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
