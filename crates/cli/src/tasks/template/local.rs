//! Templates in files, handled here: no cluster is asked. They are read and run in processes with limits, as
//! everywhere.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use render_worker::Pool;
use serde_json::Value;
use templates::{Allowed, BuiltIn, Place, built_in};

use super::super::file;
use crate::advised;

/// A template that nobody has to be asked for.
pub(super) struct Local {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) allowed: Allowed,
    /// The file, where lines of the text are lines of the file.
    file: Option<String>,
}

impl Local {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let content = file::text(path)?;
        let unnamed = (path == Path::new("-")).then_some("template");
        let read = file::template_of(path, &content, unnamed)?;
        let text = |name: &str| read[name].as_str().unwrap_or_default().to_owned();
        let kinds = read["allowed_kinds"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        Ok(Self {
            name: text("name"),
            file: (text("template") == content).then(|| path.display().to_string()),
            text: text("template"),
            allowed: Allowed {
                trusted: read["trusted"] == true,
                kinds: kinds
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
            },
        })
    }

    pub(super) fn built_in(built_in: &BuiltIn) -> Self {
        Self {
            name: built_in.name.to_owned(),
            text: built_in.text.to_owned(),
            allowed: Allowed::default(),
            file: None,
        }
    }
}

/// All that templates may include: each other, files that were named for it, and those that come with the program.
pub(super) struct Shelf(Vec<Local>);

impl Shelf {
    pub(super) fn new(files: &[PathBuf], others: &[PathBuf]) -> Result<Self> {
        let mut shelf: Vec<Local> = Vec::new();
        for path in files.iter().chain(others) {
            let local = Local::read(path)?;
            if let Some(known) = shelf.iter().find(|known| known.name == local.name) {
                return Err(advised(
                    format!(
                        "`{}` and `{}` are both called `{}`",
                        known.shown(),
                        local.shown(),
                        local.name
                    ),
                    "check them one after the other, or name them differently",
                ));
            }
            shelf.push(local);
        }
        for built_in in built_in() {
            if !shelf.iter().any(|known| known.name == built_in.name) {
                shelf.push(Local::built_in(built_in));
            }
        }
        Ok(Self(shelf))
    }

    /// Those that were named first.
    pub(super) fn first(&self, count: usize) -> &[Local] {
        &self.0[..count]
    }

    pub(super) fn find(&self, name: &str) -> Option<&Local> {
        self.0.iter().find(|local| local.name == name)
    }

    pub(super) fn includes(&self, of: &Local) -> BTreeMap<String, String> {
        let names: Vec<String> = self.0.iter().map(|local| local.name.clone()).collect();
        templates::includes(&of.name, &of.text, &names, |name| {
            self.find(name).map(|local| local.text.clone())
        })
    }

    /// Names the file of a place where lines are the file's.
    pub(super) fn put_file(&self, place: Option<&mut Place>) {
        if let Some(place) = place
            && let Some(local) = self.find(&place.template)
        {
            place.template = local.shown().to_owned();
        }
    }
}

impl Local {
    pub(super) fn shown(&self) -> &str {
        self.file.as_deref().unwrap_or(&self.name)
    }
}

/// Processes that read and run templates.
pub(super) fn pool() -> Result<Pool> {
    let program = std::env::current_exe().context("cannot find this program")?;
    Ok(Pool::new(program))
}
