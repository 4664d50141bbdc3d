//! `trainyard apply`: objects as they are to be, by server-side apply.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{
    Label, MANAGER, Patience, Placed,
    discovery::Discovery,
    order,
    prune::{self, Scope},
    sources::{Object, Sources},
    telling::Telling,
    wait,
};
use crate::{
    Answer, Surroundings, advised,
    jobs::{
        api::ApiError,
        carry_out,
        place::{self, Cluster, Place},
    },
};

/// A definition is served a moment after it was made, and its kind is told of another moment later.
const DEFINITIONS: Duration = Duration::from_secs(30);
/// Between two questions for a kind: nobody says when it is there.
const GLANCE: Duration = Duration::from_millis(100);

/// Make the objects of a package or of files what they say
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard apply -k overlays/team-a --wait
  trainyard apply -f jobs/ -R
  trainyard pkg build . | trainyard apply -f -
  trainyard apply -k . --package trainer --prune     also delete what is no longer in it

Namespaces, definitions, quotas, roles, settings and Services come first, whatever their order.
An object belongs to one package; one that is applied without a name stays in the package it is in.

Exit codes: 0 all are applied, and with --wait ready; 1 some are refused or do not become ready, and the
others are applied; 2 it could not be done"))]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Arguments {
    #[command(flatten)]
    sources: Sources,

    /// Only say what would be done; the cluster checks it
    #[arg(long)]
    dry_run: bool,

    /// Take over fields that somebody else has set, and objects of other packages
    #[arg(long)]
    force_conflicts: bool,

    #[command(flatten)]
    label: Label,

    /// Delete what was applied under the name of the package and is no longer in it
    #[arg(long, requires = "package")]
    prune: bool,

    /// Also prune in namespaces that the package has no object in now
    #[arg(long, requires = "prune")]
    all_namespaces: bool,

    /// Wait until workloads are ready and jobs run, and what is pruned is gone
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
            objects: &objects,
            discovery: Discovery::default(),
            telling: Telling::new(arguments.answer, arguments.dry_run),
            done: Vec::new(),
            is_refused: false,
        };
        let result = work.carry_out().await;
        work.telling.end();
        result
    })
}

struct Work<'a> {
    arguments: &'a Arguments,
    cluster: Cluster,
    objects: &'a [Object],
    discovery: Discovery,
    telling: Telling,
    done: Vec<Placed>,
    is_refused: bool,
}

