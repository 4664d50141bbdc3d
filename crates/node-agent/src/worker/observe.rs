//! What a sandbox says becomes what the agent knows. Pure.

use containers::state;
use jiff::Timestamp;

use crate::lifecycle::{Ended, Record, Records, State, backoff};

/// What happened to containers since the sandbox was last heard.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    pub(super) begun: Vec<String>,
    pub(super) ended: Vec<String>,
}

/// Brings the records up to date. Starts that nobody wrote down count: their agent was killed before it
/// could, or the program was faster than the answer to who started it.
pub(super) fn absorb(records: &mut Records, seen: &state::State, id: impl Fn(&str, u32) -> String) -> News {
    let mut news = News::default();
    for (name, run) in &seen.containers {
        let record = records.entry(name.clone()).or_default();
        if run.attempt + 1 < record.attempts {
            continue;
        }
        if run.attempt >= record.attempts {
            begin(record, run.attempt, time(&run.started), id(name, run.attempt));
            news.begun.push(name.clone());
        }
        if let (Some(end), true) = (&run.end, record.is_running()) {
            record.state = State::Ended(how_it_ended(run, end, record.container_id.clone()));
            record.is_ready = false;
            record.is_started = false;
            record.doom = None;
            news.ended.push(name.clone());
        }
    }
    news
}

/// A new attempt runs.
pub(super) fn begin(record: &mut Record, attempt: u32, since: Timestamp, id: String) {
    if let State::Ended(ended) = &record.state {
        record.previous = Some(ended.clone());
        record.streak = backoff::next_streak(record);
    }
    record.attempts = attempt + 1;
    record.state = State::Running { since };
    record.container_id = id;
    record.is_started = false;
    record.is_ready = false;
    record.doom = None;
}

fn how_it_ended(run: &state::ContainerState, end: &state::End, container_id: String) -> Ended {
    let reason = match (end.out_of_memory, end.exit.code) {
        (true, _) => "OOMKilled",
        (false, 0) => "Completed",
        (false, _) => "Error",
    };
    Ended {
        started: Some(time(&run.started)),
        at: time(&end.finished),
        exit_code: end.exit.code,
        signal: end.exit.signal,
        reason: reason.to_owned(),
        message: String::new(),
        container_id,
    }
}

/// Whatever ran is gone, and nobody saw how.
pub(super) fn lose(records: &mut Records, now: Timestamp) {
    for record in records.values_mut().filter(|record| record.is_running()) {
        let started = match record.state {
            State::Running { since } | State::Stopping { since, .. } => Some(since),
            _ => None,
        };
        record.state = State::Ended(Ended {
            started,
            at: now,
            exit_code: 137,
            signal: None,
            reason: "ContainerStatusUnknown".to_owned(),
            message: "The container could not be located when the pod was terminated".to_owned(),
            container_id: record.container_id.clone(),
        });
        record.is_ready = false;
        record.is_started = false;
        record.doom = None;
    }
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use containers::state::{ContainerState, End, Exit};

    use super::*;

    fn seen(attempt: u32, exit: Option<i32>) -> state::State {
        let run = ContainerState {
            attempt,
            pid: 7,
            start_time: 1,
            started: "2026-01-01T00:00:00Z".to_owned(),
            end: exit.map(|code| End {
                finished: "2026-01-01T00:00:05Z".to_owned(),
                exit: Exit { code, signal: None },
                out_of_memory: false,
            }),
        };
        state::State {
            pid: 1,
            start_time: 1,
            control_groups: Vec::new(),
            containers: BTreeMap::from([("c".to_owned(), run)]),
        }
    }

    fn absorbed(records: &mut Records, seen: &state::State) -> News {
        absorb(records, seen, |name, attempt| format!("{name}/{attempt}"))
    }

    #[test]
    fn a_start_that_nobody_wrote_down_is_learnt_from_the_sandbox() {
        let mut records = Records::new();
        assert_eq!(absorbed(&mut records, &seen(0, None)).begun, ["c"]);
        assert_eq!(records["c"].attempts, 1);
        assert!(records["c"].is_running());
        assert_eq!(records["c"].container_id, "c/0");
    }

    #[test]
    fn an_end_that_nobody_saw_is_told_once() {
        let mut records = Records::new();
        absorbed(&mut records, &seen(0, None));
        assert_eq!(absorbed(&mut records, &seen(0, Some(3))).ended, ["c"]);
        assert_eq!(absorbed(&mut records, &seen(0, Some(3))), News::default());
        assert_eq!(records["c"].ended().unwrap().exit_code, 3);
    }

    #[test]
    fn a_program_that_was_over_at_once_has_begun_and_ended() {
        let news = absorbed(&mut Records::new(), &seen(0, Some(0)));
        assert_eq!(
            (news.begun, news.ended),
            (vec!["c".to_owned()], vec!["c".to_owned()])
        );
    }

    #[test]
    fn a_second_attempt_remembers_the_first_and_counts_it() {
        let mut records = Records::new();
        absorbed(&mut records, &seen(0, Some(3)));
        absorbed(&mut records, &seen(1, None));
        let record = &records["c"];
        assert_eq!((record.attempts, record.streak), (2, 1));
        assert_eq!(record.previous.as_ref().unwrap().exit_code, 3);
    }

    #[test]
    fn an_old_state_says_nothing_about_a_newer_attempt() {
        let mut records = Records::new();
        absorbed(&mut records, &seen(0, Some(3)));
        absorbed(&mut records, &seen(1, None));
        let before = records.clone();
        absorbed(&mut records, &seen(0, Some(3)));
        assert_eq!(records, before);
    }

    #[test]
    fn what_ran_in_a_lost_sandbox_counts_as_killed() {
        let mut records = Records::new();
        absorbed(&mut records, &seen(0, None));
        lose(&mut records, Timestamp::UNIX_EPOCH);
        let ended = records["c"].ended().unwrap();
        assert_eq!(
            (ended.exit_code, ended.reason.as_str()),
            (137, "ContainerStatusUnknown")
        );
    }
}
