//! Pipelines on any Kubernetes API: workflows that run, and workflows that begin by the clock.
//!
//! `workflows` decides, this crate observes and applies: pods are made, then the object is stored, then what is
//! over is cleaned up. Nothing is kept outside the API.

mod apply;
mod clock;
mod kept;
mod lookups;
mod places;
mod rival;
mod workflow;
mod world;

use std::sync::Arc;

use futures_util::future::join_all;
use kube::Client;
use reconcile::{Closing, definitions};
use resources::workflows::{ALL, GROUP, VERSION};
use tokio::task::JoinSet;
use workflows::Settings;

use crate::{rival::Rival, world::World};

/// The field manager of what this engine applies.
const MANAGER: &str = "trainyard-pipelines";

/// How workflows are looked after.
#[derive(Clone, Debug)]
pub struct Options {
    pub settings: Settings,
    /// Whether to put the kinds into the cluster, instead of waiting for somebody else to.
    pub installs: bool,
    /// Whether Argo's own controller may be there, which is given way to while it is.
    pub gives_way: bool,
}

/// Puts the kinds into the cluster and waits until it has them.
pub async fn install(client: &Client) {
    join_all(ALL.into_iter().map(|kind| async {
        definitions::install(client, MANAGER, &kind.definition()).await;
    }))
    .await;
    await_kinds(client).await;
}

/// Resolves when the cluster has the kinds.
pub async fn await_kinds(client: &Client) {
    for kind in ALL {
        definitions::served(client, GROUP, VERSION, kind.plural).await;
    }
}

/// Starts to look after all workflows of a cluster, once it has the kinds. It acts until the tasks are dropped;
/// after a word by `closing` they finish what they have begun and end by themselves.
pub fn start(client: Client, options: Options, closing: &Closing) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let closing = closing.clone();
    tasks.spawn(async move {
        let mut rival = Rival::new(client.clone());
        while !closing.is_said() {
            term(&client, &mut rival, &options, &closing).await;
        }
    });
    tasks
}

/// From when nobody else looks after workflows until somebody does, or all is to end.
async fn term(client: &Client, rival: &mut Rival, options: &Options, closing: &Closing) {
    let ready = async {
        if options.gives_way {
            // Before the kinds, which are its own where it is.
            rival.gone().await;
        }
        if options.installs {
            install(client).await;
        } else {
            await_kinds(client).await;
        }
        let world = Arc::new(World::new(client.clone()));
        world.synced().await;
        // That may have taken long, and whoever brought the kinds may have brought more.
        let is_late = options.gives_way && rival.is_in_the_way().await;
        (!is_late).then_some(world)
    };
    let world = tokio::select! {
        world = ready => world,
        () = closing.heard() => None,
    };
    let Some(world) = world else { return };
    let over = Closing::default();
    let running = workflow::follow(world.clone(), options.settings.clone(), over.clone());
    let clock = clock::follow(world, over.clone());
    let until = async {
        tokio::select! {
            () = closing.heard() => {}
            () = rival.comes(), if options.gives_way => {}
        }
        over.close();
    };
    tokio::join!(running, clock, until);
}
