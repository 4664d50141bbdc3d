//! Lists: ranges, pages, and pages of the past.

use std::time::Duration;

use store::{Key, List, LogLimits, Options, Store, TooNew, TooOld};

use crate::samples::{Place, body, pods, revision};

fn names(list: &List) -> Vec<String> {
    list.items.iter().map(|object| object.key().to_string()).collect()
}

async fn stocked(place: &Place) -> Store {
    let store = place.open();
    for (namespace, name) in [
        ("b", "1"),
        ("a", "2"),
        ("a", "1"),
        ("a-b", "1"),
        ("", "1"),
        ("a", "3"),
    ] {
        revision(store.create(&pods(), Key::new(namespace, name), body("")).await);
    }
    store
}

#[tokio::test]
async fn a_list_is_ordered_and_can_be_narrowed_to_a_namespace() {
    let place = Place::new();
    let store = stocked(&place).await;
    let all = store.list(&pods(), None, None, None);
    assert_eq!(names(&all), ["1", "a/1", "a/2", "a/3", "a-b/1", "b/1"]);
    assert_eq!((all.revision, all.remaining), (store.revision(), 0));
    assert_eq!(
        names(&store.list(&pods(), Some("a"), None, None)),
        ["a/1", "a/2", "a/3"]
    );
    assert_eq!(names(&store.list(&pods(), Some(""), None, None)), ["1"]);
    assert_eq!(names(&store.list(&pods(), Some("nowhere"), None, None)), [""; 0]);
    assert_eq!(
        store.list(&"/unknown".into(), None, None, None).revision,
        store.revision()
    );
}

#[tokio::test]
async fn pages_continue_after_a_key_whether_or_not_it_still_exists() {
    let place = Place::new();
    let store = stocked(&place).await;
    let page = store.list(&pods(), None, None, Some(2));
    assert_eq!(
        (names(&page), page.remaining),
        (vec!["1".into(), "a/1".into()], 4)
    );
    let page = store.list(&pods(), None, Some(&Key::new("a", "1")), Some(2));
    assert_eq!(
        (names(&page), page.remaining),
        (vec!["a/2".into(), "a/3".into()], 2)
    );
    let page = store.list(&pods(), None, Some(&Key::new("a", "25")), None);
    assert_eq!(names(&page), ["a/3", "a-b/1", "b/1"]);
    let page = store.list(&pods(), Some("a"), Some(&Key::new("a", "2")), Some(5));
    assert_eq!((names(&page), page.remaining), (vec!["a/3".into()], 0));
    assert_eq!(
        names(&store.list(&pods(), Some("a"), Some(&Key::new("b", "1")), None)),
        [""; 0]
    );
    assert_eq!(
        names(&store.list(&pods(), Some("a"), Some(&Key::new("", "9")), None)).len(),
        3
    );
}

#[tokio::test]
async fn later_pages_can_be_read_as_of_the_first() {
    let place = Place::new();
    let store = stocked(&place).await;
    let first = store.list(&pods(), None, None, Some(3));
    revision(store.delete(&pods(), Key::new("a", "3"), None).await);
    revision(store.create(&pods(), Key::new("a", "4"), body("")).await);
    let old = store.get(&pods(), "b", "1").unwrap();
    let newer = revision(
        store
            .update(&pods(), Key::new("b", "1"), old.revision(), body("new"))
            .await,
    );
    revision(
        store
            .update(&pods(), Key::new("b", "1"), newer, body("newer"))
            .await,
    );

    let rest = store
        .list_at(first.revision, &pods(), None, Some(first.items[2].key()), None)
        .unwrap();
    assert_eq!(names(&rest), ["a/3", "a-b/1", "b/1"]);
    assert_eq!(
        (rest.revision, rest.items[2].revision()),
        (first.revision, old.revision())
    );
    let page = store
        .list_at(first.revision, &pods(), Some("a"), None, Some(2))
        .unwrap();
    assert_eq!(
        (names(&page), page.remaining),
        (vec!["a/1".into(), "a/2".into()], 1)
    );
    assert_eq!(
        names(&store.list(&pods(), Some("a"), None, None)),
        ["a/1", "a/2", "a/4"]
    );
}

#[tokio::test]
async fn the_past_is_gone_when_the_log_has_forgotten_it() {
    let place = Place::new();
    let log = LogLimits {
        events: 2,
        ..LogLimits::default()
    };
    let store = place.open_with(Options {
        log,
        ..Options::default()
    });
    for name in ["a", "b", "c", "d"] {
        revision(store.create(&pods(), Key::new("", name), body("")).await);
    }
    assert_eq!(
        names(&store.list_at(3, &pods(), None, None, None).unwrap()),
        ["a", "b"]
    );
    let forgotten = store.list_at(2, &pods(), None, None, None);
    assert_eq!(
        forgotten.unwrap_err(),
        TooOld {
            requested: 2,
            oldest: 3
        }
    );
}

#[tokio::test]
async fn a_revision_can_be_waited_for() {
    let place = Place::new();
    let store = place.open();
    let now = store.revision();
    assert_eq!(store.wait_for(now, Duration::ZERO).await, Ok(now));
    let too_new = store.wait_for(now + 1, Duration::from_millis(10)).await;
    assert_eq!(
        too_new,
        Err(TooNew {
            requested: now + 1,
            current: now
        })
    );
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.wait_for(now + 1, Duration::from_secs(30)).await }
    });
    tokio::task::yield_now().await;
    revision(store.create(&pods(), Key::new("", "a"), body("")).await);
    assert_eq!(waiting.await.unwrap(), Ok(now + 1));
}
