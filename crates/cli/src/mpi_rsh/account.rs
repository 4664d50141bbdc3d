//! Who this pod is to the API: where the server is, whom it is signed by, and the pod's own account.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::{Surroundings, advised};

/// Where every container with an account finds it.
const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

pub(crate) struct Account {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) namespace: String,
    pub(crate) token: String,
    /// Certificates of the authorities that may sign the server's, in PEM form.
    pub(crate) authorities: Vec<u8>,
}

impl Account {
    pub(crate) fn of_this_pod(surroundings: &Surroundings) -> Result<Self> {
        let (Some(host), Some(port)) = (&surroundings.service_host, &surroundings.service_port) else {
            return Err(advised(
                "there is no Kubernetes API here: `KUBERNETES_SERVICE_HOST` is not set",
                "`mpi-rsh` works in pods",
            ));
        };
        Ok(Self {
            host: host.clone(),
            port: port
                .parse()
                .with_context(|| format!("`KUBERNETES_SERVICE_PORT` is `{port}`"))?,
            namespace: text("namespace")?,
            token: text("token")?,
            authorities: read("ca.crt")?,
        })
    }
}

fn text(name: &str) -> Result<String> {
    let bytes = read(name)?;
    let text = String::from_utf8(bytes).with_context(|| format!("`{FOLDER}/{name}` is not text"))?;
    Ok(text.trim().to_owned())
}

fn read(name: &str) -> Result<Vec<u8>> {
    let path = Path::new(FOLDER).join(name);
    std::fs::read(&path).with_context(|| {
        format!(
            "this pod has no account to reach other pods with: cannot read `{}`",
            path.display()
        )
    })
}
