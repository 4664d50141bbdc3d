//! How long a daemon that failed on a node has to wait for its next attempt: a second at first, twice
//! as long each time, a quarter of an hour at most.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use reconcile::Key;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(15);

struct Setback {
    at: Instant,
    wait: Duration,
}

#[derive(Default)]
pub(crate) struct Setbacks {
    by_set: Mutex<HashMap<Key, HashMap<String, Setback>>>,
}

impl Setbacks {
    /// Nodes whose daemon has to wait, and how long.
    pub(crate) fn held_back(&self, set: &Key) -> HashMap<String, Duration> {
        let by_set = self.by_set.lock();
        let setbacks = by_set.get(set).into_iter().flatten();
        setbacks
            .map(|(node, setback)| (node.clone(), setback.wait.saturating_sub(setback.at.elapsed())))
            .filter(|(_, left)| !left.is_zero())
            .collect()
    }

    /// A daemon failed and is replaced now; after a long time without failures the count begins anew.
    pub(crate) fn count(&self, set: &Key, node: &str) {
        let mut by_set = self.by_set.lock();
        let setbacks = by_set.entry(set.clone()).or_default();
        let wait = match setbacks.get(node) {
            Some(last) if last.at.elapsed() < 2 * LONGEST => (last.wait * 2).min(LONGEST),
            _ => FIRST,
        };
        let at = Instant::now();
        setbacks.insert(node.to_owned(), Setback { at, wait });
    }

    pub(crate) fn forget(&self, set: &Key) {
        self.by_set.lock().remove(set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_failure_doubles_the_wait() {
        let setbacks = Setbacks::default();
        let set = Key::new("n", "d");
        setbacks.count(&set, "a");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(setbacks.held_back(&set).is_empty());
        setbacks.count(&set, "a");
        assert_eq!(setbacks.held_back(&set)["a"], Duration::from_secs(2));
        setbacks.forget(&set);
        assert!(setbacks.held_back(&set).is_empty());
    }
}
