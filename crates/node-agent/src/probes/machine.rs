//! What the results of probes mean for a container. Pure.
//!
//! Startup holds the others back until it has passed; liveness and startup condemn a container,
//! readiness says whether it is to be used. One result changes nothing until it was repeated as often
//! as its threshold says.

use k8s_openapi::api::core::v1::{Container, Probe};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Startup,
    Readiness,
    Liveness,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Startup, Self::Readiness, Self::Liveness];

    pub fn of(self, container: &Container) -> Option<&Probe> {
        match self {
            Self::Startup => container.startup_probe.as_ref(),
            Self::Readiness => container.readiness_probe.as_ref(),
            Self::Liveness => container.liveness_probe.as_ref(),
        }
    }

    /// As events begin.
    pub fn title(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Readiness => "Readiness",
            Self::Liveness => "Liveness",
        }
    }

    /// As events name it further on.
    pub fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Readiness => "readiness",
            Self::Liveness => "liveness",
        }
    }
}

/// Why a container is killed, for the event that tells of it.
pub fn doom(container: &str, kind: Kind, is_init: bool, is_restarted: bool) -> String {
    let title = if is_init { "Init container" } else { "Container" };
    let fate = if is_restarted { ", will be restarted" } else { "" };
    format!("{title} {container} failed {} probe{fate}", kind.name())
}

/// What is known of one run of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub is_started: bool,
    pub is_ready: bool,
    /// The probe that says it must end.
    pub condemned_by: Option<Kind>,
}

impl Standing {
    /// When a container has just been started.
    pub fn new(container: &Container) -> Self {
        let is_started = container.startup_probe.is_none();
        Self {
            is_started,
            is_ready: is_started && container.readiness_probe.is_none(),
            condemned_by: None,
        }
    }
}

/// Counts results until they mean something.
#[derive(Clone, Debug)]
pub struct Machine {
    standing: Standing,
    startup: Option<Counter>,
    readiness: Option<Counter>,
    liveness: Option<Counter>,
}

impl Machine {
    /// Goes on from what is known already.
    pub fn new(container: &Container, standing: Standing) -> Self {
        let counter = |kind: Kind| kind.of(container).map(Counter::new);
        Self {
            standing,
            startup: counter(Kind::Startup),
            readiness: counter(Kind::Readiness),
            liveness: counter(Kind::Liveness),
        }
    }

    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// Whether a probe of this kind has something to say now.
    pub fn listens_to(&self, kind: Kind) -> bool {
        let is_its_time = match kind {
            Kind::Startup => !self.standing.is_started,
            Kind::Readiness | Kind::Liveness => self.standing.is_started,
        };
        is_its_time && self.standing.condemned_by.is_none()
    }

    /// Takes in one result. Returns the standing if it has changed.
    pub fn hear(&mut self, kind: Kind, has_passed: bool) -> Option<Standing> {
        if !self.listens_to(kind) {
            return None;
        }
        let has_readiness = self.readiness.is_some();
        let counter = match kind {
            Kind::Startup => &mut self.startup,
            Kind::Readiness => &mut self.readiness,
            Kind::Liveness => &mut self.liveness,
        };
        if !counter.as_mut()?.counts(has_passed) {
            return None;
        }
        let before = self.standing;
        match (kind, has_passed) {
            (Kind::Startup, true) => {
                self.standing.is_started = true;
                self.standing.is_ready = !has_readiness;
            }
            (Kind::Readiness, _) => self.standing.is_ready = has_passed,
            (Kind::Liveness, true) => {}
            (Kind::Startup | Kind::Liveness, false) => self.standing.condemned_by = Some(kind),
        }
        (self.standing != before).then_some(self.standing)
    }
}

/// The same result how often in a row.
#[derive(Clone, Debug)]
struct Counter {
    successes: u32,
    failures: u32,
    last: bool,
    row: u32,
}

impl Counter {
    fn new(probe: &Probe) -> Self {
        let threshold = |given: Option<i32>, usual: u32| {
            let given = given.and_then(|given| u32::try_from(given).ok());
            given.filter(|given| *given > 0).unwrap_or(usual)
        };
        Self {
            successes: threshold(probe.success_threshold, 1),
            failures: threshold(probe.failure_threshold, 3),
            last: false,
            row: 0,
        }
    }

    /// Counts one more; true once there are enough of them.
    fn counts(&mut self, has_passed: bool) -> bool {
        self.row = if self.last == has_passed {
            self.row.saturating_add(1)
        } else {
            1
        };
        self.last = has_passed;
        let enough = if has_passed { self.successes } else { self.failures };
        self.row >= enough
    }
}

#[cfg(test)]
mod tests;
