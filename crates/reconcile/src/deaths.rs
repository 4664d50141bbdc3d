//! Deaths of parts of a cluster: engines of this process that panicked, and processes that it looks after. The node
//! reports them; this module only remembers them and decides which parts die again and again.

use std::{sync::LazyLock, time::Duration};

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

/// A part that died this often within [`PERIOD`] dies again and again.
const MANY: usize = 3;
const PERIOD: SignedDuration = SignedDuration::from_mins(10);
/// The latest deaths, over all parts, that are remembered.
const REMEMBERED: usize = 64;

/// One process is one cluster, so its parts share one list.
static DEATHS: LazyLock<watch::Sender<Deaths>> = LazyLock::new(watch::Sender::default);

/// The end of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// As messages name it: `the network process`.
    pub part: &'static str,
    pub at: Timestamp,
    /// The end of its log, or the message of its panic.
    pub last_words: String,
}

/// The latest deaths, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Deaths {
    list: Vec<Death>,
    /// How many there were in all.
    count: usize,
}

/// A part that dies again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    pub part: &'static str,
    /// How often it died lately.
    pub count: usize,
    pub last_words: String,
}

/// Remembers that a part died.
pub fn report(part: &'static str, last_words: impl Into<String>) {
    let last_words = last_words.into();
    tracing::error!(
        part,
        last_words,
        "a part of the cluster died and is started again"
    );
    let death = Death {
        part,
        at: Timestamp::now(),
        last_words,
    };
    DEATHS.send_modify(|deaths| deaths.add(death));
}

/// The deaths so far, and those to come.
pub fn subscribe() -> watch::Receiver<Deaths> {
    DEATHS.subscribe()
}

/// The message of a panic.
pub fn words_of_panic(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.map_or_else(|| "it panicked".to_owned(), |text| format!("it panicked: {text}"))
}

/// How long a part that died so often in a row waits before it is started again.
pub fn pause(deaths: u32) -> Duration {
    const SHORTEST: Duration = Duration::from_millis(200);
    const LONGEST: Duration = Duration::from_secs(30);
    SHORTEST.saturating_mul(1 << deaths.min(16)).min(LONGEST)
}

impl Deaths {
    fn add(&mut self, death: Death) {
        if self.list.len() == REMEMBERED {
            self.list.remove(0);
        }
        self.list.push(death);
        self.count += 1;
    }

    /// How many there were in all.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The deaths after the first `known` ones, as far as they are remembered.
    pub fn since(&self, known: usize) -> &[Death] {
        let news = self.count.saturating_sub(known).min(self.list.len());
        &self.list[self.list.len() - news..]
    }

    /// The parts that die again and again, in the order of their first death.
    pub fn failing(&self, now: Timestamp) -> Vec<Failing> {
        let mut parts: Vec<Failing> = Vec::new();
        let lately = self
            .list
            .iter()
            .filter(|death| now.duration_since(death.at) < PERIOD);
        for death in lately {
            let known = parts.iter_mut().find(|part| part.part == death.part);
            match known {
                Some(part) => {
                    part.count += 1;
                    part.last_words.clone_from(&death.last_words);
                }
                None => parts.push(Failing {
                    part: death.part,
                    count: 1,
                    last_words: death.last_words.clone(),
                }),
            }
        }
        parts.retain(|part| part.count >= MANY);
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn deaths(list: &[(&'static str, i64, &str)]) -> Deaths {
        let mut deaths = Deaths::default();
        for (part, second, words) in list {
            deaths.add(Death {
                part,
                at: at(*second),
                last_words: (*words).to_owned(),
            });
        }
        deaths
    }

    #[test]
    fn a_part_that_died_three_times_lately_is_failing_and_its_last_words_are_kept() {
        let deaths = deaths(&[
            ("the operator", 0, "one"),
            ("the network process", 1, "two"),
            ("the operator", 2, "three"),
            ("the operator", 3, "four"),
        ]);
        let failing = Failing {
            part: "the operator",
            count: 3,
            last_words: "four".to_owned(),
        };
        assert_eq!(deaths.failing(at(4)), [failing]);
        assert_eq!(deaths.failing(at(601)), [], "that was long ago");
    }

    #[test]
    fn only_the_latest_deaths_are_remembered_and_each_is_news_once() {
        let mut all = deaths(&[("a", 0, "x")]);
        assert_eq!(all.since(0).len(), 1);
        assert_eq!(all.since(1).len(), 0);
        for second in 0..100 {
            all.add(Death {
                part: "b",
                at: at(second),
                last_words: String::new(),
            });
        }
        assert_eq!((all.count(), all.since(0).len()), (101, REMEMBERED));
        assert_eq!(all.since(100).len(), 1);
    }

    #[test]
    fn a_part_is_started_again_ever_later_up_to_a_limit() {
        assert_eq!(pause(0), Duration::from_millis(200));
        assert_eq!(pause(1), Duration::from_millis(400));
        assert_eq!(pause(60), Duration::from_secs(30));
    }
}
