//! Argo's own controller: where it is at work, ours is not.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::{Client, api::ListParams, core::Request};
use serde_json::Value;
use tokio::time::{Instant, sleep};

/// What its lease is called; another instance adds a name of its own and looks after other workflows.
const LEASE: &str = "workflow-controller";
const PAUSE: Duration = Duration::from_secs(10);
/// Argo gives its lease back when it is started anew, and lets it lapse when it crashes: what it has begun is not ours
/// because of that. Its pod is somewhere else, with its image pulled, within so much time.
const AWAY: Duration = Duration::from_mins(2);

/// What is known of it in this process.
pub(crate) struct Rival {
    client: Client,
    manners: Manners,
    /// That it cannot be looked for is told once, until it can.
    has_complained: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Sight {
    /// No lease, or one that lapsed long ago.
    Nobody,
    /// A lease that nobody holds now.
    Left,
    Held(String),
}

/// How long it is waited for.
#[derive(Debug, Default)]
struct Manners {
    has_met: bool,
    away_since: Option<Instant>,
}

impl Manners {
    /// Whether nobody is in the way any more, after the last look; none where it could not be looked.
    fn may_act(&mut self, sight: Option<&Sight>, now: Instant) -> bool {
        match sight {
            Some(Sight::Nobody) if !self.has_met => true,
            Some(Sight::Nobody | Sight::Left) => {
                let since = *self.away_since.get_or_insert(now);
                now.duration_since(since) >= AWAY
            }
            Some(Sight::Held(_)) => {
                self.has_met = true;
                self.away_since = None;
                false
            }
            None => {
                self.away_since = None;
                false
            }
        }
    }
}

impl Rival {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            manners: Manners::default(),
            has_complained: false,
        }
    }

    /// Resolves when nobody holds the lease of Argo's controller, nor is about to take it up again.
    pub(crate) async fn gone(&mut self) {
        self.manners.away_since = None;
        let mut is_told = false;
        loop {
            let sight = self.look().await;
            if self.manners.may_act(sight.as_ref(), Instant::now()) {
                return;
            }
            match sight {
                Some(Sight::Held(who)) if !is_told => {
                    tracing::warn!(
                        who,
                        "Argo's controller is at work on this cluster; workflows are left to it"
                    );
                    is_told = true;
                }
                sight => tracing::debug!(?sight, "workflows are still left to Argo's controller"),
            }
            sleep(PAUSE).await;
        }
    }

    /// Whether somebody holds it again, or that cannot be said: the last look before something is done.
    pub(crate) async fn is_in_the_way(&mut self) -> bool {
        let sight = self.look().await;
        self.meet(sight.as_ref()) || sight.is_none()
    }

    /// Resolves when somebody holds it again: Argo was installed, or started again, beside ours.
    pub(crate) async fn comes(&mut self) {
        loop {
            sleep(PAUSE).await;
            let sight = self.look().await;
            if self.meet(sight.as_ref()) {
                return;
            }
        }
    }

    fn meet(&mut self, sight: Option<&Sight>) -> bool {
        let is_held = matches!(sight, Some(Sight::Held(_)));
        self.manners.has_met |= is_held;
        is_held
    }

    async fn look(&mut self) -> Option<Sight> {
        match sight(&self.client).await {
            Ok(sight) => {
                self.has_complained = false;
                Some(sight)
            }
            Err(error) => {
                if !self.has_complained {
                    tracing::warn!(%error, "cannot find out whether Argo's controller is at work");
                    self.has_complained = true;
                }
                None
            }
        }
    }
}

async fn sight(client: &Client) -> kube::Result<Sight> {
    let named = ListParams::default().fields(&format!("metadata.name={LEASE}"));
    let request = Request::new("/apis/coordination.k8s.io/v1/leases").list(&named);
    let leases: Value = client
        .request(request.map_err(kube::Error::BuildRequest)?)
        .await?;
    let leases = leases["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(seen(leases, Timestamp::now()))
}

/// What leases of that name, one in each namespace at most, tell together.
fn seen(leases: &[Value], now: Timestamp) -> Sight {
    if let Some(who) = leases.iter().find_map(|lease| held_by(lease, now)) {
        return Sight::Held(who);
    }
    let is_old = |lease: &Value| {
        let ended = lasts_until(lease)?.saturating_add(AWAY).ok()?;
        Some(ended <= now)
    };
    // What is left of an Argo that was removed some day keeps nobody from beginning at once.
    if leases.iter().all(|lease| is_old(lease) == Some(true)) {
        return Sight::Nobody;
    }
    Sight::Left
}

/// Who holds a lease, if somebody does.
fn held_by(lease: &Value, now: Timestamp) -> Option<String> {
    let holder = lease["spec"]["holderIdentity"].as_str();
    let who = holder.filter(|who| !who.is_empty())?;
    (lasts_until(lease)? > now).then(|| who.to_owned())
}

fn lasts_until(lease: &Value) -> Option<Timestamp> {
    let spec = &lease["spec"];
    let renewed: Timestamp = spec["renewTime"].as_str()?.parse().ok()?;
    let lasts = spec["leaseDurationSeconds"].as_i64().unwrap_or_default();
    renewed.saturating_add(SignedDuration::from_secs(lasts)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lease(holder: &str) -> Value {
        json!({
            "metadata": {"name": LEASE},
            "spec": {"holderIdentity": holder, "renewTime": "2026-01-01T00:00:00.000000Z", "leaseDurationSeconds": 15},
        })
    }

    #[test]
    fn a_lease_counts_while_it_lasts_and_a_while_longer() {
        let at = |holder: &str, text: &str| seen(&[lease(holder)], text.parse().unwrap());
        assert_eq!(at("argo", "2026-01-01T00:00:10Z"), Sight::Held("argo".to_owned()));
        assert_eq!(at("", "2026-01-01T00:00:10Z"), Sight::Left, "it was given back");
        assert_eq!(at("argo", "2026-01-01T00:00:15Z"), Sight::Left);
        assert_eq!(at("argo", "2026-01-01T00:02:15Z"), Sight::Nobody);
        let now = "2026-01-01T00:00:10Z".parse().unwrap();
        assert_eq!(seen(&[], now), Sight::Nobody);
        assert_eq!(
            seen(&[json!({"spec": {}})], now),
            Sight::Left,
            "nobody knows since when"
        );
    }

    #[test]
    fn who_was_met_is_waited_for_until_it_stays_away() {
        let (held, left) = (Sight::Held("argo".to_owned()), Sight::Left);
        let begun = Instant::now();
        let mut manners = Manners::default();
        let mut at = |sight: Option<&Sight>, seconds: u64| {
            manners.may_act(sight, begun + Duration::from_secs(seconds))
        };
        assert!(!at(Some(&left), 0), "it may only be started anew");
        assert!(!at(Some(&held), 119));
        assert!(!at(Some(&left), 120));
        assert!(
            !at(Some(&Sight::Nobody), 200),
            "its lease was deleted, and it was there"
        );
        assert!(!at(None, 210), "nobody could look");
        assert!(!at(Some(&left), 240));
        assert!(at(Some(&Sight::Nobody), 360));
    }

    #[test]
    fn where_it_never_was_it_is_not_waited_for() {
        assert!(Manners::default().may_act(Some(&Sight::Nobody), Instant::now()));
        assert!(!Manners::default().may_act(None, Instant::now()));
    }
}
