//! How the daemons fare, in numbers. Pure.

use k8s_openapi::api::apps::v1::DaemonSetStatus;

use super::Fleet;
use crate::{daemon_sets::eligibility::Standing, pods::health};

impl Fleet<'_> {
    pub(super) fn status(&self) -> DaemonSetStatus {
        let set = self.observed.set;
        let before = set.status.clone().unwrap_or_default();
        let mut status = DaemonSetStatus {
            observed_generation: set.metadata.generation,
            collision_count: before.collision_count,
            conditions: before.conditions,
            ..DaemonSetStatus::default()
        };
        let (mut available, mut updated) = (0, 0);
        for (node, standing) in &self.standings {
            let first = self.on(node).first();
            match (standing, first) {
                (Standing::Wanted, None) => status.desired_number_scheduled += 1,
                (Standing::Wanted, Some(pod)) => {
                    status.desired_number_scheduled += 1;
                    status.current_number_scheduled += 1;
                    status.number_ready += i32::from(health::is_ready(pod));
                    available += i32::from(self.is_available(pod));
                    updated += i32::from(self.is_updated(pod));
                }
                (_, Some(_)) => status.number_misscheduled += 1,
                (_, None) => {}
            }
        }
        // What is zero is not written, as Go leaves it out.
        let unavailable = status.desired_number_scheduled - available;
        status.number_available = Some(available).filter(|count| *count != 0);
        status.number_unavailable = Some(unavailable).filter(|count| *count != 0);
        status.updated_number_scheduled = Some(updated).filter(|count| *count != 0);
        status
    }
}
