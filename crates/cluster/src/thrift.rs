//! A cluster that has nothing to do takes little memory.

use std::time::Duration;

use tokio::{task::JoinSet, time::sleep};

/// So often the cluster looks at itself.
const GLANCE: Duration = Duration::from_secs(5);
/// Whoever took less of a processor since the last glance is idle.
const IDLE: Duration = Duration::from_millis(50);

/// Lets go of code that nobody needs whenever the cluster has come to rest.
pub(crate) fn start() -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(async {
        let mut pace = Pace::default();
        loop {
            sleep(GLANCE).await;
            let rests = node_agent::processor_time().is_ok_and(|spent| pace.has_come_to_rest(spent));
            if rests && let Err(error) = node_agent::release_code() {
                tracing::debug!(%error, "code stays mapped although nobody needs it");
            }
        }
    });
    tasks
}

#[derive(Default)]
struct Pace {
    spent: Duration,
    rests: bool,
}

impl Pace {
    /// Whether work has ended since the last glance; `spent` is all processor time so far.
    fn has_come_to_rest(&mut self, spent: Duration) -> bool {
        let rested = self.rests;
        self.rests = spent.saturating_sub(self.spent) < IDLE;
        self.spent = spent;
        self.rests && !rested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rest_is_noticed_once() {
        let mut pace = Pace::default();
        let spent = [100, 300, 301, 302, 900, 901];
        let noticed = spent.map(|milliseconds| pace.has_come_to_rest(Duration::from_millis(milliseconds)));
        assert_eq!(noticed, [false, false, true, false, false, true]);
    }
}
