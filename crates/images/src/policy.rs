//! Whether to pull, what to say of it, and when to try again: the kubelet's rules and words, without
//! doing anything.

mod backoff;

use std::time::Duration;

pub use self::backoff::Backoff;
use crate::reference::{InvalidName, Reference};

/// `imagePullPolicy`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullPolicy {
    Always,
    IfNotPresent,
    Never,
}

impl PullPolicy {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "Always" => Some(Self::Always),
            "IfNotPresent" => Some(Self::IfNotPresent),
            "Never" => Some(Self::Never),
            _ => None,
        }
    }
}

/// What is to be done for a container's image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It is here.
    Use(Event),
    Pull(Event),
    /// The container waits, for a reason.
    Wait(Waiting),
}

/// Why a container is not running: `state.waiting` of its status, and the events that tell of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub reason: &'static str,
    pub message: String,
    pub events: Vec<Event>,
}

/// An event about a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub is_warning: bool,
    pub reason: &'static str,
    pub message: String,
}

/// What to do for an image that is or is not here, after earlier failures if there were any. `image` is
/// as the pod names it.
pub fn decide(
    policy: PullPolicy,
    image: &str,
    is_present: bool,
    backoff: Option<&Backoff>,
    now: Duration,
) -> Decision {
    match (policy, is_present) {
        (PullPolicy::IfNotPresent | PullPolicy::Never, true) => Decision::Use(Event::normal(
            "Pulled",
            format!("Container image {image:?} already present on machine"),
        )),
        (PullPolicy::Never, false) => {
            let message = format!("Container image {image:?} is not present with pull policy of Never");
            let event = Event::warning("ErrImageNeverPull", message.clone());
            Decision::Wait(Waiting::new("ErrImageNeverPull", message, event))
        }
        (PullPolicy::Always, _) | (PullPolicy::IfNotPresent, false) => match backoff {
            Some(backoff) if backoff.is_waiting(now) => Decision::Wait(backing_off(image, backoff)),
            _ => Decision::Pull(Event::normal("Pulling", format!("Pulling image {image:?}"))),
        },
    }
}

/// The name of a container's image, or why there is none.
pub fn parse_name(image: &str) -> Result<Reference, Waiting> {
    image.parse().map_err(|error: InvalidName| {
        let message = format!("Failed to apply default image tag {image:?}: {error}");
        let event = Event::warning("InspectFailed", message.clone());
        Waiting::new("InvalidImageName", message, event)
    })
}

/// A pull that went well.
pub fn pulled(image: &str, pulling: Duration, with_waiting: Duration, bytes: u64) -> Event {
    Event::normal(
        "Pulled",
        format!(
            "Successfully pulled image {image:?} in {} ({} including waiting). Image size: {bytes} bytes.",
            shown(pulling),
            shown(with_waiting)
        ),
    )
}

/// A pull that did not, for `cause`.
pub fn failed(image: &str, cause: &str) -> Waiting {
    let event = Event::warning("Failed", format!("Failed to pull image {image:?}: {cause}"));
    Waiting::new("ErrImagePull", cause.to_owned(), event)
}

fn backing_off(image: &str, backoff: &Backoff) -> Waiting {
    let message = format!("Back-off pulling image {image:?}");
    let event = Event::normal("BackOff", message.clone());
    let message = format!("{message}: ErrImagePull: {}", backoff.cause());
    Waiting::new("ImagePullBackOff", message, event)
}

impl Waiting {
    /// Whatever the reason, a second event says that the container was not made for it.
    fn new(reason: &'static str, message: String, event: Event) -> Self {
        let events = vec![event, Event::warning("Failed", format!("Error: {reason}"))];
        Self {
            reason,
            message,
            events,
        }
    }
}

impl Event {
    fn normal(reason: &'static str, message: String) -> Self {
        Self {
            is_warning: false,
            reason,
            message,
        }
    }

    fn warning(reason: &'static str, message: String) -> Self {
        Self {
            is_warning: true,
            ..Self::normal(reason, message)
        }
    }
}

/// Milliseconds as Go writes them: `532ms`, `1.5s`, `2m0.25s`, `0s`.
fn shown(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    if milliseconds == 0 {
        return "0s".to_owned();
    }
    if milliseconds < 1000 {
        return format!("{milliseconds}ms");
    }
    let (minutes, rest) = (milliseconds / 60_000, milliseconds % 60_000);
    let fraction = format!("{:03}", rest % 1000);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    let seconds = format!("{}{point}{fraction}s", rest / 1000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => seconds,
        (0, minutes) => format!("{minutes}m{seconds}"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1000);

    fn decided(policy: PullPolicy, is_present: bool) -> Decision {
        decide(policy, "busybox", is_present, None, NOW)
    }

    #[test]
    fn only_the_policy_always_pulls_what_is_here() {
        let pulls = |policy, is_present| matches!(decided(policy, is_present), Decision::Pull(_));
        assert!(pulls(PullPolicy::Always, true));
        assert!(pulls(PullPolicy::Always, false));
        assert!(!pulls(PullPolicy::IfNotPresent, true));
        assert!(pulls(PullPolicy::IfNotPresent, false));
        assert!(!pulls(PullPolicy::Never, false));
    }

    #[test]
    fn never_means_never() {
        let Decision::Wait(waiting) = decided(PullPolicy::Never, false) else {
            panic!("it waits");
        };
        assert_eq!(waiting.reason, "ErrImageNeverPull");
        assert_eq!(
            waiting.message,
            "Container image \"busybox\" is not present with pull policy of Never"
        );
        assert_eq!(waiting.events[1].message, "Error: ErrImageNeverPull");
    }

    #[test]
    fn a_failed_pull_is_not_tried_again_at_once_and_its_cause_stays_visible() {
        let backoff = Backoff::first("no such host", NOW);
        let Decision::Wait(waiting) = decide(
            PullPolicy::Always,
            "busybox",
            false,
            Some(&backoff),
            NOW + Duration::from_secs(9),
        ) else {
            panic!("it waits");
        };
        assert_eq!(waiting.reason, "ImagePullBackOff");
        assert_eq!(
            waiting.message,
            "Back-off pulling image \"busybox\": ErrImagePull: no such host"
        );
        assert_eq!(waiting.events[0].message, "Back-off pulling image \"busybox\"");
        let later = NOW + Duration::from_secs(11);
        let decision = decide(PullPolicy::Always, "busybox", false, Some(&backoff), later);
        assert!(matches!(decision, Decision::Pull(_)));
    }

    #[test]
    fn a_bad_name_is_said_to_be_one() {
        let waiting = parse_name("Bad Name").unwrap_err();
        assert_eq!(waiting.reason, "InvalidImageName");
        assert!(
            waiting
                .message
                .starts_with("Failed to apply default image tag \"Bad Name\": couldn't parse")
        );
    }

    #[test]
    fn durations_look_like_those_of_the_kubelet() {
        let text = |milliseconds| shown(Duration::from_millis(milliseconds));
        assert_eq!(text(532), "532ms");
        assert_eq!(text(1500), "1.5s");
        assert_eq!(text(120_250), "2m0.25s");
        assert_eq!(text(3_600_000), "1h0m0s");
        assert_eq!(text(0), "0s");
        let event = pulled("x", Duration::from_millis(1234), Duration::from_secs(2), 77);
        assert_eq!(
            event.message,
            "Successfully pulled image \"x\" in 1.234s (2s including waiting). Image size: 77 bytes."
        );
    }
}
