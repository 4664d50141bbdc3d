//! Who acts: the lease, and times by which no two lead.

use std::time::Duration;

use anyhow::Result;
use operator::{Connection, Election, Times};

use super::Arguments;
use crate::advised;

/// The spread of its looks that client-go leaves room for.
const JITTER: f64 = 1.2;

pub(super) fn times(arguments: &Arguments) -> Times {
    Times {
        lease: arguments.leader_elect_lease_duration,
        renew_within: arguments.leader_elect_renew_deadline,
        look_every: arguments.leader_elect_retry_period,
    }
}

/// Refuses times by which a leader would still act when another takes its lease, or would give it up without having
/// tried to renew it: the rules of client-go.
pub(super) fn check(times: &Times) -> Result<()> {
    let Times {
        lease,
        renew_within,
        look_every,
    } = *times;
    // A record has whole seconds, which are what others go by.
    let recorded = lease.min(Duration::from_secs(lease.as_secs().max(1)));
    if recorded <= renew_within {
        return Err(advised(
            format!(
                "--leader-elect-lease-duration ({lease:?}) must be longer than --leader-elect-renew-deadline \
                 ({renew_within:?}), in whole seconds: another would lead while this one still acts"
            ),
            "give a longer --leader-elect-lease-duration, or a shorter --leader-elect-renew-deadline; 15s and 10s are usual",
        ));
    }
    if renew_within <= look_every.mul_f64(JITTER) {
        return Err(advised(
            format!(
                "--leader-elect-renew-deadline ({renew_within:?}) must be longer than {JITTER} times \
                 --leader-elect-retry-period ({look_every:?}): the lease would be given up before it is renewed"
            ),
            "give a longer --leader-elect-renew-deadline, or a shorter --leader-elect-retry-period; 10s and 2s are usual",
        ));
    }
    Ok(())
}

pub(super) fn election(arguments: &Arguments, connection: &Connection) -> Election {
    let given = arguments.lease_namespace.clone().filter(|name| !name.is_empty());
    let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    let name = arguments.identity.clone().filter(|name| !name.is_empty());
    Election {
        namespace: given.unwrap_or_else(|| connection.namespace.clone()),
        name: arguments.lease_name.clone(),
        identity: format!("{}_{}", name.unwrap_or_else(host), uuid::Uuid::new_v4()),
        times: times(arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(times: [u64; 3], expected: Option<&str>) {
        let [lease, renew_within, look_every] = times.map(Duration::from_millis);
        let result = super::check(&Times {
            lease,
            renew_within,
            look_every,
        });
        match (result, expected) {
            (Ok(()), None) => {}
            (Err(error), Some(flag)) => assert!(error.to_string().starts_with(flag), "{error}"),
            (result, _) => panic!("{times:?}: {result:?}"),
        }
    }

    #[test]
    fn times_by_which_two_would_lead_or_none_would_stay_are_refused() {
        check([15_000, 10_000, 2_000], None);
        check([3_000, 2_000, 500], None);
        check([900, 500, 100], None);
        let lease = Some("--leader-elect-lease-duration");
        check([10_000, 10_000, 2_000], lease);
        check([5_000, 10_000, 2_000], lease);
        // Others read that it is 2 s.
        check([2_900, 2_500, 500], lease);
        let renewal = Some("--leader-elect-renew-deadline");
        check([15_000, 10_000, 10_000], renewal);
        check([15_000, 12_000, 10_000], renewal);
        check([15_000, 12_001, 10_000], None);
    }
}
