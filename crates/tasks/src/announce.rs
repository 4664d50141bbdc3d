//! Events of a task become deliveries, one for each endpoint.

use reconcile::requests;
use resources::tasks::CALLBACK_DELIVERY;

use crate::{
    callbacks::payload,
    controller::Controller,
    deliveries::KeptDelivery,
    places::{self, folder},
    plan::Task,
};

impl Controller {
    /// Makes the deliveries of the events from one on, in their order; the last one that has all of its own.
    pub(crate) async fn announce(&self, task: &Task, from: i64) -> kube::Result<i64> {
        let folder = folder(&places::of(&CALLBACK_DELIVERY), Some(&task.namespace));
        let mut last = task.status.announced;
        for event in task.status.events.iter().filter(|event| event.sequence >= from) {
            for endpoint in task.endpoints() {
                let delivery = payload::delivery(task, event, &endpoint);
                match requests::create::<KeptDelivery>(&self.world.client, &folder, &delivery).await {
                    Ok(made) => self.world.deliveries.wrote(made),
                    // Made before this process, or whoever was before it, could say so.
                    Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
                    // Its namespace goes away, and would take it along.
                    Err(kube::Error::Api(status)) if status.code == 403 && task.is_deleting() => {}
                    Err(error) => return Err(error),
                }
            }
            last = event.sequence;
        }
        Ok(last)
    }
}
