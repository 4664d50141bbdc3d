//! Watches: order, resumption, scopes, bookmarks, and how they end.

use std::time::Duration;

use store::{Event, Key, Kind, LogLimits, Options, TooOld, WatchEnd, Watcher};

use crate::samples::{Place, body, key, pods, revision, value};

/// What a watcher has right now, without waiting.
async fn ready(watcher: &mut Watcher) -> Vec<String> {
    let mut seen = Vec::new();
    while let Ok(batch) = tokio::time::timeout(Duration::from_millis(20), watcher.next()).await {
        seen.extend(batch.unwrap().iter().map(|event| describe(event)));
    }
    seen
}

fn describe(event: &Event) -> String {
    let previous = event
        .previous
        .as_ref()
        .map_or_else(|| "-".to_owned(), |previous| value(previous));
    assert_eq!(event.object.revision(), event.revision);
    format!(
        "{:?} {} {previous}>{}",
        event.kind,
        event.key(),
        value(&event.object)
    )
}

#[tokio::test]
async fn a_watch_delivers_every_change_with_its_previous_state() {
    let place = Place::new();
    let store = place.open();
    let mut watcher = store.watch(&pods(), None, store.revision()).unwrap();
    let created = revision(store.create(&pods(), key("a"), body("one")).await);
    let updated = revision(store.update(&pods(), key("a"), created, body("two")).await);
    revision(
        store
            .create(&"/nodes".into(), Key::new("", "node"), body("other"))
            .await,
    );
    revision(store.delete(&pods(), key("a"), None).await);
    let changes = [
        "Added default/a ->one",
        "Modified default/a one>two",
        "Deleted default/a two>two",
    ];
    assert_eq!(ready(&mut watcher).await, changes);
    let mut resumed = store.watch(&pods(), None, updated).unwrap();
    assert_eq!(ready(&mut resumed).await, changes[2..]);
}

#[tokio::test]
async fn a_watch_can_follow_a_namespace_or_one_object() {
    let place = Place::new();
    let store = place.open();
    let start = store.revision();
    let mut namespace = store.watch(&pods(), Some("a"), start).unwrap();
    let mut object = store.watch_object(&pods(), Key::new("a", "1"), start).unwrap();
    for (space, name) in [("a", "1"), ("a", "2"), ("b", "1"), ("", "a")] {
        revision(store.create(&pods(), Key::new(space, name), body("x")).await);
    }
    assert_eq!(ready(&mut namespace).await, ["Added a/1 ->x", "Added a/2 ->x"]);
    assert_eq!(ready(&mut object).await, ["Added a/1 ->x"]);
}

#[tokio::test]
async fn one_object_can_be_read_and_followed_from_there() {
    let place = Place::new();
    let store = place.open();
    let (absent, mut watcher) = store.snapshot_and_watch_object(&pods(), &key("a"));
    assert!(absent.is_none());
    let created = revision(store.create(&pods(), key("a"), body("one")).await);
    let (present, mut later) = store.snapshot_and_watch_object(&pods(), &key("a"));
    assert_eq!(present.unwrap().revision(), created);
    revision(store.delete(&pods(), key("a"), None).await);
    assert_eq!(
        ready(&mut watcher).await,
        ["Added default/a ->one", "Deleted default/a one>one"]
    );
    assert_eq!(ready(&mut later).await, ["Deleted default/a one>one"]);
}

#[tokio::test]
async fn bookmarks_advance_with_other_collections_and_never_past_an_undelivered_event() {
    let place = Place::new();
    let store = place.open();
    let start = store.revision();
    let mut watcher = store.watch(&pods(), Some("a"), start).unwrap();
    assert_eq!(watcher.revision(), start);
    let other = revision(
        store
            .create(&"/nodes".into(), Key::new("", "node"), body(""))
            .await,
    );
    assert_eq!(watcher.revision(), other);
    let elsewhere = revision(store.create(&pods(), Key::new("b", "1"), body("")).await);
    assert_eq!(watcher.revision(), elsewhere);
    let first = revision(store.create(&pods(), Key::new("a", "1"), body("")).await);
    assert!(watcher.revision() < first);
    watcher.next().await.unwrap();
    assert_eq!(watcher.revision(), first);
}

#[tokio::test]
async fn a_watch_from_the_future_waits_for_it() {
    let place = Place::new();
    let store = place.open();
    let mut watcher = store.watch(&pods(), None, store.revision() + 2).unwrap();
    for name in ["a", "b", "c"] {
        revision(store.create(&pods(), key(name), body("x")).await);
    }
    assert_eq!(ready(&mut watcher).await, ["Added default/c ->x"]);
}

