//! Argo's own controller: where it is at work, ours is not.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::{Client, api::ListParams, core::Request};
use serde_json::Value;
use tokio::time::sleep;

/// What its lease is called; another instance adds a name of its own and looks after other workflows.
const LEASE: &str = "workflow-controller";
const PAUSE: Duration = Duration::from_secs(10);

/// Resolves when nobody holds the lease of Argo's controller.
pub(crate) async fn gone(client: &Client) {
    let mut is_told = false;
    loop {
        match holder(client).await {
            Ok(None) => return,
            Ok(Some(who)) if is_told => tracing::debug!(who, "Argo's controller is still at work"),
            Ok(Some(who)) => {
                tracing::warn!(
                    who,
                    "Argo's controller is at work on this cluster; workflows are left to it"
                );
                is_told = true;
            }
            Err(error) => tracing::warn!(%error, "cannot find out whether Argo's controller is at work"),
        }
        sleep(PAUSE).await;
    }
}

/// Resolves when somebody holds it again: Argo was installed, or started again, beside ours.
pub(crate) async fn comes(client: &Client) {
    loop {
        sleep(PAUSE).await;
        match holder(client).await {
            Ok(None) => {}
            Ok(Some(_)) => return,
            Err(error) => tracing::debug!(%error, "cannot find out whether Argo's controller is at work"),
        }
    }
}

async fn holder(client: &Client) -> kube::Result<Option<String>> {
    let request = Request::new("/apis/coordination.k8s.io/v1/leases").list(&ListParams::default());
    let leases: Value = client
        .request(request.map_err(kube::Error::BuildRequest)?)
        .await?;
    let now = Timestamp::now();
    let mut items = leases["items"].as_array().into_iter().flatten();
    Ok(items.find_map(|lease| held_by(lease, now)))
}

/// Who holds Argo's lease, if this is it and it is held.
fn held_by(lease: &Value, now: Timestamp) -> Option<String> {
    if lease["metadata"]["name"] != LEASE {
        return None;
    }
    let spec = &lease["spec"];
    let who = spec["holderIdentity"].as_str().filter(|who| !who.is_empty())?;
    let renewed: Timestamp = spec["renewTime"].as_str()?.parse().ok()?;
    let lasts = spec["leaseDurationSeconds"].as_i64().unwrap_or_default();
    let until = renewed.saturating_add(SignedDuration::from_secs(lasts)).ok()?;
    (until > now).then(|| who.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lease_counts_while_it_lasts() {
        let lease = json!({
            "metadata": {"name": LEASE},
            "spec": {"holderIdentity": "argo", "renewTime": "2026-01-01T00:00:00.000000Z", "leaseDurationSeconds": 15},
        });
        let at = |text: &str| held_by(&lease, text.parse().unwrap());
        assert_eq!(at("2026-01-01T00:00:10Z"), Some("argo".to_owned()));
        assert_eq!(at("2026-01-01T00:00:15Z"), None);
    }
}
