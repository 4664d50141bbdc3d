//! The time servers need to come to rest: what one of them still does after its work (collecting garbage, writing
//! files) must not be counted against the next.

use std::{fs, time::Duration};

use tokio::time::sleep;

/// So often the processors are looked at.
const GLANCE: Duration = Duration::from_millis(50);
/// A machine that others use never rests; it is measured as it is.
const GLANCES: usize = 40;
/// Of a hundred ticks of all processors, so many may be spent.
const BUSY_PERCENT: u64 = 10;

/// Resolves when the processors have next to nothing to do.
pub(crate) async fn at_rest() {
    let mut before = Ticks::now();
    for _ in 0..GLANCES {
        sleep(GLANCE).await;
        let now = Ticks::now();
        if now.busy_since(&before) * 100 <= BUSY_PERCENT * now.all_since(&before) {
            return;
        }
        before = now;
    }
}

#[derive(Default)]
struct Ticks {
    all: u64,
    idle: u64,
}

impl Ticks {
    /// Nothing where the kernel tells nothing.
    fn now() -> Self {
        Self::read(&fs::read_to_string("/proc/stat").unwrap_or_default()).unwrap_or_default()
    }

    fn read(stat: &str) -> Option<Self> {
        let ticks = stat.lines().next()?.split_whitespace().skip(1);
        let ticks: Vec<u64> = ticks.filter_map(|ticks| ticks.parse().ok()).collect();
        // User, nice, system, idle, waiting for disks, …
        Some(Self {
            all: ticks.iter().sum(),
            idle: ticks.get(3)? + ticks.get(4)?,
        })
    }

    fn all_since(&self, before: &Self) -> u64 {
        self.all.saturating_sub(before.all)
    }

    fn busy_since(&self, before: &Self) -> u64 {
        let idle = self.idle.saturating_sub(before.idle);
        self.all_since(before).saturating_sub(idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_idle_and_waits_for_no_disk_is_busy() {
        let before = Ticks::read("cpu  10 0 5 100 20 0 1 2 0 0\ncpu0 1").unwrap();
        let now = Ticks::read("cpu  14 0 6 140 25 0 1 2 0 0\ncpu0 1").unwrap();
        assert_eq!((now.all_since(&before), now.busy_since(&before)), (50, 5));
    }
}
