//! Where the agent keeps what, below the data directory.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;

#[derive(Clone, Debug)]
pub(crate) struct Folders {
    data_dir: PathBuf,
}

/// Everything of one pod but its logs; also the folder of its sandbox.
#[derive(Clone, Debug)]
pub(crate) struct PodFolder {
    path: PathBuf,
    logs: PathBuf,
}

impl Folders {
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
        }
    }

    pub(crate) fn network(&self) -> PathBuf {
        self.data_dir.join("network")
    }

    pub(crate) fn pods(&self) -> PathBuf {
        self.data_dir.join("pods")
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.data_dir.join("logs")
    }

    /// What the default storage class provisions.
    pub(crate) fn provisioned(&self) -> PathBuf {
        self.data_dir.join("volumes")
    }

    pub(crate) fn gpu_leases(&self) -> PathBuf {
        self.data_dir.join("gpus.json")
    }

    /// A link to this program, for plain processes.
    pub(crate) fn own_program(&self) -> PathBuf {
        self.data_dir.join("program")
    }

    /// Profiles of system calls that pods name as `localhostProfile`.
    pub(crate) fn syscall_profiles(&self) -> PathBuf {
        self.data_dir.join("seccomp")
    }

    pub(crate) fn pod(&self, pod: &Pod) -> PodFolder {
        let meta = &pod.metadata;
        let [namespace, name, uid] =
            [&meta.namespace, &meta.name, &meta.uid].map(|part| part.as_deref().unwrap_or_default());
        self.named(namespace, name, uid)
    }

    pub(crate) fn named(&self, namespace: &str, name: &str, uid: &str) -> PodFolder {
        PodFolder {
            path: self.pods().join(uid),
            logs: self.logs().join(format!("{namespace}_{name}_{uid}")),
        }
    }
}

impl PodFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn logs(&self) -> &Path {
        &self.logs
    }

    pub(crate) fn log(&self, container: &str, attempt: u32) -> PathBuf {
        self.logs.join(container).join(format!("{attempt}.log"))
    }

    pub(crate) fn container(&self, name: &str) -> PathBuf {
        self.path.join("containers").join(name)
    }

    /// Where a container may leave its last words.
    pub(crate) fn termination_message(&self, container: &str, attempt: u32) -> PathBuf {
        self.container(container)
            .join(format!("termination-log-{attempt}"))
    }

    pub(crate) fn volumes(&self) -> PathBuf {
        self.path.join("volumes")
    }

    pub(crate) fn book(&self) -> PathBuf {
        self.path.join("agent.json")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}
