//! `trainyard image ls`: what there is.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use images::Image;
use serde_json::{Value, json};

use super::{short, shown};
use crate::{Answer, Output, Surroundings, data_dir::DataDir};

/// List the images that are here
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  trainyard image ls
  trainyard image ls -o json | jq -r '.[].names[]'

Exit codes: 0 listed, even if there is none; 2 they could not be")]
pub(crate) struct Arguments {
    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    data_dir: DataDir,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    let dir = arguments.data_dir.resolve(surroundings)?;
    let images = super::open(&dir)?.list().context("cannot list the images")?;
    match arguments.answer.output {
        Output::Json => println!("{:#}", images.iter().map(as_json).collect::<Value>()),
        Output::Text if images.is_empty() => {
            println!("No images");
            eprintln!("\nhint: `{} FILE` imports some", dir.command("image import"));
        }
        Output::Text => print!("{}", table(&images)),
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(image: &Image) -> Value {
    json!({
        "id": image.id,
        "names": image.names,
        "digests": image.digests,
        "size": image.size,
        "added": image.added,
        "layers": image.layers,
        "config": image.config,
    })
}

/// A row for each name; an image without one has a row, too.
fn table(images: &[Image]) -> String {
    let mut rows = vec![["NAME", "ID", "SIZE", "ADDED"].map(str::to_owned)];
    for image in images {
        let unnamed = ["<none>".to_owned()];
        let names = if image.names.is_empty() {
            &unnamed[..]
        } else {
            &image.names
        };
        for name in names {
            let row = [
                name.clone(),
                short(&image.id),
                shown(image.size),
                image.added.clone(),
            ];
            rows.push(row);
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let widths = [width(0), width(1), width(2)];
    rows.iter()
        .map(|[name, id, size, added]| {
            let [a, b, c] = widths;
            format!("{name:a$}   {id:b$}   {size:>c$}   {added}\n")
        })
        .collect()
}
