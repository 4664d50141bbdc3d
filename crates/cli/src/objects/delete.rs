//! `trainyard delete`: the objects of a package or of files are taken away.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Patience, Placed,
    discovery::Discovery,
    order,
    prune::{self, Scope},
    sources::{Object, Sources},
    telling::Telling,
    wait,
};
use crate::{
    Answer, Surroundings,
    jobs::{
        api::ApiError,
        carry_out,
        place::{self, Cluster, Place},
    },
};

/// So often an object may be made anew while it is deleted.
const ATTEMPTS: usize = 5;

/// Delete the objects of a package or of files
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard delete -k overlays/team-a --wait
  trainyard delete -f jobs/digits.yaml
  trainyard delete -k . --package trainer     also what was in it once and has another name now

What others need goes last. What is not there is no failure.

Exit codes: 0 they are deleted, and with --wait gone; 1 the cluster refuses it for some, or they do not go;
2 it could not be done"))]
pub(crate) struct Arguments {
    #[command(flatten)]
    sources: Sources,

    /// Only say what would be done; the cluster checks it
    #[arg(long)]
    dry_run: bool,

    /// Also everything else that was applied under this name of a package
    #[arg(long, value_name = "NAME", value_parser = super::label_value)]
    package: Option<String>,

    /// With --package, also in namespaces that the objects are not in
    #[arg(long, requires = "package")]
    all_namespaces: bool,

    /// Wait until all of them are gone
    #[arg(long)]
    wait: bool,

    #[command(flatten)]
    patience: Patience,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let mut objects = arguments.sources.read(surroundings)?;
    super::check_namespace(&arguments.place, &objects)?;
    order::sort(&mut objects);
    carry_out(&arguments.place, surroundings, async |cluster| {
        let mut work = Work {
            arguments,
            cluster,
            discovery: Discovery::default(),
            telling: Telling::new(arguments.answer, arguments.dry_run),
            meant: Vec::new(),
            deleted: Vec::new(),
            is_refused: false,
        };
        let result = work.carry_out(&objects).await;
        work.telling.end();
        result
    })
}

struct Work<'a> {
    arguments: &'a Arguments,
    cluster: Cluster,
    discovery: Discovery,
    telling: Telling,
    /// Whether or not they are there.
    meant: Vec<Placed>,
    deleted: Vec<Placed>,
    is_refused: bool,
}

impl Work<'_> {
    async fn carry_out(&mut self, objects: &[Object]) -> Result<ExitCode> {
        for object in objects.iter().rev() {
            match self.delete(object).await {
                Err(error @ ApiError::Refused { .. }) => {
                    let why = error.to_string();
                    self.telling.refuse(&object.source, &object.value, &why, None);
                    self.is_refused = true;
                }
                other => other?,
            }
        }
        self.delete_rest().await?;
        let is_gone = !self.arguments.wait || self.arguments.dry_run || self.wait().await;
        Ok(ExitCode::from(u8::from(self.is_refused || !is_gone)))
    }

    async fn delete(&mut self, object: &Object) -> Result<(), ApiError> {
        let Some(placed) = super::place(&self.cluster, &mut self.discovery, object).await? else {
            self.telling.tell_absent(&object.named(), &object.value);
            return Ok(());
        };
        self.meant.push(placed.clone());
        match remove(&self.cluster, &placed, self.arguments.dry_run).await? {
            Some(live) => {
                self.telling.tell(&placed, "deleted");
                self.deleted.push(Placed {
                    object: live,
                    ..placed
                });
            }
            None => self.telling.tell_absent(&placed.shown, &placed.object),
        }
        Ok(())
    }

    /// What else was applied under the name of the package: settings whose names change with what is in them.
    async fn delete_rest(&mut self) -> Result<()> {
        let Some(package) = &self.arguments.package else {
            return Ok(());
        };
        let scope = Scope::after(&self.meant, self.arguments.all_namespaces);
        let rest = prune::plan(&self.cluster, package, &self.deleted, &scope).await?;
        let dry_run = self.arguments.dry_run;
        self.is_refused |= prune::carry_out(&self.cluster, &rest, dry_run, &mut self.telling).await?;
        self.deleted.extend(rest.goes);
        Ok(())
    }

    /// Whether all of them went.
    async fn wait(&self) -> bool {
        let patience = Duration::from_secs(self.arguments.patience.timeout);
        let waited = wait::until_gone(&self.cluster, &self.deleted, patience).await;
        if let Err(error) = &waited {
            crate::report(error);
        }
        waited.is_ok()
    }
}

/// Deletes an object and says which one it was; none where there is none.
pub(super) async fn remove(
    cluster: &Cluster,
    placed: &Placed,
    dry_run: bool,
) -> Result<Option<Value>, ApiError> {
    let mut attempt = 1;
    loop {
        let Some(live) = cluster.api.find(&placed.path).await? else {
            return Ok(None);
        };
        let options = options(&live, dry_run);
        match cluster.api.delete(&placed.path, &options).await {
            Ok(_) => return Ok(Some(live)),
            // Somebody was faster.
            Err(error) if error.is_absent() => return Ok(None),
            // A namespace says that of itself while it goes.
            Err(error) if error.is_conflict() && is_going(&live) => return Ok(Some(live)),
            // Somebody has changed it, or made another of that name.
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

fn options(live: &Value, dry_run: bool) -> Value {
    let mut options = json!({
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Background",
        "preconditions": {"uid": live["metadata"]["uid"]},
    });
    if dry_run {
        options["dryRun"] = json!(["All"]);
    }
    options
}

fn is_going(live: &Value) -> bool {
    live["metadata"]["deletionTimestamp"].is_string()
}
