//! Which pod has which address. Pure; the process keeps it in `state.json`.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};

use ipnet::Ipv4Net;

/// Addresses of one range, each with the pod that has it.
///
/// A freed address is handed out again only after all others were, so that a name or a connection
/// that still means the old pod does not reach a new one.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    range: Ipv4Net,
    by_pod: BTreeMap<String, Ipv4Addr>,
    taken: BTreeSet<Ipv4Addr>,
    /// The place in the range after the last one handed out.
    next: u32,
}

/// The network's own address and the gateway's come before the first pod's.
const FIRST: u32 = 2;

impl Addresses {
    /// Starts from what an earlier process had handed out, as far as it lies in the range.
    pub(crate) fn new(range: Ipv4Net, by_pod: BTreeMap<String, Ipv4Addr>) -> Self {
        let mut addresses = Self {
            range,
            by_pod: BTreeMap::new(),
            taken: BTreeSet::new(),
            next: FIRST,
        };
        for (pod, address) in by_pod {
            if addresses.is_for_pods(address) && addresses.taken.insert(address) {
                addresses.next = addresses.next.max(addresses.place(address) + 1);
                addresses.by_pod.insert(pod, address);
            }
        }
        addresses
    }

    /// The pod's address; a new one if it has none. `None` when all are taken.
    pub(crate) fn take(&mut self, pod: &str) -> Option<Ipv4Addr> {
        if let Some(address) = self.by_pod.get(pod) {
            return Some(*address);
        }
        let last = self.last();
        let places = (self.next..=last).chain(FIRST..=last);
        let address = places
            .map(|place| self.at(place))
            .find(|address| !self.taken.contains(address))?;
        self.next = self.place(address) + 1;
        self.taken.insert(address);
        self.by_pod.insert(pod.to_owned(), address);
        Some(address)
    }

    /// Frees the pod's address and says which it was.
    pub(crate) fn give_back(&mut self, pod: &str) -> Option<Ipv4Addr> {
        let address = self.by_pod.remove(pod)?;
        self.taken.remove(&address);
        Some(address)
    }

    pub(crate) fn by_pod(&self) -> &BTreeMap<String, Ipv4Addr> {
        &self.by_pod
    }

    /// How far into the range an address lies.
    pub(crate) fn place(&self, address: Ipv4Addr) -> u32 {
        u32::from(address).wrapping_sub(u32::from(self.range.network()))
    }

    fn at(&self, place: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.range.network()) + place)
    }

    /// The last address of a range is for broadcasts.
    fn last(&self) -> u32 {
        self.place(self.range.broadcast()).saturating_sub(1)
    }

    fn is_for_pods(&self, address: Ipv4Addr) -> bool {
        self.range.contains(&address) && (FIRST..=self.last()).contains(&self.place(address))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn addresses() -> Addresses {
        Addresses::new("10.244.0.0/29".parse().unwrap(), BTreeMap::new())
    }

    #[test]
    fn a_freed_address_is_used_again_last() {
        let mut addresses = addresses();
        for pod in ["a", "b", "c", "d"] {
            addresses.take(pod);
        }
        addresses.give_back("a");
        assert_eq!(addresses.take("e"), Some("10.244.0.6".parse().unwrap()));
        assert_eq!(addresses.take("f"), Some("10.244.0.2".parse().unwrap()));
        assert_eq!(addresses.take("g"), None);
    }

    #[test]
    fn a_pod_keeps_its_address_over_a_restart() {
        let mut before = addresses();
        before.take("a");
        let held = before.take("b");
        let mut after = Addresses::new("10.244.0.0/29".parse().unwrap(), before.by_pod().clone());
        assert_eq!(after.take("b"), held);
    }

    #[test]
    fn what_lies_outside_the_range_is_forgotten() {
        let old = BTreeMap::from([("a".to_owned(), "10.1.0.1".parse().unwrap())]);
        assert!(
            Addresses::new("10.244.0.0/29".parse().unwrap(), old)
                .by_pod()
                .is_empty()
        );
    }

    proptest! {
        #[test]
        fn no_two_pods_share_an_address(steps in proptest::collection::vec((any::<bool>(), 0..9_u8), 0..60)) {
            let mut addresses = addresses();
            for (takes, pod) in steps {
                let pod = pod.to_string();
                if takes {
                    let full = addresses.by_pod().len() == 5;
                    let known = addresses.by_pod().contains_key(&pod);
                    prop_assert_eq!(addresses.take(&pod).is_some(), known || !full);
                } else {
                    addresses.give_back(&pod);
                }
                let distinct: BTreeSet<_> = addresses.by_pod().values().collect();
                prop_assert_eq!(distinct.len(), addresses.by_pod().len());
                prop_assert!(distinct.iter().all(|address| addresses.is_for_pods(**address)));
            }
        }
    }
}
