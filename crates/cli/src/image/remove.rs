//! `trainyard image rm`: names go, and images with their last name.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use images::{Digest, Removed, Store};

use super::short;
use crate::{Surroundings, data_dir::DataDir};

/// Remove images by name or id; what running containers need stays until they end
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard image rm busybox:1.36
  trainyard image rm sha256:0f1e…   all names of one image

Exit codes: 0 removed, 1 there is no such image, 2 it could not be removed")]
pub(crate) struct Arguments {
    /// Names as `image ls` shows them, or short ones such as `busybox`; or ids
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,

    #[command(flatten)]
    data_dir: DataDir,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let store = super::open(&arguments.data_dir.resolve(surroundings)?)?;
    let mut code = ExitCode::SUCCESS;
    for name in &arguments.names {
        if let Some(removed) = remove(&store, name)? {
            print_removed(&removed);
        } else {
            eprintln!("there is no image `{name}`");
            code = ExitCode::from(1);
        }
    }
    Ok(code)
}

/// By id, if the text is one or begins one that `image ls` shows; else by name.
fn remove(store: &Store, name: &str) -> Result<Option<Removed>> {
    let removed = match find_id(store, name)? {
        Some(id) => store.remove_id(&id),
        None => store.remove(&name.parse()?),
    };
    removed.with_context(|| format!("cannot remove `{name}`"))
}

fn find_id(store: &Store, text: &str) -> Result<Option<Digest>> {
    if let Ok(id) = text.parse() {
        return Ok(Some(id));
    }
    let is_short_id = text.len() >= 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_short_id {
        return Ok(None);
    }
    let images = store.list().context("cannot list the images")?;
    let mut matching = images
        .into_iter()
        .filter(|image| image.id.hex().starts_with(text));
    match (matching.next(), matching.next()) {
        (Some(image), None) => Ok(Some(image.id)),
        _ => Ok(None),
    }
}

fn print_removed(removed: &Removed) {
    for name in &removed.names {
        println!("Removed {name}");
    }
    if let Some(id) = &removed.image {
        println!("Removed image {}", short(id));
    }
    if !removed.in_use_by.is_empty() {
        let users = removed.in_use_by.join(", ");
        eprintln!("its layers stay until those who use them end: {users}");
    }
}
