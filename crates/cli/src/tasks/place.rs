//! Which task service is meant, and with whose token.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use super::rest::Rest;
use crate::{
    Surroundings, advised,
    data_dir::DataDir,
    instance::{Found, Instance},
};

/// What every help says of it.
pub(crate) fn explained(words: &str) -> String {
    format!(
        "{words}

Which service: that of --service URL or TRAINYARD_SERVICE, with the token of --token-file or TRAINYARD_TOKEN;
else the one of the embedded cluster, with the token that is beside its data"
    )
}

#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// The namespace [default: that of the token, else `default`]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,

    /// The task service [env: TRAINYARD_SERVICE]
    #[arg(long, value_name = "URL", conflicts_with = "data_dir")]
    service: Option<String>,

    /// A file with the token [env: TRAINYARD_TOKEN, the token itself]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    #[command(flatten)]
    data_dir: DataDir,
}

/// Where the token of an embedded cluster is.
pub(crate) fn token_file(dir: &Path) -> PathBuf {
    dir.join("service-token")
}

impl Place {
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Whether nobody named a service, and no cluster of this machine runs that has one.
    pub(super) fn is_nowhere(&self, surroundings: &Surroundings) -> bool {
        let is_named = self.service.is_some()
            || self.data_dir.named().is_some()
            || surroundings
                .environment
                .get("TRAINYARD_SERVICE")
                .is_some_and(|address| !address.is_empty());
        let runs = || {
            let dir = self.data_dir.resolve(surroundings)?;
            anyhow::Ok(!matches!(Instance::find(&dir.path)?, Found::Nothing))
        };
        !is_named && !runs().unwrap_or(false)
    }

    /// A client of the service.
    pub(super) fn connect(&self, surroundings: &Surroundings) -> Result<Rest> {
        let variable = |name: &str| {
            surroundings
                .environment
                .get(name)
                .filter(|value| !value.is_empty())
        };
        let given = match self.data_dir.named() {
            Some(_) => None,
            None => self
                .service
                .clone()
                .or_else(|| variable("TRAINYARD_SERVICE").cloned()),
        };
        let (address, usual) = if let Some(address) = given {
            (address, None)
        } else {
            let (address, file) = self.embedded(surroundings)?;
            (address, Some(file))
        };
        let token = match (&self.token_file, variable("TRAINYARD_TOKEN"), usual) {
            (Some(file), _, _) => read(file)?,
            (None, Some(token), None) => token.clone(),
            (None, _, Some(file)) => read(&file)?,
            (None, None, None) => {
                return Err(advised(
                    format!("there is no token for the task service at {address}"),
                    "name a file that has one with `--token-file FILE`, or set TRAINYARD_TOKEN",
                ));
            }
        };
        Rest::new(&address, token, self.namespace.clone())
    }

    fn embedded(&self, surroundings: &Surroundings) -> Result<(String, PathBuf)> {
        let dir = self.data_dir.resolve(surroundings)?;
        let instance = match Instance::find(&dir.path)? {
            Found::Running(instance) => instance,
            Found::Nothing => {
                return Err(advised(
                    format!("no cluster runs in `{}`", dir.path.display()),
                    format!(
                        "`{}` starts it; `--service URL` names another service",
                        dir.command("up --detach")
                    ),
                ));
            }
            Found::Silent(pid) => {
                return Err(advised(
                    format!("process {pid} runs the cluster, but has not said where it is reached"),
                    "it may be just starting, then ask again",
                ));
            }
        };
        let address = instance.service.ok_or_else(|| {
            advised(
                format!("the cluster in `{}` has no task service", dir.path.display()),
                "it was started with `--api-only` or `--no-service`; start it without",
            )
        })?;
        Ok((address, token_file(&dir.path)))
    }
}

fn read(file: &Path) -> Result<String> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read the token in `{}`", file.display()))?;
    Ok(text.trim().to_owned())
}
