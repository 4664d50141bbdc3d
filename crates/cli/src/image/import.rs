//! `trainyard image import`: from a file to an image.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Result, anyhow};
use images::{ImportError, Reference};

use super::{progress::Shown, short, shown};
use crate::{Surroundings, advised, data_dir::DataDir};

/// Import images from an OCI layout or a `docker save` archive
///
/// Layouts may be folders or archives; archives and their layers may be packed with gzip or zstd.
/// What runs on this machine is taken from images for several.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  docker save app:1 web:2 -o both.tar && trainyard image import both.tar
  skopeo copy docker://busybox oci:layout && trainyard image import layout --name busybox

Exit codes: 0 imported, 2 it could not be")]
pub(crate) struct Arguments {
    /// An archive, or the folder of a layout
    #[arg(value_name = "FILE|DIR")]
    path: PathBuf,

    /// What to call the image, instead of the names that are in there
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    data_dir: DataDir,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let name = match &arguments.name {
        Some(name) => Some(name.parse::<Reference>()?),
        None => None,
    };
    let store = super::open(&arguments.data_dir.resolve(surroundings)?)?;
    let progress = Shown::new();
    let result = store.import(&arguments.path, name.as_ref(), &|step| progress.show(step));
    progress.clear();
    let images = result.map_err(explain)?;
    if images.is_empty() {
        return Err(anyhow!(
            "`{}` holds no image for this machine",
            arguments.path.display()
        ));
    }
    for image in &images {
        let names = if image.names.is_empty() {
            "an image without a name".to_owned()
        } else {
            image.names.join(", ")
        };
        println!("Imported {names} ({}, {})", short(&image.id), shown(image.size));
    }
    if images.iter().any(|image| image.names.is_empty()) {
        eprintln!("\nhint: pods need a name for their image: import it again with `--name NAME`");
    }
    Ok(ExitCode::SUCCESS)
}

fn explain(error: ImportError) -> anyhow::Error {
    let hint = match &error {
        ImportError::NoArchive { .. } | ImportError::NoImage { .. } => {
            "what is needed is the folder or archive of an OCI layout, or what `docker save` writes"
        }
        ImportError::OneName(_) => "leave `--name` out, or import them one by one",
        _ => return error.into(),
    };
    advised(error.to_string(), hint)
}