#[tokio::test]
async fn a_snapshot_and_its_watch_miss_nothing_and_repeat_nothing() {
    let place = Place::new();
    let store = place.open();
    let writing = tokio::spawn({
        let store = store.clone();
        async move {
            for number in 0..200 {
                revision(store.create(&pods(), key(&number.to_string()), body("x")).await);
            }
        }
    });
    while !writing.is_finished() {
        let (list, mut watcher) = store.snapshot_and_watch(&pods(), None);
        if list.items.len() < 200 {
            let event = &watcher.next().await.unwrap()[0];
            assert_eq!(event.revision, list.revision + 1);
            assert!(list.items.iter().all(|object| object.revision() <= list.revision));
        }
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
}

#[tokio::test]
async fn after_a_restart_watches_resume_from_the_last_revision_and_no_earlier() {
    let place = Place::new();
    let store = place.open();
    let last = revision(store.create(&pods(), key("a"), body("one")).await);
    store.close().await;
    let store = place.open();
    let too_old = store.watch(&pods(), None, last - 1).err().unwrap();
    assert_eq!(
        too_old.to_string(),
        format!("too old resource version: {} ({last})", last - 1)
    );
    assert!(store.watch(&"/unknown".into(), None, last - 1).is_err());
    let mut watcher = store.watch(&pods(), None, last).unwrap();
    revision(store.create(&pods(), key("b"), body("two")).await);
    assert_eq!(ready(&mut watcher).await, ["Added default/b ->two"]);
}

fn short_log(events: usize) -> Options {
    Options {
        log: LogLimits {
            events,
            ..LogLimits::default()
        },
        ..Options::default()
    }
}

#[tokio::test]
async fn a_watcher_that_falls_behind_expires_but_one_that_missed_nothing_does_not() {
    let place = Place::new();
    let store = place.open_with(short_log(4));
    let start = store.revision();
    let mut behind = store.watch(&pods(), None, start).unwrap();
    let mut quiet = store.watch(&pods(), Some("quiet"), start).unwrap();
    for number in 0..20 {
        revision(store.create(&pods(), key(&number.to_string()), body("x")).await);
    }
    let expired = TooOld {
        requested: start,
        oldest: start + 16,
    };
    assert_eq!(behind.next().await.unwrap_err(), WatchEnd::Expired(expired));
    revision(store.create(&pods(), Key::new("quiet", "a"), body("x")).await);
    assert_eq!(ready(&mut quiet).await, ["Added quiet/a ->x"]);
    assert_eq!(store.watch(&pods(), None, start).err().unwrap().requested, start);
}

#[tokio::test]
async fn quiet_collections_keep_their_history_while_others_are_busy() {
    let place = Place::new();
    let store = place.open_with(short_log(4));
    let start = store.revision();
    revision(
        store
            .create(&"/nodes".into(), Key::new("", "node"), body("x"))
            .await,
    );
    for number in 0..20 {
        revision(store.create(&pods(), key(&number.to_string()), body("x")).await);
    }
    let mut watcher = store.watch(&"/nodes".into(), None, start).unwrap();
    assert_eq!(ready(&mut watcher).await, ["Added node ->x"]);
}

#[tokio::test]
async fn all_logs_together_stay_within_their_limit_by_forgetting_the_oldest() {
    let place = Place::new();
    let log = LogLimits {
        total_bytes: 40_000,
        ..LogLimits::default()
    };
    let store = place.open_with(Options {
        log,
        ..Options::default()
    });
    let start = store.revision();
    revision(
        store
            .create(&"/nodes".into(), Key::new("", "node"), body("x"))
            .await,
    );
    for number in 0..200 {
        revision(
            store
                .create(&pods(), key(&number.to_string()), body(&"x".repeat(200)))
                .await,
        );
    }
    assert!(store.watch(&"/nodes".into(), None, start).is_err());
    assert!(store.watch(&pods(), None, start + 2).is_err());
    assert!(store.watch(&pods(), None, store.revision() - 5).is_ok());
}

#[tokio::test]
async fn events_that_are_too_old_go_with_the_next_write() {
    let place = Place::new();
    let log = LogLimits {
        age: Duration::from_millis(30),
        ..LogLimits::default()
    };
    let store = place.open_with(Options {
        log,
        ..Options::default()
    });
    let start = store.revision();
    revision(store.create(&pods(), key("a"), body("x")).await);
    assert!(store.watch(&pods(), None, start).is_ok());
    tokio::time::sleep(Duration::from_millis(60)).await;
    revision(store.create(&pods(), key("b"), body("x")).await);
    assert!(store.watch(&pods(), None, start).is_err());
    assert!(store.watch(&pods(), None, start + 1).is_ok());
}

#[tokio::test]
async fn watches_end_when_their_collection_is_dropped_or_the_store_closed() {
    let place = Place::new();
    let store = place.open();
    let start = store.revision();
    let mut dropped = store.watch(&pods(), None, start).unwrap();
    let mut closed = store.watch(&"/nodes".into(), None, start).unwrap();
    revision(store.create(&pods(), key("a"), body("x")).await);
    let gone = store.drop_collection(&pods()).await.unwrap();
    let kinds: Vec<_> = dropped
        .next()
        .await
        .unwrap()
        .iter()
        .map(|event| event.kind)
        .collect();
    assert_eq!(kinds, [Kind::Added, Kind::Deleted]);
    assert_eq!(dropped.next().await.unwrap_err(), WatchEnd::Ended);
    assert!(store.watch(&pods(), None, gone - 1).is_err());
    assert!(store.watch(&pods(), None, gone).is_ok());

    let waiting = tokio::spawn(async move { closed.next().await.unwrap_err() });
    tokio::task::yield_now().await;
    store.close().await;
    assert_eq!(waiting.await.unwrap(), WatchEnd::Ended);
}

#[tokio::test]
async fn large_events_are_handed_out_a_few_at_a_time() {
    let place = Place::new();
    let store = place.open();
    let before = store.revision();
    for number in 0..10 {
        let large = number.to_string().repeat(50_000);
        revision(
            store
                .create(&pods(), key(&number.to_string()), body(&large))
                .await,
        );
    }
    let mut watcher = store.watch(&pods(), None, before).unwrap();
    let mut batches = Vec::new();
    while batches.iter().sum::<usize>() < 10 {
        batches.push(watcher.next().await.unwrap().len());
    }
    assert_eq!(batches, [3, 3, 3, 1]);
}
