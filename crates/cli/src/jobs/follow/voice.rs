//! One replica's output: which of its runs is listened to, how far, and when all of it was heard. Pure.

use std::time::Duration;

use tokio::time::Instant;

use super::Beginning;
use crate::jobs::{
    job::Job,
    output::{Part, Position},
    replicas::Replica,
};

const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How often the output of a program that has ended is asked for, where it cannot be had.
const MOST_REFUSALS: u32 = 6;

/// How reading ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// There was no more.
    Whole,
    /// The connection broke, or could not be made.
    Broken,
    /// The cluster has no such output, or none yet.
    Refused,
    /// It never will have.
    Never,
}

/// A pod that is listened to. Its runs come one after the other, so one position serves for all.
#[derive(Debug)]
pub(super) struct Voice {
    /// The run that is listened to.
    run: i64,
    position: Position,
    /// Only so many of the lines that it has printed before.
    tail: Option<u64>,
    state: State,
    /// How often it was asked since something was heard.
    tries: u32,
}

#[derive(Debug)]
enum State {
    /// Being read; whether the run was over when that began, so that the end of it is the end.
    Reading { was_over: bool },
    /// Not being read until then.
    Pausing { until: Instant },
    /// All of the run was heard.
    Heard,
}

impl Voice {
    /// A pod whose last run is this one.
    pub(super) fn of(last: i64, beginning: Beginning, now: Instant) -> Self {
        let (run, tail) = match beginning {
            // Of those before, one is kept.
            Beginning::First => ((last - 1).max(0), None),
            Beginning::Present { tail } => (last, tail),
        };
        Self {
            run,
            position: Position::default(),
            tail,
            state: State::Pausing { until: now },
            tries: 0,
        }
    }

    /// When it is to be looked at again, though nothing happens.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Pausing { until } => Some(until),
            State::Reading { .. } | State::Heard => None,
        }
    }

    pub(super) fn is_reading(&self) -> bool {
        matches!(self.state, State::Reading { .. })
    }

    /// Whether all that its pod, as it is now, has said was heard.
    pub(super) fn is_silent(&self, job: &Job, replica: &Replica) -> bool {
        let last = replica.attempt(job).map_or(self.run, |attempt| attempt.run);
        matches!(self.state, State::Heard) && last <= self.run
    }

    /// What to read now, if anything.
    pub(super) fn open(&mut self, job: &Job, replica: &Replica, now: Instant) -> Option<Part> {
        let attempt = replica.attempt(job)?;
        let last = attempt.run;
        if matches!(self.state, State::Heard) && last > self.run {
            // Of those that were not heard, only the last but one is kept.
            self.run = (self.run + 1).max(last - 1);
            self.state = State::Pausing { until: now };
            (self.tail, self.tries) = (None, 0);
        }
        match self.state {
            State::Pausing { until } if until <= now => {}
            _ => return None,
        }
        if attempt.is_before_another {
            self.run = last;
        }
        let was_over = last > self.run || !replica.is_running(job);
        self.state = State::Reading { was_over };
        Some(Part {
            after: self.position,
            previous: last > self.run,
            follow: true,
            tail: self.tail,
        })
    }

    /// Notes how reading has ended.
    pub(super) fn ended(&mut self, end: End, position: Position, now: Instant) {
        let State::Reading { was_over } = self.state else {
            return;
        };
        if position != self.position {
            (self.position, self.tries) = (position, 0);
        }
        let is_heard = match end {
            End::Whole | End::Never => was_over,
            End::Refused => was_over && self.tries >= MOST_REFUSALS,
            End::Broken => false,
        };
        self.state = if is_heard {
            State::Heard
        } else {
            let until = now + pause(self.tries);
            State::Pausing { until }
        };
        self.tries += 1;
    }
}

