//! What was said lately, so that the same is counted and not said again.

use std::collections::{HashMap, VecDeque};

use k8s_openapi::{
    api::core::v1::Event,
    jiff::{SignedDuration, Timestamp},
};

use xxhash_rust::xxh3::Xxh3;

use super::{Reporter, Told, event};

/// So many different events are remembered.
const REMEMBERED: usize = 4096;

/// After so long without being said again, the same is news.
const FRESH: SignedDuration = SignedDuration::from_mins(10);

pub(super) enum Write {
    New(Box<Event>),
    Again {
        namespace: String,
        name: String,
        count: i32,
        at: Timestamp,
    },
}

/// Stands for the object, the kind of event, the reason and the words.
type Words = u128;

struct Entry {
    name: Box<str>,
    count: i32,
    last: Timestamp,
}

#[derive(Default)]
pub(super) struct History {
    entries: HashMap<Words, Entry>,
    /// The oldest first.
    order: VecDeque<Words>,
}

impl History {
    pub(super) fn next(&mut self, told: &Told, reporter: &Reporter) -> Write {
        let about = &told.about;
        let words = words(told);
        if let Some(entry) = self.entries.get_mut(&words)
            && told.at.duration_since(entry.last) < FRESH
        {
            entry.count += 1;
            entry.last = told.at;
            return Write::Again {
                namespace: about.namespace.clone().unwrap_or_else(|| "default".to_owned()),
                name: entry.name.to_string(),
                count: entry.count,
                at: told.at,
            };
        }
        let name = about.name.as_deref().unwrap_or_default();
        let name = format!("{name}.{:x}", told.at.as_nanosecond());
        self.remember(words, &name, told.at);
        Write::New(Box::new(event(told, reporter, name)))
    }

    fn remember(&mut self, words: Words, name: &str, at: Timestamp) {
        let entry = Entry {
            name: name.into(),
            count: 1,
            last: at,
        };
        if self.entries.insert(words, entry).is_none() {
            self.order.push_back(words);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }
}

fn words(told: &Told) -> Words {
    let about = &told.about;
    let object = [&about.uid, &about.kind, &about.namespace, &about.name].map(Option::as_deref);
    let said = [told.kind, &told.reason, &told.note].map(Some);
    let mut hash = Xxh3::new();
    for part in object.into_iter().chain(said) {
        // No text holds this byte, so that none runs into the next.
        hash.update(part.unwrap_or_default().as_bytes());
        hash.update(&[0xff]);
    }
    hash.digest128()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::ObjectReference;
    use tokio::time::Instant;

    use super::*;

    fn tell(history: &mut History, note: &str, second: i64) -> (bool, i32) {
        let told = Told {
            about: Arc::new(ObjectReference {
                name: Some("p".into()),
                uid: Some("u".into()),
                ..ObjectReference::default()
            }),
            kind: "Normal",
            reason: "Created".into(),
            note: note.into(),
            at: Timestamp::from_second(second).unwrap(),
            patience: Instant::now(),
        };
        let reporter = Reporter {
            controller: "c",
            node: None,
        };
        match history.next(&told, &reporter) {
            Write::New(event) => (true, event.count.unwrap()),
            Write::Again { count, .. } => (false, count),
        }
    }

    #[test]
    fn the_same_words_are_counted_and_others_are_news() {
        let mut history = History::default();
        assert_eq!(tell(&mut history, "one", 0), (true, 1));
        assert_eq!(tell(&mut history, "two", 1), (true, 1));
        assert_eq!(tell(&mut history, "one", 2), (false, 2));
        assert_eq!(tell(&mut history, "one", 3), (false, 3));
        assert_eq!(tell(&mut history, "one", 10_000), (true, 1));
    }

    #[test]
    fn memory_is_bounded() {
        let mut history = History::default();
        for number in 0..2 * REMEMBERED {
            tell(&mut history, &number.to_string(), 0);
        }
        assert_eq!(history.entries.len(), REMEMBERED);
        assert_eq!(history.order.len(), REMEMBERED);
    }
}
