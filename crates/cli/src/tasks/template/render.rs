//! `trainyard template render`: what a template makes of values.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use http::Method;
use render_worker::RenderRequest;
use serde_json::{Value, json};
use templates::{BuiltIn, Code, Global, Inputs, Policy, Problem};

use super::{
    super::{
        carry_out, file,
        place::{self, Place},
        problem::warn,
    },
    local::{Local, Shelf, pool},
    path,
};
use crate::{Answer, Output, Surroundings, advised};

/// Show what a template makes of values
#[derive(Debug, clap::Args)]
#[command(after_help = place::explained("Examples:
  trainyard template render -f mine.yaml.j2 -f values.yaml          a file; no cluster is asked
  trainyard template render countdown-task -f values.yaml           a published one
  trainyard template render countdown-task -f values.yaml --system-values image.yaml

A template that comes with the program needs no cluster: where none runs, and no service is named, it is the one of
this program. Without --system-values it gets those it comes with.

Exit codes: 0 done; 1 it cannot be rendered, or may not make what it makes; 2 the command could not do its work"))]
pub(super) struct Arguments {
    /// A template that is published, or comes with the program
    name: Option<String>,

    /// Filled values in JSON or YAML, after the file of a template that is not named; `-` is standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true)]
    filenames: Vec<PathBuf>,

    /// A template that the file includes
    #[arg(long = "include", value_name = "FILE", conflicts_with = "name")]
    includes: Vec<PathBuf>,

    /// The values a definition would add, such as the image
    #[arg(long, value_name = "FILE")]
    system_values: Option<PathBuf>,

    /// The name the task would have
    #[arg(long, value_name = "NAME")]
    release: Option<String>,

    #[command(flatten)]
    answer: Answer,

    #[command(flatten)]
    place: Place,
}

pub(super) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode> {
    match (arguments.name.as_deref(), &arguments.filenames[..]) {
        (Some(name), [values]) => match BuiltIn::find(name) {
            Some(built_in) if arguments.place.is_nowhere(surroundings) => {
                let usual = templates::yaml("system_values", built_in.system_values).unwrap_or_default();
                let shelf = Shelf::new(&[], &[])?;
                here(arguments, &shelf, &Local::built_in(built_in), values, usual)
            }
            _ => there(arguments, surroundings, name, values),
        },
        (None, [template, values]) => {
            let shelf = Shelf::new(std::slice::from_ref(template), &arguments.includes)?;
            here(arguments, &shelf, &shelf.first(1)[0], values, json!({}))
        }
        (Some(_), _) => Err(advised(
            "a template is named, and there are two files",
            "leave one out: `render NAME -f VALUES`, or `render -f TEMPLATE -f VALUES`",
        )),
        (None, _) => Err(advised(
            "a template and the values for it are meant",
            "`render NAME -f VALUES`, or `render -f TEMPLATE -f VALUES`",
        )),
    }
}

/// With the task service.
fn there(arguments: &Arguments, surroundings: &Surroundings, name: &str, values: &Path) -> Result<ExitCode> {
    let mut body = json!({"values": file::mapping(values)?});
    if let Some(path) = &arguments.system_values {
        body["system_values"] = file::mapping(path)?;
    }
    if let Some(release) = &arguments.release {
        body["release"] = json!(release);
    }
    carry_out(&arguments.place, surroundings, async |rest| {
        let path = format!("{}/render", path(name));
        let rendering = rest.ask(Method::POST, &path, &[], &[], Some(&body)).await?.body;
        warn(&rendering);
        show(&rendering, arguments.answer.output);
        Ok(ExitCode::SUCCESS)
    })
}

/// With this program alone.
fn here(
    arguments: &Arguments,
    shelf: &Shelf,
    template: &Local,
    values: &Path,
    usual: Value,
) -> Result<ExitCode> {
    let values = file::mapping(values)?;
    let text = |name: &str| values[name].as_str().unwrap_or_default().to_owned();
    let release = arguments.release.clone().unwrap_or_else(|| "preview".to_owned());
    let namespace = arguments.place.namespace().unwrap_or("default");
    let request = RenderRequest {
        template: template.name.clone(),
        text: template.text.clone(),
        includes: shelf.includes(template),
        policy: Some(Policy::of_template(namespace, &release, &template.allowed)),
        inputs: Inputs {
            global: Global {
                release,
                task_def: text("taskDef"),
                application: text("name"),
                creator: text("creator"),
            },
            system_values: match &arguments.system_values {
                Some(path) => file::mapping(path)?,
                None => usual,
            },
            values,
        },
        traced: false,
    };
    let pool = pool()?;
    match crate::jobs::wait_for(async { Ok(pool.render(request).await) })? {
        Ok(rendered) => {
            show(&json!({"manifests": rendered.objects}), arguments.answer.output);
            Ok(ExitCode::SUCCESS)
        }
        Err(problems) => Ok(refuse(shelf, problems)),
    }
}

/// Each problem with its line; what is the machine's fault is no answer.
fn refuse(shelf: &Shelf, problems: Vec<Problem>) -> ExitCode {
    let is_ours = problems.iter().any(|problem| problem.code == Code::Worker);
    for mut problem in problems {
        shelf.put_file(problem.place.as_mut());
        eprintln!("error: {problem}");
    }
    ExitCode::from(if is_ours { 2 } else { 1 })
}

fn show(rendering: &Value, output: Output) {
    match output {
        Output::Json => println!("{rendering:#}"),
        Output::Text => {
            for object in rendering["manifests"].as_array().into_iter().flatten() {
                println!("---\n{}", manifests::yaml::to_string(object).trim_end());
            }
        }
    }
}
