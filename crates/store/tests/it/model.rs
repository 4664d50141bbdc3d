//! The store against a model that is too simple to be wrong.

use std::collections::BTreeMap;

use proptest::prelude::*;
use store::{Event, Expect, Key, Kind, Store, Write, WriteError};

use crate::samples::{Place, body, pods, value};

#[derive(Clone, Debug)]
enum Step {
    /// A put on one of a few keys; the guess says which expectation it makes.
    Put {
        key: u8,
        guess: u8,
        value: u16,
    },
    Delete {
        key: u8,
        guess: u8,
    },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..8_u8, 0..4_u8, any::<u16>()).prop_map(|(key, guess, value)| Step::Put { key, guess, value }),
        5 => (0..8_u8, 0..4_u8).prop_map(|(key, guess)| Step::Delete { key, guess }),
        1 => Just(Step::Reopen),
    ]
}

/// Key to revision and value, and everything that happened since the store was last opened.
#[derive(Default)]
struct Model {
    revision: u64,
    opened_at: u64,
    state: BTreeMap<Key, (u64, String)>,
    history: Vec<(u64, Kind, Key, String)>,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Done(u64),
    AlreadyExists,
    NotFound,
    Conflict,
}

fn name(key: u8) -> Key {
    Key::new(["", "a", "b"][key as usize % 3], &format!("object-{}", key / 3))
}

impl Model {
    fn guessed(&self, key: &Key, guess: u8) -> u64 {
        let current = self.state.get(key).map_or(1, |(revision, _)| *revision);
        if guess == 1 {
            current.wrapping_sub(1)
        } else {
            current
        }
    }

    fn put(&mut self, key: &Key, expect: Expect, value: String) -> Outcome {
        let kind = match (self.state.get(key), expect) {
            (None, Expect::Absent) => Kind::Added,
            (Some(_), Expect::Absent) => return Outcome::AlreadyExists,
            (None, Expect::Revision(_)) => return Outcome::NotFound,
            (Some((current, _)), Expect::Revision(expected)) if *current == expected => Kind::Modified,
            _ => return Outcome::Conflict,
        };
        self.revision += 1;
        self.state.insert(key.clone(), (self.revision, value.clone()));
        self.history.push((self.revision, kind, key.clone(), value));
        Outcome::Done(self.revision)
    }

    fn delete(&mut self, key: &Key, expect: Option<u64>) -> Outcome {
        match (self.state.get(key), expect) {
            (None, _) => return Outcome::NotFound,
            (Some((current, _)), Some(expected)) if *current != expected => return Outcome::Conflict,
            _ => {}
        }
        self.revision += 1;
        let (_, value) = self.state.remove(key).unwrap();
        self.history
            .push((self.revision, Kind::Deleted, key.clone(), value));
        Outcome::Done(self.revision)
    }
}

async fn perform(store: &Store, write: Write) -> Outcome {
    match store.write(write).await {
        Ok(object) => Outcome::Done(object.revision()),
        Err(WriteError::AlreadyExists { .. }) => Outcome::AlreadyExists,
        Err(WriteError::NotFound) => Outcome::NotFound,
        Err(WriteError::Conflict { .. }) => Outcome::Conflict,
        Err(other) => panic!("{other}"),
    }
}

async fn run(steps: Vec<Step>) {
    let place = Place::in_memory();
    let mut store = place.open();
    let mut model = Model {
        revision: store.revision(),
        opened_at: store.revision(),
        ..Model::default()
    };
    for step in steps {
        match step {
            Step::Put { key, guess, value } => {
                let key = name(key);
                let expect = match guess {
                    0 => Expect::Absent,
                    _ => Expect::Revision(model.guessed(&key, guess)),
                };
                let write = Write::put(&pods(), key.clone(), expect, body(&value.to_string()));
                assert_eq!(
                    perform(&store, write).await,
                    model.put(&key, expect, value.to_string())
                );
            }
            Step::Delete { key, guess } => {
                let key = name(key);
                let expect = (guess > 0).then(|| model.guessed(&key, guess));
                let write = Write::delete(&pods(), key.clone(), expect);
                assert_eq!(perform(&store, write).await, model.delete(&key, expect));
            }
            Step::Reopen => {
                store.close().await;
                store = place.open();
                model.opened_at = model.revision;
                model.history.clear();
            }
        }
        compare_state(&store, &model);
    }
    compare_history(&store, &model).await;
}

fn compare_state(store: &Store, model: &Model) {
    assert_eq!(store.revision(), model.revision);
    for namespace in [None, Some(""), Some("a"), Some("b")] {
        let list = store.list(&pods(), namespace, None, None);
        let stored: Vec<_> = list
            .items
            .iter()
            .map(|object| (object.key().clone(), (object.revision(), value(object))))
            .collect();
        let expected = model
            .state
            .iter()
            .filter(|(key, _)| namespace.is_none_or(|ns| key.namespace() == ns));
        assert_eq!(
            stored,
            expected
                .map(|(key, state)| (key.clone(), state.clone()))
                .collect::<Vec<_>>()
        );
    }
}

/// A watch from each revision delivers the rest of the history, and a list as of it what was then.
async fn compare_history(store: &Store, model: &Model) {
    let mut past = BTreeMap::<Key, u64>::new();
    let at_open = store.list_at(model.opened_at, &pods(), None, None, None).unwrap();
    past.extend(
        at_open
            .items
            .iter()
            .map(|object| (object.key().clone(), object.revision())),
    );
    for (position, (revision, kind, key, _)) in model.history.iter().enumerate() {
        let mut watcher = store.watch(&pods(), None, revision - 1).unwrap();
        let seen: Vec<_> = watcher
            .next()
            .await
            .unwrap()
            .iter()
            .map(|event| plain(event))
            .collect();
        assert_eq!(seen, model.history[position..]);
        match kind {
            Kind::Deleted => past.remove(key),
            _ => past.insert(key.clone(), *revision),
        };
        let then = store.list_at(*revision, &pods(), None, None, None).unwrap();
        let then: Vec<_> = then
            .items
            .iter()
            .map(|object| (object.key().clone(), object.revision()))
            .collect();
        assert_eq!(then, past.clone().into_iter().collect::<Vec<_>>());
    }
}

fn plain(event: &Event) -> (u64, Kind, Key, String) {
    (
        event.revision,
        event.kind,
        event.key().clone(),
        value(&event.object),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_the_model_does(steps in proptest::collection::vec(step(), 1..60)) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run(steps));
    }
}
