//! What is done once in a while: the objects that come with the program, and those nobody needs any more.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::sleep};

use crate::{callback_secret, controller::Controller, deliveries, install_objects};

const EVERY: Duration = Duration::from_mins(10);
const SOON: Duration = Duration::from_secs(2);

pub(crate) fn start(controller: Arc<Controller>, tasks: &mut JoinSet<()>) {
    tasks.spawn(async move {
        let closing = controller.closing.clone();
        tokio::select! {
            () = work(&controller) => {}
            () = closing.heard() => {}
        }
    });
}

async fn work(controller: &Controller) {
    controller.world.synced().await;
    while let Err(error) = install_objects(&controller.world.client).await {
        tracing::warn!(%error, "templates and node groups cannot be made, will be tried again");
        sleep(SOON).await;
    }
    let mut doubtful = HashSet::new();
    loop {
        sleep(EVERY).await;
        match controller
            .kitchen
            .revisions
            .sweep(&controller.world, doubtful)
            .await
        {
            Ok(unused) => doubtful = unused,
            Err(error) => {
                tracing::warn!(%error, "revisions that nobody needs are kept for now");
                doubtful = HashSet::new();
            }
        }
        if let Err(error) = deliveries::sweep(&controller.world).await {
            tracing::warn!(%error, "deliveries that nobody needs are kept for now");
        }
        if let Err(error) = callback_secret::sweep(&controller.world).await {
            tracing::warn!(%error, "headers that nobody needs are kept for now");
        }
    }
}
