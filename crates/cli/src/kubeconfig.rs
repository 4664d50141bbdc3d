//! The file clients find the cluster by.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use base64::{Engine as _, prelude::BASE64_STANDARD};

pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join("kubeconfig")
}

/// Writes the kubeconfig: readable by its owner only, and never half-written.
pub(crate) fn write(dir: &Path, server: &str, ca_pem: &str, token: &str) -> Result<PathBuf> {
    let path = path(dir);
    write_private(&path, &text(server, ca_pem, token))?;
    Ok(path)
}

/// Writes a file that is readable by its owner only, and never half-written.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = Path::new(&temporary);
    let write = || -> std::io::Result<()> {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(temporary, path)
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}

fn text(server: &str, ca_pem: &str, token: &str) -> String {
    let ca = BASE64_STANDARD.encode(ca_pem);
    format!(
        "apiVersion: v1
kind: Config
current-context: trainyard
clusters:
- name: trainyard
  cluster:
    server: {server}
    certificate-authority-data: {ca}
users:
- name: trainyard-admin
  user:
    token: {token}
contexts:
- name: trainyard
  context:
    cluster: trainyard
    user: trainyard-admin
    namespace: default
"
    )
}
