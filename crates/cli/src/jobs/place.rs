//! Which cluster a command is about, by the same rules for all of them: the kubeconfig or the data
//! directory that is named, else `KUBECONFIG`, else the embedded cluster.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use super::api::Api;
use crate::{
    Surroundings, advised,
    data_dir::{ClusterDir, DataDir, pasteable},
    instance::{Found, Instance},
    kubeconfig, lock,
};

/// The options that say which cluster is meant, and where in it.
#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// The namespace [default: that of the kubeconfig]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,

    /// The cluster of this kubeconfig, instead of the embedded one [env: KUBECONFIG]
    #[arg(long, value_name = "FILE", conflicts_with = "data_dir")]
    kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    #[command(flatten)]
    data_dir: DataDir,
}

/// The cluster that is meant.
#[derive(Clone, Debug)]
pub(crate) enum Whose {
    Embedded(ClusterDir),
    /// That of these kubeconfigs, merged.
    Other(Vec<PathBuf>),
}

/// A cluster that can be asked.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) api: Api,
    pub(crate) namespace: String,
    /// The server, where it is this machine's own.
    pub(crate) embedded: Option<Instance>,
    again: Again,
}

/// How to call this program once more about the same cluster.
#[derive(Clone, Debug)]
struct Again {
    program: String,
    options: String,
}

impl Place {
    /// The embedded cluster of a directory.
    pub(crate) fn embedded(data_dir: DataDir) -> Self {
        Self {
            namespace: None,
            kubeconfig: None,
            context: None,
            data_dir,
        }
    }

    pub(crate) fn whose(&self, surroundings: &Surroundings) -> Result<Whose> {
        let files = match &self.kubeconfig {
            Some(file) => vec![file.clone()],
            None if self.data_dir.named().is_some() => Vec::new(),
            None => listed(surroundings),
        };
        match &files[..] {
            [] => self.data_dir.resolve(surroundings).map(Whose::Embedded),
            [file] if self.context.is_none() && is_of_a_data_dir(file) => {
                let folder = file.parent().map(Path::to_owned).unwrap_or_default();
                DataDir::of(folder).resolve(surroundings).map(Whose::Embedded)
            }
            _ => Ok(Whose::Other(files)),
        }
    }

    /// The cluster, which must be there.
    pub(crate) async fn connect(&self, surroundings: &Surroundings) -> Result<Cluster> {
        match self.whose(surroundings)? {
            Whose::Embedded(dir) => match Instance::find(&dir.path)? {
                Found::Running(instance) => self.connect_to(instance, surroundings).await,
                Found::Nothing => Err(advised(
                    format!("no cluster runs in `{}`", dir.path.display()),
                    format!(
                        "`{}` starts it; `--kubeconfig FILE` or KUBECONFIG name another",
                        dir.command("up --detach")
                    ),
                )),
                Found::Silent(pid) => Err(advised(
                    format!("process {pid} runs the cluster, but has not said where it is reached"),
                    "it may be just starting, then ask again",
                )),
            },
            Whose::Other(files) => self.open(&files, None, surroundings).await,
        }
    }

    /// The embedded cluster that runs here.
    pub(crate) async fn connect_to(
        &self,
        instance: Instance,
        surroundings: &Surroundings,
    ) -> Result<Cluster> {
        let files = [instance.kubeconfig.clone()];
        self.open(&files, Some(instance), surroundings).await
    }

    async fn open(
        &self,
        files: &[PathBuf],
        embedded: Option<Instance>,
        surroundings: &Surroundings,
    ) -> Result<Cluster> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        let mut config = Config::from_custom_kubeconfig(merged(files)?, &options)
            .await
            .context("the kubeconfig cannot be used")?;
        // Who types a command is told at once that nobody answers.
        config.default_retry = false;
        let namespace = self.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| config.default_namespace.clone());
        let address = config.cluster_url.to_string();
        let client = Client::try_from(config).context("the kubeconfig cannot be used")?;
        Ok(Cluster {
            api: Api::new(client, address),
            namespace,
            embedded,
            again: self.again(surroundings),
        })
    }

    fn again(&self, surroundings: &Surroundings) -> Again {
        let mut options = String::new();
        let mut add = |name: &str, value: Option<String>| {
            options.extend(value.map(|value| format!(" {name} {value}")));
        };
        add("-n", self.namespace.clone());
        add("--kubeconfig", self.kubeconfig.as_deref().map(pasteable));
        add("--context", self.context.clone());
        add("--data-dir", self.data_dir.named().map(pasteable));
        Again {
            program: surroundings.program(),
            options,
        }
    }
}

impl Cluster {
    /// A command about this cluster that can be pasted into a shell.
    pub(crate) fn command(&self, words: &str) -> String {
        format!("{} {words}{}", self.again.program, self.again.options)
    }
}

fn listed(surroundings: &Surroundings) -> Vec<PathBuf> {
    let list = surroundings.environment.get("KUBECONFIG");
    let files = list.into_iter().flat_map(std::env::split_paths);
    files.filter(|file| !file.as_os_str().is_empty()).collect()
}

/// Whether the file is the one that an embedded cluster writes: then that cluster is meant, and can be
/// started where it does not run.
fn is_of_a_data_dir(file: &Path) -> bool {
    file.parent()
        .is_some_and(|folder| kubeconfig::path(folder) == file && lock::has_been_held(folder))
}

/// Several files are one: of what is in more than one of them the first counts.
fn merged(files: &[PathBuf]) -> Result<Kubeconfig> {
    let mut all: Option<Kubeconfig> = None;
    for file in files {
        let unusable = || format!("`{}` is no kubeconfig", file.display());
        // A list may name files that are not there, as long as one is.
        if files.len() > 1 && !file.exists() {
            continue;
        }
        let read = Kubeconfig::read_from(file).with_context(unusable)?;
        all = Some(match all {
            Some(first) => first.merge(read).with_context(unusable)?,
            None => read,
        });
    }
    all.ok_or_else(|| anyhow!("none of the files that KUBECONFIG names is there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(kubeconfig: Option<&str>, data_dir: Option<&str>) -> Place {
        let data_dir = data_dir.map(|path| DataDir::of(path.into()));
        Place {
            kubeconfig: kubeconfig.map(PathBuf::from),
            ..Place::embedded(data_dir.unwrap_or_default())
        }
    }

    #[track_caller]
    fn check(place: &Place, variable: Option<&str>, expected: &str) {
        let mut surroundings = Surroundings {
            home: Some("/home/ada".into()),
            ..Surroundings::default()
        };
        let variable = variable.map(|value| ("KUBECONFIG".to_owned(), value.to_owned()));
        surroundings.environment.extend(variable);
        let found = match place.whose(&surroundings).unwrap() {
            Whose::Embedded(dir) => format!("in {}", dir.path.display()),
            Whose::Other(files) => format!("{files:?}"),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_named_comes_before_the_environment_and_that_before_the_embedded_cluster() {
        let default = "in /home/ada/.local/share/trainyard";
        check(&place(None, None), None, default);
        check(&place(None, None), Some(""), default);
        check(&place(None, None), Some("/a:/b"), "[\"/a\", \"/b\"]");
        check(&place(None, Some("/data")), Some("/a"), "in /data");
        check(&place(Some("/k"), None), Some("/a"), "[\"/k\"]");
    }

    #[test]
    fn the_file_of_an_embedded_cluster_means_that_cluster() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("lock"), "").unwrap();
        let file = folder.path().join("kubeconfig");
        let file = file.to_str().unwrap();
        check(
            &place(None, None),
            Some(file),
            &format!("in {}", folder.path().display()),
        );
    }
}
