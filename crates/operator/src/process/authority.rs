//! Until when this process may act. Whoever writes looks here first, so that a process that was stopped
//! and wakes up after its lease has passed on does nothing, whatever it was in the middle of.

use std::{
    sync::Arc,
    time::{Instant, SystemTime},
};

use parking_lot::Mutex;
use std::time::Duration;

/// A cheap handle; clones are the same authority.
#[derive(Clone, Debug, Default)]
pub(crate) struct Authority {
    until: Arc<Mutex<Until>>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Until {
    #[default]
    Never,
    /// Both clocks must agree: the steady one does not count while a machine sleeps, the other may be set
    /// back.
    End(Instant, SystemTime),
    Always,
}

/// A moment by both clocks, taken before a lease is renewed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(Instant, SystemTime);

impl Moment {
    pub(crate) fn now() -> Self {
        Self(Instant::now(), SystemTime::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        let by_wall = self.1.elapsed().unwrap_or_default();
        self.0.elapsed().max(by_wall)
    }
}

impl Authority {
    /// May act from a moment on, for so long.
    pub(crate) fn extend(&self, from: Moment, length: Duration) {
        *self.until.lock() = Until::End(from.0 + length, from.1 + length);
    }

    pub(crate) fn grant_for_good(&self) {
        *self.until.lock() = Until::Always;
    }

    pub(crate) fn withdraw(&self) {
        *self.until.lock() = Until::Never;
    }

    pub(crate) fn holds(&self) -> bool {
        !self.left().is_zero()
    }

    /// How long it still holds.
    pub(crate) fn left(&self) -> Duration {
        match *self.until.lock() {
            Until::Never => Duration::ZERO,
            Until::Always => Duration::MAX,
            Until::End(steady, wall) => {
                let by_wall = wall.duration_since(SystemTime::now()).unwrap_or_default();
                steady.saturating_duration_since(Instant::now()).min(by_wall)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authority_ends_by_itself_and_can_be_withdrawn() {
        let authority = Authority::default();
        assert!(!authority.holds());
        authority.extend(Moment::now(), Duration::from_mins(1));
        assert!(authority.holds());
        let long_ago = Moment(Instant::now(), SystemTime::now() - Duration::from_hours(1));
        authority.extend(long_ago, Duration::from_mins(1));
        assert!(!authority.holds(), "the machine slept for an hour");
        authority.grant_for_good();
        assert!(authority.holds());
        authority.withdraw();
        assert!(!authority.holds());
    }
}
