//! How far a rollout may go beyond the wanted number of pods, and how far below.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};

use crate::amounts::{self, Round};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub replicas: i32,
    pub surge: i32,
    pub unavailable: i32,
}

impl Limits {
    pub(crate) fn of(deployment: &Deployment) -> Self {
        let spec = deployment.spec.as_ref();
        let replicas = spec.and_then(|spec| spec.replicas).unwrap_or(1);
        if !spec.is_some_and(is_rolling) {
            return Self {
                replicas,
                surge: 0,
                unavailable: 0,
            };
        }
        let strategy = spec.and_then(|spec| spec.strategy.as_ref());
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let surge = rolling.and_then(|rolling| rolling.max_surge.as_ref());
        let unavailable = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
        let surge = amounts::of(surge, replicas, Round::Up);
        // Shares may come down to none at all; then one pod may be missing, or nothing could move.
        let unavailable = match amounts::of(unavailable, replicas, Round::Down) {
            0 if surge == 0 => 1,
            unavailable => unavailable,
        };
        Self {
            replicas,
            surge,
            unavailable: unavailable.min(replicas),
        }
    }

    /// The most pods all sets may have together.
    pub(crate) fn most(self) -> i32 {
        self.replicas + self.surge
    }

    /// The least pods that must be available.
    pub(crate) fn least(self) -> i32 {
        self.replicas - self.unavailable
    }
}

pub(crate) fn is_rolling(spec: &DeploymentSpec) -> bool {
    let strategy = spec.strategy.as_ref();
    strategy.and_then(|strategy| strategy.type_.as_deref()) != Some("Recreate")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn limits(replicas: i32, surge: Value, unavailable: Value) -> (i32, i32) {
        let deployment: Deployment = serde_json::from_value(json!({"spec": {
            "replicas": replicas, "selector": {}, "template": {},
            "strategy": {"type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}},
        }}))
        .unwrap();
        let limits = Limits::of(&deployment);
        (limits.surge, limits.unavailable)
    }

    #[test]
    fn surge_is_rounded_up_and_unavailability_down() {
        assert_eq!(limits(10, json!("25%"), json!("25%")), (3, 2));
        assert_eq!(limits(1, json!("25%"), json!("25%")), (1, 0));
    }

    #[test]
    fn something_can_always_move() {
        assert_eq!(limits(2, json!(0), json!("1%")), (0, 1));
        assert_eq!(limits(0, json!(0), json!("1%")), (0, 0));
    }

    #[test]
    fn no_more_can_be_missing_than_there_are() {
        assert_eq!(limits(2, json!(1), json!(5)), (1, 2));
    }
}
