//! `trainyard diff`: what `apply` would change.

mod texts;

use std::{
    fs,
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, anyhow};
use serde_json::Value;
use tempfile::TempDir;

use super::{
    Label, MANAGER, Placed,
    discovery::Discovery,
    order,
    sources::{Object, Sources},
};
use crate::{
    Surroundings, advised,
    jobs::{
        carry_out,
        place::{self, Cluster, Place},
    },
};

/// The variable with another program to compare with, as kubectl has it, and the program without it.
const PROGRAM: &str = "KUBECTL_EXTERNAL_DIFF";
const DIFF: &str = "diff -u -N";

/// Show what `apply` would change
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard diff -k overlays/team-a
  KUBECTL_EXTERNAL_DIFF='diff -u -N --color' trainyard diff -f jobs/ -R

The cluster says what would become of each object; `diff -u -N`, or the program of KUBECTL_EXTERNAL_DIFF, compares
it with what there is. Of Secrets only whether a value changes is shown.

Exit codes: 0 nothing would change; 1 something would; 2 it could not be told"))]
pub(crate) struct Arguments {
    #[command(flatten)]
    sources: Sources,

    #[command(flatten)]
    label: Label,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let mut objects = arguments.sources.read(surroundings)?;
    super::check_namespace(&arguments.place, &objects)?;
    order::sort(&mut objects);
    let program = surroundings
        .environment
        .get(PROGRAM)
        .filter(|program| !program.is_empty());
    let program = program.map_or(DIFF, String::as_str);
    carry_out(&arguments.place, surroundings, async |cluster| {
        let folders = Folders::new()?;
        let mut discovery = Discovery::default();
        for object in &mut objects {
            arguments.label.put_on(&mut object.value);
        }
        for object in &objects {
            let (live, merged) = compare(&cluster, &mut discovery, object, &objects).await?;
            folders.write(live.as_ref(), &merged)?;
        }
        folders.show(program)
    })
}

/// An object as it is, and as it would be.
async fn compare(
    cluster: &Cluster,
    discovery: &mut Discovery,
    object: &Object,
    all: &[Object],
) -> Result<(Option<Value>, Value)> {
    let Some(Placed {
        path, object: wanted, ..
    }) = super::place(cluster, discovery, object).await?
    else {
        if super::has_definition(all, object) {
            return Ok((None, object.value.clone()));
        }
        return Err(advised(
            format!("{}: {}", object.source, super::unknown_kind(object)),
            "the definition of the kind must be applied first",
        ));
    };
    let live = cluster.api.find(&path).await?;
    let dry_run = format!("{path}?fieldManager={MANAGER}&force=true&dryRun=All");
    match cluster.api.apply(&dry_run, &wanted).await {
        Ok(merged) => Ok((live, merged)),
        Err(error) if error.is_absent() && super::has_namespace(all, &wanted) => Ok((None, wanted)),
        Err(error) => Err(anyhow!("{}: {}: {error}", object.source, object.named())),
    }
}

/// Two folders of texts with the same names.
struct Folders {
    live: TempDir,
    merged: TempDir,
}

impl Folders {
    fn new() -> Result<Self> {
        let folder = |prefix| {
            let folder = tempfile::Builder::new().prefix(prefix).tempdir();
            folder.context("cannot make a folder for what is compared")
        };
        Ok(Self {
            live: folder("LIVE-")?,
            merged: folder("MERGED-")?,
        })
    }

    fn write(&self, live: Option<&Value>, merged: &Value) -> Result<()> {
        let (before, after) = texts::texts(live, merged);
        let name = texts::file_name(merged);
        let write = |folder: &TempDir, text: &str| {
            let path = folder.path().join(&name);
            fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))
        };
        if let Some(before) = before {
            write(&self.live, &before)?;
        }
        write(&self.merged, &after)
    }

    fn show(&self, program: &str) -> Result<ExitCode> {
        let mut words = program.split_whitespace();
        let name = words.next().unwrap_or(program);
        let status = Command::new(name)
            .args(words)
            .args([self.live.path(), self.merged.path()])
            .status()
            .with_context(|| format!("cannot start `{name}`"))?;
        match status.code() {
            Some(0) => Ok(ExitCode::SUCCESS),
            Some(1) => Ok(ExitCode::from(1)),
            _ => Err(anyhow!("`{program}` has failed ({status})")),
        }
    }
}