fn pause(count: u32) -> Duration {
    (SHORTEST_PAUSE * 2_u32.saturating_pow(count.min(8))).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use resources::kinds;
    use serde_json::{Value, json};

    use super::*;

    fn job() -> Job {
        Job {
            kind: &kinds::PYTORCH_JOB,
            object: json!({"metadata": {"name": "a"}}),
        }
    }

    fn replica(restarts: i64, state: &Value, before: &Value) -> Replica {
        let status =
            json!({"name": "pytorch", "restartCount": restarts, "state": state, "lastState": before});
        Replica {
            name: "master-0".to_owned(),
            pod: Arc::new(json!({
                "metadata": {"name": "a-master-0", "uid": "1"},
                "spec": {"containers": [{"name": "pytorch"}]},
                "status": {"containerStatuses": [status]},
            })),
        }
    }

    fn running(restarts: i64) -> Replica {
        replica(restarts, &json!({"running": {}}), &Value::Null)
    }

    fn ended(restarts: i64) -> Replica {
        replica(restarts, &json!({"terminated": {"exitCode": 1}}), &Value::Null)
    }

    /// Reads, and ends as said; true if it had read the run before the present one.
    #[track_caller]
    fn read(voice: &mut Voice, replica: &Replica, end: End) -> bool {
        let later = Instant::now() + Duration::from_mins(1);
        let part = voice
            .open(&job(), replica, later)
            .expect("there is something to read");
        voice.ended(end, Position::default(), Instant::now());
        part.previous
    }

    #[test]
    fn a_run_is_heard_when_its_output_was_read_after_its_end() {
        let mut voice = Voice::of(0, Beginning::First, Instant::now());
        read(&mut voice, &running(0), End::Whole);
        assert!(
            !voice.is_silent(&job(), &running(0)),
            "a server may stop in between"
        );
        read(&mut voice, &ended(0), End::Broken);
        assert!(!voice.is_silent(&job(), &ended(0)));
        read(&mut voice, &ended(0), End::Whole);
        assert!(voice.is_silent(&job(), &ended(0)));
        assert!(voice.open(&job(), &ended(0), Instant::now()).is_none());
    }

    #[test]
    fn a_run_that_ended_unheard_is_read_before_the_next_one() {
        let mut voice = Voice::of(0, Beginning::First, Instant::now());
        assert!(!read(&mut voice, &running(0), End::Broken));
        assert!(
            read(&mut voice, &running(1), End::Whole),
            "what is left of the first"
        );
        assert!(!voice.is_silent(&job(), &running(1)));
        assert!(!read(&mut voice, &running(1), End::Broken), "the second");
        assert!(
            read(&mut voice, &running(5), End::Whole),
            "what is left of the fourth"
        );
    }

    #[test]
    fn whoever_listens_from_the_first_hears_the_run_before() {
        let mut first = Voice::of(2, Beginning::First, Instant::now());
        assert!(read(&mut first, &running(2), End::Whole));
        assert!(!read(&mut first, &running(2), End::Broken));
        let mut present = Voice::of(2, Beginning::Present { tail: None }, Instant::now());
        assert!(!read(&mut present, &running(2), End::Broken));
    }

    #[test]
    fn a_run_that_has_ended_is_heard_while_the_next_is_waited_for() {
        let end = json!({"terminated": {"exitCode": 1}});
        let waiting = |restarts| {
            replica(
                restarts,
                &json!({"waiting": {"reason": "CrashLoopBackOff"}}),
                &end,
            )
        };
        let mut voice = Voice::of(0, Beginning::First, Instant::now());
        assert!(!read(&mut voice, &ended(0), End::Whole));
        assert!(voice.is_silent(&job(), &waiting(0)));
        // The next was over before it was seen.
        assert!(!voice.is_silent(&job(), &waiting(1)));
        assert!(
            !read(&mut voice, &waiting(1), End::Whole),
            "it is not the previous one yet"
        );
        assert!(voice.is_silent(&job(), &waiting(1)));
        assert!(!read(&mut voice, &running(2), End::Broken), "the third");
        // Of the third nothing is left once the fifth is over.
        assert!(!read(&mut voice, &waiting(4), End::Whole));
        assert!(voice.is_silent(&job(), &waiting(4)));
    }

    #[test]
    fn output_that_is_not_there_is_not_waited_for_without_end() {
        let mut voice = Voice::of(0, Beginning::First, Instant::now());
        for _ in 0..=MOST_REFUSALS {
            read(&mut voice, &ended(0), End::Refused);
        }
        assert!(voice.is_silent(&job(), &ended(0)));
        let mut never = Voice::of(0, Beginning::First, Instant::now());
        read(&mut never, &ended(0), End::Never);
        assert!(never.is_silent(&job(), &ended(0)));
    }
}
