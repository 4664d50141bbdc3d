//! `trainyard apply`: objects as they are to be, by server-side apply.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use serde_json::Value;

use super::{
    Label, MANAGER, Patience, Placed,
    discovery::Discovery,
    order, prune,
    sources::{Object, Sources},
    wait,
};
use crate::{
    Surroundings, advised,
    jobs::{
        api::ApiError,
        carry_out,
        place::{self, Cluster, Place},
    },
};

/// A definition is served a moment after it was made.
const DEFINITIONS: Duration = Duration::from_secs(30);

/// Make the objects of a package or of files what they say
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard apply -k overlays/team-a --wait
  trainyard apply -f jobs/ -R
  trainyard pkg build . | trainyard apply -f -
  trainyard apply -k . --package trainer --prune     also delete what is no longer in it

Namespaces, definitions, quotas, roles, settings and Services come first, whatever their order.

Exit codes: 0 all are applied, and with --wait ready; 1 some are refused or do not become ready, and the
others are applied; 2 it could not be done"))]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Arguments {
    #[command(flatten)]
    sources: Sources,

    /// Only say what would be done; the cluster checks it
    #[arg(long)]
    dry_run: bool,

    /// Take over fields that somebody else has set
    #[arg(long)]
    force_conflicts: bool,

    #[command(flatten)]
    label: Label,

    /// Delete what was applied under the name of the package and is no longer in it
    #[arg(long, requires = "package")]
    prune: bool,

    /// Wait until workloads are ready and jobs run
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
        let mut work = Work {
            arguments,
            cluster,
            objects: &objects,
            discovery: Discovery::default(),
            done: Vec::new(),
            refused: 0,
        };
        work.apply_all().await?;
        work.finish().await
    })
}

struct Work<'a> {
    arguments: &'a Arguments,
    cluster: Cluster,
    objects: &'a [Object],
    discovery: Discovery,
    done: Vec<Placed>,
    refused: usize,
}

impl Work<'_> {
    async fn apply_all(&mut self) -> Result<()> {
        let mut are_definitions_new = false;
        for object in self.objects {
            let is_definition = object.value["kind"] == "CustomResourceDefinition";
            if are_definitions_new && !is_definition {
                wait::until_ready(&self.cluster, &self.definitions(), DEFINITIONS).await?;
                self.discovery.forget();
                are_definitions_new = false;
            }
            are_definitions_new |= is_definition && !self.arguments.dry_run;
            self.apply(object).await?;
        }
        Ok(())
    }

    fn definitions(&self) -> Vec<Placed> {
        let is_definition = |placed: &&Placed| placed.object["kind"] == "CustomResourceDefinition";
        self.done.iter().filter(is_definition).cloned().collect()
    }

    /// Applies one; that it is refused is told, and the others have their turn.
    async fn apply(&mut self, object: &Object) -> Result<()> {
        let Some(mut placed) = super::place(&self.cluster, &mut self.discovery, object).await? else {
            self.without_kind(object);
            return Ok(());
        };
        self.arguments.label.put_on(&mut placed.object);
        let before = self.cluster.api.find(&placed.path).await?;
        let dry_run = if self.arguments.dry_run { "&dryRun=All" } else { "" };
        let path = format!(
            "{}?fieldManager={MANAGER}&force={}{dry_run}",
            placed.path, self.arguments.force_conflicts
        );
        match self.cluster.api.apply(&path, &placed.object).await {
            Ok(after) => {
                self.tell(&placed.shown, verdict(before.as_ref(), &after));
                self.done.push(Placed {
                    object: after,
                    ..placed
                });
            }
            Err(error) if self.is_for_want_of_a_namespace(&error, &placed.object) => {
                self.tell(
                    &placed.shown,
                    "created, not checked before its namespace is there",
                );
            }
            Err(error @ ApiError::Refused { .. }) => self.refuse(object, &error),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn without_kind(&mut self, object: &Object) {
        if self.arguments.dry_run && super::has_definition(self.objects, object) {
            self.tell(
                &object.named(),
                "created, not checked before its definition is there",
            );
            return;
        }
        eprintln!("error: {}: {}", object.source, super::unknown_kind(object));
        eprintln!("  the definition of the kind must be applied first");
        self.refused += 1;
    }

    /// Whether only a dry run fails, because the namespace comes with the object.
    fn is_for_want_of_a_namespace(&self, error: &ApiError, object: &Value) -> bool {
        self.arguments.dry_run && error.is_absent() && super::has_namespace(self.objects, object)
    }

    fn refuse(&mut self, object: &Object, error: &ApiError) {
        eprintln!("error: {}: {}: {error}", object.source, object.named());
        if error.is_conflict() {
            eprintln!("  `--force-conflicts` takes these fields over");
        }
        self.refused += 1;
    }

    fn tell(&self, shown: &str, verdict: &str) {
        let dry_run = if self.arguments.dry_run { " (dry run)" } else { "" };
        println!("{shown} {verdict}{dry_run}");
    }

    async fn finish(&self) -> Result<ExitCode> {
        if self.refused > 0 {
            // What was refused may be what something that would be pruned still serves.
            return Ok(ExitCode::from(1));
        }
        if let Some(package) = self
            .arguments
            .label
            .package
            .as_deref()
            .filter(|_| self.arguments.prune)
        {
            for pruned in prune::prune(&self.cluster, package, &self.done, self.arguments.dry_run).await? {
                self.tell(&pruned, "pruned");
            }
        }
        if self.arguments.wait && !self.arguments.dry_run {
            let patience = Duration::from_secs(self.arguments.patience.timeout);
            let waited = wait::until_ready(&self.cluster, &self.done, patience).await;
            if let Err(error) = waited {
                let hint = self.cluster.command("why NAME");
                crate::report(&advised(
                    error.to_string(),
                    format!("the objects are applied; `{hint}` says what keeps a job or a workload"),
                ));
                return Ok(ExitCode::from(1));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn verdict(before: Option<&Value>, after: &Value) -> &'static str {
    match before {
        None => "created",
        Some(before) if before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"] => {
            "unchanged"
        }
        Some(_) => "configured",
    }
}
