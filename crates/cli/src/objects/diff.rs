//! `trainyard diff`: what `apply` would change.

mod texts;

use std::{
    fs, io,
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, anyhow};
use kinds::unified_diff;
use serde_json::Value;
use tempfile::TempDir;

use super::{
    Label, MANAGER, Placed,
    discovery::Discovery,
    order,
    prune::{self, Scope},
    sources::{Object, Sources},
};
use crate::{
    Surroundings, advised,
    jobs::{
        api::ApiError,
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
it with what there is. Where there is no `diff`, the same is shown without it. Of Secrets only whether a value changes is shown.

Exit codes: 0 nothing would change; 1 something would; 2 it could not be told, of all or of some; what can be is shown"))]
pub(crate) struct Arguments {
    #[command(flatten)]
    sources: Sources,

    #[command(flatten)]
    label: Label,

    /// Also what `apply --prune` would delete
    #[arg(long, requires = "package")]
    prune: bool,

    /// Also what it would with `--all-namespaces`
    #[arg(long, requires = "prune")]
    all_namespaces: bool,

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
    carry_out(&arguments.place, surroundings, async |cluster| {
        let mut compared = Vec::new();
        let mut discovery = Discovery::default();
        let mut kept = Vec::new();
        let mut is_refused = false;
        for object in &objects {
            match compare(&cluster, &mut discovery, object, &objects, &arguments.label).await {
                Ok((live, merged)) => {
                    compared.push(Compared::new(live.as_ref(), &merged.object));
                    kept.push(merged);
                }
                Err(Obstacle::OfOne(error)) => {
                    crate::report(&error);
                    is_refused = true;
                }
                Err(Obstacle::OfAll(error)) => return Err(error),
            }
        }
        // Where something is refused `apply` deletes nothing.
        if !is_refused {
            compared.extend(arguments.pruned(&cluster, &kept).await?);
        }
        compared.sort_by(|one, other| one.name.cmp(&other.name));
        let shown = show(&compared, program.map(String::as_str))?;
        Ok(if is_refused { ExitCode::from(2) } else { shown })
    })
}

impl Arguments {
    /// What would be deleted.
    async fn pruned(&self, cluster: &Cluster, kept: &[Placed]) -> Result<Vec<Compared>> {
        let Some(package) = self.label.package.as_deref().filter(|_| self.prune) else {
            return Ok(Vec::new());
        };
        let scope = Scope::around(kept, self.all_namespaces);
        let decision = prune::plan(cluster, package, kept, &scope).await?;
        Ok(decision
            .goes
            .iter()
            .map(|placed| Compared::gone(&placed.object))
            .collect())
    }
}

/// Why an object cannot be compared.
enum Obstacle {
    /// It is refused; others may not be.
    OfOne(anyhow::Error),
    /// Nobody answers.
    OfAll(anyhow::Error),
}

impl Obstacle {
    fn new(object: &Object, error: ApiError) -> Self {
        match error {
            ApiError::Refused { .. } => {
                Self::OfOne(anyhow!("{}: {}: {error}", object.source, object.named()))
            }
            other => Self::OfAll(other.into()),
        }
    }
}

/// An object as it is, and as it would be.
async fn compare(
    cluster: &Cluster,
    discovery: &mut Discovery,
    object: &Object,
    all: &[Object],
    label: &Label,
) -> Result<(Option<Value>, Placed), Obstacle> {
    let told = |error: ApiError| Obstacle::new(object, error);
    let Some(placed) = super::place(cluster, discovery, object).await.map_err(told)? else {
        if super::has_definition(all, object) {
            let mut value = object.value.clone();
            label.put_on(&mut value, None);
            return Ok((None, nowhere(value)));
        }
        return Err(Obstacle::OfOne(advised(
            format!("{}: {}", object.source, super::unknown_kind(object)),
            "the definition of the kind must be applied first",
        )));
    };
    let dry_run = format!("{}?fieldManager={MANAGER}&force=true&dryRun=All", placed.path);
    let mut tries = super::tries(&placed.object);
    loop {
        let live = cluster.api.find(&placed.path).await.map_err(told)?;
        let mut wanted = placed.object.clone();
        label.put_on(&mut wanted, live.as_ref());
        if let Some(live) = live.as_ref().filter(|_| tries > 0) {
            super::pin(&mut wanted, live);
        }
        match cluster.api.apply(&dry_run, &wanted).await {
            Ok(object) => return Ok((live, Placed { object, ..placed })),
            Err(error) if error.is_conflict() && tries > 0 => tries -= 1,
            Err(error) if error.is_absent() && super::has_namespace(all, &wanted) => {
                let object = wanted;
                return Ok((None, Placed { object, ..placed }));
            }
            Err(error) => return Err(told(error)),
        }
    }
}

/// An object whose kind is still to come.
fn nowhere(object: Value) -> Placed {
    Placed {
        shown: String::new(),
        path: String::new(),
        object,
    }
}

/// The texts of an object, and the name they both have.
struct Compared {
    name: String,
    /// What is not there yet has none.
    before: Option<String>,
    /// What goes has none.
    after: Option<String>,
}

impl Compared {
    fn new(live: Option<&Value>, merged: &Value) -> Self {
        let (before, after) = texts::texts(live, merged);
        Self {
            name: texts::file_name(merged),
            before,
            after: Some(after),
        }
    }

    fn gone(live: &Value) -> Self {
        let (before, _) = texts::texts(Some(live), live);
        Self {
            name: texts::file_name(live),
            before,
            after: None,
        }
    }

    /// What `diff -u -N` would say; nothing where nothing changes.
    fn difference(&self) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let changes = unified_diff::of_files(&text(&self.before), &text(&self.after));
        if changes.is_empty() {
            return changes;
        }
        let (live, merged) = (format!("LIVE/{}", self.name), format!("MERGED/{}", self.name));
        format!("{DIFF} {live} {merged}\n--- {live}\n+++ {merged}\n{changes}")
    }
}

fn show(compared: &[Compared], program: Option<&str>) -> Result<ExitCode> {
    let folders = Folders::new()?;
    for one in compared {
        folders.write(one)?;
    }
    match folders.show(program.unwrap_or(DIFF)) {
        // Small machines do not have it.
        Err(error) if program.is_none() && is_not_found(&error) => {
            let differences: String = compared.iter().map(Compared::difference).collect();
            print!("{differences}");
            Ok(ExitCode::from(u8::from(!differences.is_empty())))
        }
        shown => shown,
    }
}

fn is_not_found(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
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

    fn write(&self, compared: &Compared) -> Result<()> {
        let write = |folder: &TempDir, text: &str| {
            let path = folder.path().join(&compared.name);
            fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))
        };
        for (folder, text) in [(&self.live, &compared.before), (&self.merged, &compared.after)] {
            if let Some(text) = text {
                write(folder, text)?;
            }
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_shown_without_a_program() {
        let object =
            |epochs: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"epochs": epochs}});
        let changed = Compared::new(Some(&object("10")), &object("20")).difference();
        let expected = "\
diff -u -N LIVE/v1.ConfigMap MERGED/v1.ConfigMap
--- LIVE/v1.ConfigMap
+++ MERGED/v1.ConfigMap
@@ -1,4 +1,4 @@
 apiVersion: v1
 data:
-  epochs: \"10\"
+  epochs: \"20\"
 kind: ConfigMap
";
        assert_eq!(changed, expected);
        let new = Compared::new(None, &object("10")).difference();
        assert!(new.contains("@@ -0,0 +1,4 @@\n+apiVersion: v1\n"), "{new}");
        assert_eq!(Compared::new(Some(&object("10")), &object("10")).difference(), "");
        let gone = Compared::gone(&object("10")).difference();
        assert!(gone.contains("@@ -1,4 +0,0 @@\n-apiVersion: v1\n"), "{gone}");
    }
}
