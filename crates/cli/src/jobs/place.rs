//! Which cluster a command is about, by the same rules for all of them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::Value;

use super::api::Api;
use crate::{
    Surroundings, advised,
    data_dir::{ClusterDir, DataDir, pasteable},
    instance::{Found, Instance},
    kubeconfig, lock,
};

/// Which clusters come first, as every help says it.
const NAMED: &str = "Which cluster, the first of these that there is:
  1. the one of --kubeconfig FILE, or the embedded one of --data-dir DIR
  2. the one of the files in KUBECONFIG
  3. with --context NAME, the one of ~/.kube/config
  4. the embedded one of TRAINYARD_DATA_DIR";
const OWN: &str = "A kubeconfig that an embedded cluster has written means that cluster.";

/// What is said of a command, and which cluster it is about.
pub(crate) fn explained(words: &str) -> String {
    format!(
        "{words}\n\n{NAMED}\n  5. the embedded one in ~/.local/share/trainyard, if it runs\n  6. the one of ~/.kube/config\n{OWN}"
    )
}

/// The same for a command that starts the embedded cluster where it does not run.
pub(crate) fn explained_with_start(words: &str) -> String {
    format!(
        "{words}\n\n{NAMED}\n  5. the embedded one in ~/.local/share/trainyard\nAn embedded one that does not run is started. {OWN}"
    )
}

/// The options that say which cluster is meant, and where in it.
#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// The namespace [default: that of the context, else `default`]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,

    /// The cluster of this kubeconfig [env: KUBECONFIG]
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
    /// This machine's own; if it does not run, that of a kubeconfig, where nobody has said which.
    Embedded {
        dir: ClusterDir,
        otherwise: Option<PathBuf>,
    },
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
    /// Whether somebody has said which one is meant.
    pub(crate) is_chosen: bool,
    source: Source,
    again: Again,
}

/// Where a cluster is found.
#[derive(Clone, Debug)]
struct Source {
    files: Vec<PathBuf>,
    context: Option<String>,
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

    /// The namespace that somebody has named.
    pub(crate) fn named_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    pub(crate) fn whose(&self, surroundings: &Surroundings) -> Result<Whose> {
        let embedded = |dir: &DataDir, otherwise| {
            let dir = dir.resolve(surroundings)?;
            Ok(Whose::Embedded { dir, otherwise })
        };
        if self.data_dir.named().is_some() {
            return embedded(&self.data_dir, None);
        }
        let files = match &self.kubeconfig {
            Some(file) => vec![file.clone()],
            None => listed(surroundings),
        };
        let usual = surroundings.home.as_ref().map(|home| home.join(".kube/config"));
        match (&files[..], usual) {
            ([file], _) if self.context.is_none() && is_of_a_data_dir(file) => {
                let folder = file.parent().map(Path::to_owned).unwrap_or_default();
                embedded(&DataDir::of(folder), None)
            }
            ([], Some(usual)) if self.context.is_some() => Ok(Whose::Other(vec![usual])),
            ([], usual) => {
                let otherwise = usual.filter(|_| surroundings.data_dir.is_none());
                embedded(&self.data_dir, otherwise)
            }
            _ => Ok(Whose::Other(files)),
        }
    }

    /// The cluster, which must be there.
    pub(crate) async fn connect(&self, surroundings: &Surroundings) -> Result<Cluster> {
        let (dir, otherwise) = match self.whose(surroundings)? {
            Whose::Embedded { dir, otherwise } => (dir, otherwise),
            Whose::Other(files) => return self.open(&files, None, surroundings).await,
        };
        match (Instance::find(&dir.path)?, otherwise.filter(|file| file.exists())) {
            (Found::Running(instance), _) => self.connect_to(instance, surroundings).await,
            (Found::Nothing, Some(usual)) => {
                let mut cluster = self
                    .open(std::slice::from_ref(&usual), None, surroundings)
                    .await?;
                cluster.is_chosen = false;
                eprintln!(
                    "note: no embedded cluster runs; this is about {} of `{}`",
                    cluster.api.address(),
                    usual.display()
                );
                Ok(cluster)
            }
            (Found::Nothing, None) => Err(advised(
                format!("no cluster runs in `{}`", dir.path.display()),
                format!(
                    "`{}` starts it; `--kubeconfig FILE` or KUBECONFIG name another",
                    dir.command("up --detach")
                ),
            )),
            (Found::Silent(pid), _) => Err(advised(
                format!("process {pid} runs the cluster, but has not said where it is reached"),
                "it may be just starting, then ask again",
            )),
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
        let source = Source {
            files: files.to_vec(),
            context: self.context.clone(),
        };
        let (api, namespace) = source.open().await?;
        Ok(Cluster {
            api,
            namespace: self.namespace.clone().unwrap_or(namespace),
            embedded,
            is_chosen: true,
            source,
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

impl Source {
    /// A client of the cluster, and the namespace that is meant where none is named.
    async fn open(&self) -> Result<(Api, String)> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        let mut config = Config::from_custom_kubeconfig(merged(&self.files)?, &options)
            .await
            .context("the kubeconfig cannot be used")?;
        // Who types a command is told at once that nobody answers.
        config.default_retry = false;
        let (address, namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
        let client = Client::try_from(config).context("the kubeconfig cannot be used")?;
        Ok((Api::new(client, address), namespace))
    }
}

impl Cluster {
    /// The same cluster, as it is found now: a server that was started again may have another address.
    pub(crate) async fn renewed(&self) -> Result<Self> {
        let (api, _) = self.source.open().await?;
        Ok(Self { api, ..self.clone() })
    }

    /// How many requests are made at a time. On this machine an answer takes less than a connection, and
    /// one connection carries them all.
    pub(crate) fn lanes(&self) -> usize {
        const FAR: usize = 4;
        if self.embedded.is_some() { 1 } else { FAR }
    }

    /// A command about this cluster that can be pasted into a shell.
    pub(crate) fn command(&self, words: &str) -> String {
        format!("{} {words}{}", self.again.program, self.again.options)
    }
}

/// The nodes of the cluster of a kubeconfig.
pub(crate) async fn nodes(kubeconfig: &Path) -> Result<Vec<Value>> {
    let source = Source {
        files: vec![kubeconfig.to_owned()],
        context: None,
    };
    let (api, _) = source.open().await?;
    Ok(api.list("/api/v1/nodes").await?.unwrap_or_default())
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
            Whose::Embedded { dir, otherwise: None } => format!("in {}", dir.path.display()),
            Whose::Embedded {
                dir,
                otherwise: Some(usual),
            } => format!("in {} or {}", dir.path.display(), usual.display()),
            Whose::Other(files) => format!("{files:?}"),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_named_comes_before_the_environment_and_that_before_the_embedded_cluster() {
        let default = "in /home/ada/.local/share/trainyard or /home/ada/.kube/config";
        check(&place(None, None), None, default);
        check(&place(None, None), Some(""), default);
        check(&place(None, None), Some("/a:/b"), "[\"/a\", \"/b\"]");
        check(&place(None, Some("/data")), Some("/a"), "in /data");
        check(&place(Some("/k"), None), Some("/a"), "[\"/k\"]");
        let far = Place {
            context: Some("far".to_owned()),
            ..place(None, None)
        };
        check(&far, None, "[\"/home/ada/.kube/config\"]");
        check(&far, Some("/a"), "[\"/a\"]");
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
