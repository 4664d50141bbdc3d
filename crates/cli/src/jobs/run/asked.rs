//! From the command line to a job: what is asked for, what the surroundings add, and whether it can be.

use anyhow::{Result, anyhow};

use super::{
    Arguments, Framework, HOST, Wish, compose,
    gpus::{self, Gpus},
    name, workspace,
};
use crate::{Surroundings, advised, jobs::place::Whose};

/// What is asked for, with what the surroundings add to it.
pub(super) fn wish(arguments: &Arguments, surroundings: &Surroundings, whose: &Whose) -> Result<Wish> {
    let (program, words) = (&arguments.command[0], &arguments.command);
    if program.is_empty() {
        return Err(anyhow!("the command is empty"));
    }
    if arguments.gpus == Some(Gpus::All) {
        if matches!(whose, Whose::Other(_)) {
            return Err(advised(
                "`--gpus all` is for the embedded cluster: nodes of another cluster have different numbers of GPUs",
                "give a number: `--gpus N`",
            ));
        }
        if arguments.dry_run {
            return Err(advised(
                "`--gpus all` asks the cluster for a number, and `--dry-run` asks no cluster",
                "give a number: `--gpus N`",
            ));
        }
    }
    let workspace = match whose {
        Whose::Embedded { .. } => {
            let image = arguments.image.as_deref().unwrap_or(HOST);
            let workspace = workspace::of(surroundings, program, &arguments.mount, image == HOST)?;
            Some(workspace)
        }
        Whose::Other(_) => None,
    };
    if workspace.is_none() && !arguments.mount.is_empty() {
        return Err(advised(
            "another cluster does not have the folders of this machine",
            "leave `--mount` out; the image has to bring what the program needs",
        ));
    }
    let image = match (&arguments.image, whose) {
        (Some(image), _) => image.clone(),
        (None, Whose::Embedded { .. }) => HOST.to_owned(),
        (None, Whose::Other(_)) => {
            return Err(advised(
                "a program needs an image on a cluster that is not this machine's own",
                "name one with `--image IMAGE`, or the embedded cluster with `--data-dir DIR`: KUBECONFIG or `--kubeconfig` name another",
            ));
        }
    };
    Ok(Wish {
        name: match &arguments.name {
            Some(name) => name.clone(),
            None => name::after(words),
        },
        namespace: None,
        framework: arguments.framework.unwrap_or_else(|| Framework::of(program)),
        nodes: arguments.nodes,
        gpus: gpus::at_least(arguments.gpus),
        cpus: arguments.cpus.clone(),
        memory: arguments.memory.clone(),
        image,
        environment: environment(&arguments.env, surroundings)?,
        command: words.clone(),
        retries: arguments.retries,
        // What is printed is for whoever applies it, and nobody stays with it then.
        is_attended: !arguments.detach && !arguments.dry_run,
        workspace,
    })
}

fn environment(wishes: &[String], surroundings: &Surroundings) -> Result<Vec<(String, String)>> {
    let variable = |wish: &String| {
        let (name, value) = match wish.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (wish.as_str(), surroundings.environment.get(wish).cloned()),
        };
        let value = value.ok_or_else(|| {
            advised(
                format!("there is no variable `{name}` here"),
                format!("give it a value with `--env {name}=VALUE`"),
            )
        })?;
        let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control());
        is_name
            .then(|| (name.to_owned(), value))
            .ok_or_else(|| anyhow!("`{wish}` is not of the form NAME=VALUE"))
    };
    wishes.iter().map(variable).collect()
}

/// Whether the job is one that can be run: by the rules of the cluster, before there is one.
pub(super) fn check(wish: &Wish) -> Result<()> {
    let problems = manifests::names::dns1035_label(&wish.name);
    if let Some(problem) = problems.first() {
        return Err(advised(
            format!("`{}` cannot be the name of a job: {problem}", wish.name),
            "choose another with `--name NAME`",
        ));
    }
    match &training::check(&compose(wish))[..] {
        [] => Ok(()),
        errors => {
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let message = format!("the job cannot be run: {}", texts.join("; "));
            Err(if message.contains(": metadata.name: ") {
                advised(
                    message,
                    "choose a shorter name with `--name NAME`; those of its pods are made of it",
                )
            } else {
                anyhow!(message)
            })
        }
    }
}
