//! Which backend a client gets: one after the other, or the same one again. The clock is an argument.

use std::{
    collections::HashMap,
    net::IpAddr,
    time::{Duration, Instant},
};

use crate::table::relays::{Backend, Backends};

/// More clients than this are not remembered at a time.
const MOST_CLIENTS: usize = 16_384;

#[derive(Debug)]
pub(crate) struct Choice {
    backends: Backends,
    next: usize,
    remembered: HashMap<IpAddr, (Backend, Instant)>,
}

impl Choice {
    pub(crate) fn new(backends: Backends) -> Self {
        Self {
            backends,
            next: 0,
            remembered: HashMap::new(),
        }
    }

    /// Clients stay with backends that are still there.
    pub(crate) fn replace(&mut self, backends: Backends) {
        self.remembered
            .retain(|_, (backend, _)| backends.all.contains(backend));
        self.backends = backends;
    }

    /// The backends to try for a client, the best first.
    pub(crate) fn order(&mut self, client: IpAddr, now: Instant) -> Vec<Backend> {
        let mut order = self.backends.all.clone();
        if let Some(place) = self.remembered_place(client, now) {
            order.swap(0, place);
        } else if !order.is_empty() {
            let first = self.next % order.len();
            order.rotate_left(first);
            self.next = first + 1;
        }
        order
    }

    /// The client has got this backend.
    pub(crate) fn settle(&mut self, client: IpAddr, backend: Backend, now: Instant) {
        let Some(timeout) = self.timeout() else { return };
        if self.remembered.len() >= MOST_CLIENTS {
            self.remembered
                .retain(|_, (_, last)| now.duration_since(*last) < timeout);
        }
        if self.remembered.len() < MOST_CLIENTS || self.remembered.contains_key(&client) {
            self.remembered.insert(client, (backend, now));
        }
    }

    fn remembered_place(&self, client: IpAddr, now: Instant) -> Option<usize> {
        let timeout = self.timeout()?;
        let (backend, last) = self.remembered.get(&client)?;
        let fresh = now.duration_since(*last) < timeout;
        self.backends
            .all
            .iter()
            .position(|one| one == backend)
            .filter(|_| fresh)
    }

    fn timeout(&self) -> Option<Duration> {
        let affinity = self.backends.affinity?;
        Some(Duration::from_secs(affinity.timeout_seconds.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        problem::Claimant,
        table::{Affinity, relays::Side},
    };

    fn backend(last: u8) -> Backend {
        Backend {
            side: Side::Node,
            address: format!("10.244.0.{last}:80").parse().unwrap(),
        }
    }

    fn backends(all: Vec<Backend>, affinity: Option<Affinity>) -> Backends {
        Backends {
            claimant: Claimant::Pod("any".to_owned()),
            all,
            affinity,
        }
    }

    fn choice(affinity: Option<Affinity>) -> Choice {
        Choice::new(backends(vec![backend(2), backend(3), backend(4)], affinity))
    }

    fn client(last: u8) -> IpAddr {
        format!("10.244.0.{last}").parse().unwrap()
    }

    #[test]
    fn backends_take_turns_and_all_are_tried() {
        let mut choice = choice(None);
        let now = Instant::now();
        let firsts: Vec<Backend> = (0..4).map(|_| choice.order(client(9), now)[0]).collect();
        assert_eq!(firsts, [backend(2), backend(3), backend(4), backend(2)]);
        assert_eq!(choice.order(client(9), now), [backend(3), backend(4), backend(2)]);
    }

    #[test]
    fn a_client_stays_with_its_backend_until_it_is_away_too_long() {
        let mut choice = choice(Some(Affinity { timeout_seconds: 10 }));
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        choice.order(client(8), start);
        let first = choice.order(client(9), start)[0];
        choice.settle(client(9), first, start);
        assert_eq!(choice.order(client(9), later(9))[0], first);
        choice.settle(client(9), first, later(9));
        assert_eq!(choice.order(client(9), later(18))[0], first);
        assert_ne!(choice.order(client(9), later(19))[0], first);
    }

    #[test]
    fn a_client_whose_backend_is_gone_gets_another() {
        let mut choice = choice(Some(Affinity { timeout_seconds: 10 }));
        let now = Instant::now();
        choice.settle(client(9), backend(4), now);
        let affinity = Some(Affinity { timeout_seconds: 10 });
        choice.replace(backends(vec![backend(2)], affinity));
        assert_eq!(choice.order(client(9), now), [backend(2)]);
    }
}
