//! The engines alone, against any API server: to try them on a real one, or without a real node.

use std::path::Path;

use anyhow::Result;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use reconcile::Informers;

/// Runs controllers, scheduler and simulated nodes until the program is stopped.
pub(crate) async fn run(kubeconfig: &Path, nodes: usize) -> Result<()> {
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(kubeconfig)?, &options).await?;
    let client = Client::try_from(config)?;
    let directory = tempfile::tempdir()?;
    let offered = controllers::Options {
        directories: Some(controllers::Directories {
            root: directory.path().to_owned(),
            node: None,
            classes: vec!["standard".to_owned()],
        }),
    };
    let informers = Informers::new(client.clone());
    let engines = [
        scheduler::start(client.clone(), &informers),
        controllers::start(client.clone(), &informers, offered),
        simulated_nodes::start(client, &informers, simulated_nodes::Options::of(nodes)),
    ];
    tokio::signal::ctrl_c().await?;
    drop(engines);
    Ok(())
}