impl Work<'_> {
    async fn carry_out(&mut self) -> Result<ExitCode> {
        self.apply_all().await?;
        if self.is_refused {
            // What was refused may be what something that would be pruned still serves.
            return Ok(ExitCode::from(1));
        }
        let pruned = self.prune().await?;
        let mut is_done = !self.is_refused;
        if self.arguments.wait && !self.arguments.dry_run {
            is_done &= self.wait(&pruned).await;
        }
        Ok(ExitCode::from(u8::from(!is_done)))
    }

    async fn apply_all(&mut self) -> Result<()> {
        let mut are_definitions_new = false;
        for object in self.objects {
            let is_definition = object.value["kind"] == "CustomResourceDefinition";
            if are_definitions_new && !is_definition {
                self.wait_for_definitions().await?;
                are_definitions_new = false;
            }
            are_definitions_new |= is_definition && !self.arguments.dry_run;
            match self.apply(object).await {
                Err(error @ ApiError::Refused { .. }) => {
                    let hint = "`--force-conflicts` takes these fields over";
                    self.refuse(object, &error.to_string(), error.is_conflict().then_some(hint));
                }
                other => other?,
            }
        }
        Ok(())
    }

    async fn wait_for_definitions(&mut self) -> Result<()> {
        let is_definition = |placed: &&Placed| placed.object["kind"] == "CustomResourceDefinition";
        let definitions: Vec<_> = self.done.iter().filter(is_definition).cloned().collect();
        wait::until_ready(&self.cluster, &definitions, DEFINITIONS).await?;
        self.discovery.forget();
        Ok(())
    }

    /// Applies one; that it is refused is told, and the others have their turn.
    async fn apply(&mut self, object: &Object) -> Result<(), ApiError> {
        let Some(placed) = self.place(object).await? else {
            self.without_kind(object);
            return Ok(());
        };
        let mut tries = super::tries(&placed.object);
        loop {
            match self.try_to_apply(object, placed.clone(), tries > 0).await {
                // Somebody was faster, or has fields that are wanted here: then it is so again.
                Err(error) if error.is_conflict() && tries > 0 => tries -= 1,
                other => return other,
            }
        }
    }

    /// Applies one as it is now, or only if nobody changes it meanwhile: then what is told of it is of this change alone.
    async fn try_to_apply(
        &mut self,
        object: &Object,
        mut placed: Placed,
        is_pinned: bool,
    ) -> Result<(), ApiError> {
        let before = self.cluster.api.find(&placed.path).await?;
        if let Some((why, hint)) = before.as_ref().and_then(|before| self.objection(before)) {
            self.refuse(object, &why, Some(hint));
            return Ok(());
        }
        self.arguments.label.put_on(&mut placed.object, before.as_ref());
        if let Some(before) = before.as_ref().filter(|_| is_pinned) {
            super::pin(&mut placed.object, before);
        }
        let dry_run = if self.arguments.dry_run { "&dryRun=All" } else { "" };
        let path = format!(
            "{}?fieldManager={MANAGER}&force={}{dry_run}",
            placed.path, self.arguments.force_conflicts
        );
        match self.cluster.api.apply(&path, &placed.object).await {
            Ok(after) => {
                let result = verdict(before.as_ref(), &after);
                let placed = Placed {
                    object: after,
                    ..placed
                };
                self.telling.tell(&placed, result);
                self.done.push(placed);
                Ok(())
            }
            Err(error) if self.is_for_want_of_a_namespace(&error, &placed.object) => {
                let result = "created, not checked before its namespace is there";
                self.telling.tell(&placed, result);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Where an object is. Of a definition that has just been applied, the cluster may still have to tell.
    async fn place(&mut self, object: &Object) -> Result<Option<Placed>, ApiError> {
        let deadline = Instant::now() + DEFINITIONS;
        loop {
            let placed = super::place(&self.cluster, &mut self.discovery, object).await?;
            let is_to_come = !self.arguments.dry_run && super::has_definition(self.objects, object);
            if placed.is_some() || !is_to_come || Instant::now() > deadline {
                return Ok(placed);
            }
            sleep(GLANCE).await;
            self.discovery.forget();
        }
    }

    /// Why an object that is there is not to be changed, and what to do about it.
    fn objection(&self, before: &Value) -> Option<(String, &'static str)> {
        if before["metadata"]["deletionTimestamp"].is_string() {
            return Some((
                "it is being deleted, and what is applied to it would go with it".to_owned(),
                "apply again when it is gone; `trainyard delete --wait` waits for that",
            ));
        }
        let rival = self.arguments.label.rival(before);
        let rival = rival.filter(|_| !self.arguments.force_conflicts)?;
        Some((
            format!("it belongs to package `{rival}`"),
            "`--force-conflicts` takes it over",
        ))
    }

    fn without_kind(&mut self, object: &Object) {
        if self.arguments.dry_run && super::has_definition(self.objects, object) {
            let result = "created, not checked before its definition is there";
            self.telling.tell_of(&object.named(), &object.value, result);
            return;
        }
        let hint = "the definition of the kind must be applied first";
        self.refuse(object, &super::unknown_kind(object), Some(hint));
    }

    /// Whether only a dry run fails, because the namespace comes with the object.
    fn is_for_want_of_a_namespace(&self, error: &ApiError, object: &Value) -> bool {
        self.arguments.dry_run && error.is_absent() && super::has_namespace(self.objects, object)
    }

    fn refuse(&mut self, object: &Object, why: &str, hint: Option<&str>) {
        self.telling.refuse(&object.source, &object.value, why, hint);
        self.is_refused = true;
    }

    /// Deletes what is no longer in the package, and says what it was.
    async fn prune(&mut self) -> Result<Vec<Placed>> {
        let Some(package) = self
            .arguments
            .label
            .package
            .as_deref()
            .filter(|_| self.arguments.prune)
        else {
            return Ok(Vec::new());
        };
        let scope = Scope::around(&self.done, self.arguments.all_namespaces);
        let decision = prune::plan(&self.cluster, package, &self.done, &scope).await?;
        let dry_run = self.arguments.dry_run;
        self.is_refused |= prune::carry_out(&self.cluster, &decision, dry_run, &mut self.telling).await?;
        Ok(decision.goes)
    }

    /// Whether everything became as it should be.
    async fn wait(&self, pruned: &[Placed]) -> bool {
        let patience = Duration::from_secs(self.arguments.patience.timeout);
        let hint = self.cluster.command("why NAME");
        let hint = format!("the objects are applied; `{hint}` says what keeps a job or a workload");
        let ready = wait::until_ready(&self.cluster, &self.done, patience).await;
        let ready = ready.map_err(|error| advised(error.to_string(), hint));
        let waited = match ready {
            Ok(()) if !self.is_refused => wait::until_gone(&self.cluster, pruned, patience).await,
            other => other,
        };
        if let Err(error) = &waited {
            crate::report(error);
        }
        waited.is_ok()
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
