//! `trainyard delete`: the objects of a package or of files are taken away.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use serde_json::{Value, json};

use super::{Patience, Placed, discovery::Discovery, order, sources::Sources, wait};
use crate::{
    Surroundings,
    jobs::{
        api::ApiError,
        carry_out,
        place::{self, Cluster, Place},
    },
};

/// Delete the objects of a package or of files
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard delete -k overlays/team-a --wait
  trainyard delete -f jobs/digits.yaml

What others need goes last. What is not there is no failure.

Exit codes: 0 they are deleted; 1 the cluster refuses it for some; 2 it could not be done"))]
pub(crate) struct Arguments {
    #[command(flatten)]
    sources: Sources,

    /// Only say what would be done; the cluster checks it
    #[arg(long)]
    dry_run: bool,

    /// Wait until all of them are gone
    #[arg(long)]
    wait: bool,

    #[command(flatten)]
    patience: Patience,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let mut objects = arguments.sources.read(surroundings)?;
    super::check_namespace(&arguments.place, &objects)?;
    order::sort(&mut objects);
    carry_out(&arguments.place, surroundings, async |cluster| {
        let mut discovery = Discovery::default();
        let (mut deleted, mut refused) = (Vec::new(), false);
        for object in objects.iter().rev() {
            let Some(placed) = super::place(&cluster, &mut discovery, object).await? else {
                println!("{} is not there", object.named());
                continue;
            };
            match remove(&cluster, &placed, arguments.dry_run).await {
                Ok(Some(live)) => {
                    println!(
                        "{} deleted{}",
                        placed.shown,
                        if arguments.dry_run { " (dry run)" } else { "" }
                    );
                    deleted.push(Placed {
                        object: live,
                        ..placed
                    });
                }
                Ok(None) => println!("{} is not there", placed.shown),
                Err(error @ ApiError::Refused { .. }) => {
                    eprintln!("error: {}: {error}", object.source);
                    refused = true;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if arguments.wait && !arguments.dry_run {
            let patience = Duration::from_secs(arguments.patience.timeout);
            wait::until_gone(&cluster, &deleted, patience).await?;
        }
        Ok(ExitCode::from(u8::from(refused)))
    })
}

/// Deletes an object and says which one it was; none where there is none.
pub(super) async fn remove(
    cluster: &Cluster,
    placed: &Placed,
    dry_run: bool,
) -> Result<Option<Value>, ApiError> {
    let Some(live) = cluster.api.find(&placed.path).await? else {
        return Ok(None);
    };
    let mut options = json!({
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Background",
        "preconditions": {"uid": live["metadata"]["uid"]},
    });
    if dry_run {
        options["dryRun"] = json!(["All"]);
    }
    match cluster.api.delete(&placed.path, &options).await {
        // Somebody was faster, and may have made another of that name.
        Err(error) if error.is_absent() || error.is_conflict() => Ok(None),
        other => other.map(|_| Some(live)),
    }
}
