//! Tasks on any Kubernetes API: made of templates and values, followed, told of by callbacks, and their logs kept.
//!
//! [`plan`] decides, the controller writes down what was decided and does it. Nothing is kept outside the API but
//! logs, which are files.

mod announce;
mod apply;
mod built_in;
mod callback_secret;
mod callbacks;
mod controller;
mod deliveries;
mod ended;
mod hints;
mod kept;
pub mod logs;
mod node_groups;
mod objects;
mod places;
pub mod plan;
mod prepare;
mod requests;
mod revisions;
mod storage;
mod sweep;
mod usage;
mod world;

use std::{path::PathBuf, sync::Arc};

use futures_util::future::join_all;
use ipnet::IpNet;
use kube::Client;
use parking_lot::Mutex;
use reconcile::{Closing, Recorder, definitions};
use render_worker::Pool;
use resources::tasks::{ALL, GROUP, VERSION, admission};
use serde_json::Value;
use tokio::task::JoinSet;

pub use callbacks::{guard, schedule, signature};
pub use node_groups::{LABEL_DL, LABEL_ML};

use crate::{
    controller::Controller, deliveries::Deliverer, node_groups::Groups, prepare::Kitchen, world::World,
};

/// The field manager of everything this engine applies.
pub(crate) const MANAGER: &str = "trainyard-tasks";

/// How tasks are looked after.
#[derive(Clone, Debug)]
pub struct Options {
    /// This program, which renders templates in processes of its own.
    pub program: PathBuf,
    /// Networks that callbacks may go to beside the public ones.
    pub callbacks_to: Vec<IpNet>,
    /// Authorities, in PEM, that vouch for receivers of callbacks beside those the system trusts.
    pub authorities: Vec<u8>,
    /// Somebody adds nodes to this cluster and says so in events.
    pub has_autoscaler: bool,
    /// Where logs are kept when pods are gone; without it they go with them.
    pub logs: Option<PathBuf>,
    /// Whether to put the kinds into the cluster, instead of waiting for somebody else to.
    pub installs: bool,
}

/// Puts the kinds into the cluster and waits until it has them.
pub async fn install(client: &Client) {
    join_all(ALL.into_iter().map(|kind| async {
        definitions::install(client, MANAGER, &kind.definition()).await;
    }))
    .await;
    await_kinds(client).await;
}

/// What the API server refuses by itself. Tasks work without it, so nobody waits for it, nor for a server that does not
/// take it.
async fn install_policies(client: &Client) {
    for policy in admission::policies() {
        let folder = match policy["kind"].as_str() {
            Some("ValidatingAdmissionPolicy") => admission::POLICIES,
            _ => admission::BINDINGS,
        };
        let name = policy["metadata"]["name"].as_str().unwrap_or_default();
        if let Err(error) = reconcile::requests::apply::<Value>(client, MANAGER, folder, name, &policy).await
        {
            tracing::warn!(%error, policy = name, "a policy on templates cannot be made");
        }
    }
}

/// Makes the templates and node groups that every cluster begins with, where they are not there. The engine does so,
/// too; whoever starts it may want them before anybody asks. Where there are the templates there are the groups.
pub async fn install_objects(client: &Client) -> kube::Result<()> {
    node_groups::install(client).await?;
    built_in::install(client).await
}

/// Resolves when the cluster has the kinds.
pub async fn await_kinds(client: &Client) {
    for kind in ALL {
        definitions::served(client, GROUP, VERSION, kind.plural).await;
    }
}

/// Starts to look after all tasks of a cluster, once it has the kinds. It acts until the tasks are dropped; after a word by
/// `closing` they finish what they have begun and end by themselves.
pub fn start(client: Client, options: Options, closing: &Closing) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let starting = closing.clone();
    tasks.spawn(async move {
        let ready = async {
            if options.installs {
                install(&client).await;
                install_policies(&client).await;
            } else {
                await_kinds(&client).await;
            }
        };
        tokio::select! {
            () = ready => {}
            () = starting.heard() => return,
        }
        let mut tasks = started(client, options, &starting);
        while tasks.join_next().await.is_some() {}
    });
    tasks
}

fn started(client: Client, options: Options, closing: &Closing) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let world = Arc::new(World::new(client.clone()));
    let groups = Groups::new(&world);
    let controller = Controller {
        world: world.clone(),
        kitchen: Kitchen::new(Pool::new(options.program.clone())),
        groups: groups.clone(),
        recorder: Recorder::new(client, "task-controller"),
        closing: closing.clone(),
        hints: Mutex::default(),
        options: Arc::new(options.clone()),
    };
    let client = callbacks::client::Client {
        allowed: options.callbacks_to,
        tls: verified_tls::client_config(&options.authorities),
    };
    let deliverer = Deliverer::new(world.clone(), client);
    let controller = Arc::new(controller);
    sweep::start(controller.clone(), &mut tasks);
    controller::start(controller, &mut tasks);
    deliveries::start(Arc::new(deliverer), closing.clone(), &mut tasks);
    node_groups::start(world.clone(), groups, closing.clone(), &mut tasks);
    usage::start(world.clone(), closing.clone(), &mut tasks);
    if let Some(folder) = options.logs {
        logs::start(world, logs::Archive::new(folder), closing.clone(), &mut tasks);
    }
    tasks
}
