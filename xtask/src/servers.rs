//! The servers that developer commands put side by side: ours, and a real one to compare it with.

mod cluster;
mod kubectl;
mod kwok;
mod ours;
mod real;

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;

pub(crate) use self::{
    cluster::Cluster,
    kubectl::Kubectl,
    kwok::kwok,
    ours::{Ours, Profile, build},
    real::{Durability, Real},
};
use crate::{
    processes::{Background, wait_until},
    run,
};

/// One of the two.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Side {
    Ours,
    Real,
}

/// A server that can be started, any number of times, in the folder it was made for.
pub(crate) trait Server {
    fn name(&self) -> &'static str;

    /// Starts its programs and does not wait. They are in the order in which to stop them.
    fn start(&self) -> Result<Vec<Background>>;

    fn url(&self) -> String;

    /// The certificate authority to trust, in a file that is there once the server is ready.
    fn authority(&self) -> PathBuf;

    /// The token of an administrator, known once the server is ready.
    fn token(&self) -> Result<String>;
}

/// Starts a server and waits until it accepts connections.
pub(crate) fn start_and_wait(server: &(impl Server + ?Sized), patience: Duration) -> Result<Vec<Background>> {
    let mut parts = server.start()?;
    let url = server.url();
    let address = url.trim_start_matches("https://");
    wait_until(&url, patience, || {
        parts.iter_mut().try_for_each(Background::check_alive)?;
        Ok(TcpStream::connect(address).is_ok() && server.token().is_ok())
    })?;
    Ok(parts)
}

/// Whether there is a real server to compare with. Without one the half that can run does.
pub(crate) fn is_real_available(only: Option<Side>) -> Result<bool> {
    if real::is_built()? || run::is_installed("go") {
        return Ok(true);
    }
    let reason = "a real kube-apiserver is neither built (`cargo xtask real-kubernetes`) nor can be: Go is not installed";
    if only == Some(Side::Real) || run::is_ci() {
        bail!("{reason}");
    }
    eprintln!("{reason}; running against ours only");
    Ok(false)
}

/// A folder for one server's data and logs.
pub(crate) fn subfolder(work: &Path, name: &str) -> Result<PathBuf> {
    let path = work.join(name);
    fs::create_dir_all(&path).with_context(|| format!("cannot create `{}`", path.display()))?;
    Ok(path)
}

/// Ports nobody uses now. All are held until each is known, so that they differ.
pub(crate) fn free_ports<const COUNT: usize>() -> Result<[u16; COUNT]> {
    let mut listeners = Vec::with_capacity(COUNT);
    let mut ports = [0; COUNT];
    for port in &mut ports {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}
