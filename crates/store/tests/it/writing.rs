//! Compare-and-swap, revisions and what becomes durable.

use store::{Expect, Key, Kind, Write, WriteError};

use crate::samples::{Place, body, key, pods, revision, value};

#[tokio::test]
async fn every_write_takes_the_next_revision_and_carries_it_in_its_json() {
    let place = Place::new();
    let store = place.open();
    let start = store.revision();
    assert!(start > 0);

    let created = store.create(&pods(), key("a"), body("one")).await.unwrap();
    assert_eq!(created.revision(), start + 1);
    assert_eq!(value(&created), "one");
    let updated = store
        .update(&pods(), key("a"), created.revision(), body("two"))
        .await
        .unwrap();
    assert_eq!(updated.revision(), start + 2);
    assert_eq!(value(&store.get(&pods(), "default", "a").unwrap()), "two");
    let deleted = store
        .delete(&pods(), key("a"), Some(updated.revision()))
        .await
        .unwrap();
    assert_eq!((deleted.revision(), value(&deleted).as_str()), (start + 3, "two"));
    assert!(store.get(&pods(), "default", "a").is_none());
    assert_eq!(store.revision(), start + 3);
}

#[tokio::test]
async fn a_write_with_the_wrong_expectation_is_refused_and_costs_no_revision() {
    let place = Place::new();
    let store = place.open();
    let current = store.create(&pods(), key("a"), body("one")).await.unwrap();

    let again = store.create(&pods(), key("a"), body("two")).await;
    assert!(matches!(again, Err(WriteError::AlreadyExists { current }) if value(&current) == "one"));
    let stale = store.update(&pods(), key("a"), 1, body("two")).await;
    assert!(matches!(stale, Err(WriteError::Conflict { current }) if value(&current) == "one"));
    let stale = store.delete(&pods(), key("a"), Some(1)).await;
    assert!(matches!(stale, Err(WriteError::Conflict { .. })));
    let missing = store.update(&pods(), key("b"), 1, body("two")).await;
    assert!(matches!(missing, Err(WriteError::NotFound)));
    let missing = store.delete(&pods(), key("b"), None).await;
    assert!(matches!(missing, Err(WriteError::NotFound)));
    assert_eq!(store.revision(), current.revision());
}

#[tokio::test]
async fn writes_of_one_commit_see_each_other_and_are_answered_one_by_one() {
    let place = Place::new();
    let store = place.open();
    let first = store.revision() + 1;
    let results = store
        .write_many(vec![
            Write::create(&pods(), key("a"), body("one")),
            Write::create(&pods(), key("a"), body("again")),
            Write::put(&pods(), key("a"), Expect::Revision(first), body("two")),
            Write::delete(&pods(), key("a"), Some(first + 1)),
            Write::create(&pods(), key("a"), body("three")),
            Write::create(&pods(), Key::new("bad\0name", "x"), body("never")),
        ])
        .await;
    assert!(matches!(results[1], Err(WriteError::AlreadyExists { .. })));
    assert!(matches!(results[5], Err(WriteError::Malformed(_))));
    let revisions: Vec<_> = results.iter().flatten().map(|object| object.revision()).collect();
    assert_eq!(revisions, [first, first + 1, first + 2, first + 3]);
    assert_eq!(value(&store.get(&pods(), "default", "a").unwrap()), "three");
    assert!(store.write_many(Vec::new()).await.is_empty());
}

#[tokio::test]
async fn an_object_is_replaced_a_last_time_and_deleted_in_one_commit() {
    let place = Place::new();
    let store = place.open();
    let first = revision(store.create(&pods(), key("a"), body("one")).await);
    let mut watcher = store.watch(&pods(), None, first).unwrap();

    let stale = store.retire(&pods(), key("a"), first - 1, body("never")).await;
    assert!(matches!(stale, Err(WriteError::Conflict { .. })));
    assert_eq!(value(&store.get(&pods(), "default", "a").unwrap()), "one");

    let last = store
        .retire(&pods(), key("a"), first, body("last"))
        .await
        .unwrap();
    assert_eq!((last.revision(), value(&last).as_str()), (first + 2, "last"));
    assert!(store.get(&pods(), "default", "a").is_none());
    // A commit is shown as a whole.
    let events = watcher.next().await.unwrap();
    let seen: Vec<_> = events.iter().map(|event| (event.kind, event.revision)).collect();
    assert_eq!(seen, [(Kind::Modified, first + 1), (Kind::Deleted, first + 2)]);

    let gone = store.retire(&pods(), key("a"), first, body("never")).await;
    assert!(matches!(gone, Err(WriteError::NotFound)));
    store.close().await;
    assert!(place.open().get(&pods(), "default", "a").is_none());
}

#[tokio::test]
async fn a_body_without_a_place_for_its_revision_is_refused() {
    let place = Place::new();
    let store = place.open();
    let mut body = body("one");
    body.revision_at += 1;
    assert!(matches!(
        store.create(&pods(), key("a"), body).await,
        Err(WriteError::Malformed(_))
    ));
}

#[tokio::test]
async fn what_was_written_is_there_after_reopening_and_revisions_go_on() {
    let place = Place::new();
    let store = place.open();
    let cluster_id = store.cluster_id().to_owned();
    revision(store.create(&pods(), key("a"), body("one")).await);
    revision(
        store
            .create(&"apps/deployments".into(), key("a"), body("deployment"))
            .await,
    );
    revision(
        store
            .create(&"/nodes".into(), Key::new("", "node"), body("node"))
            .await,
    );
    revision(store.create(&pods(), key("gone"), body("gone")).await);
    let last = revision(store.delete(&pods(), key("gone"), None).await);
    store.close().await;
    assert!(matches!(
        store.create(&pods(), key("late"), body("")).await,
        Err(WriteError::Closed)
    ));

    let store = place.open();
    assert_eq!(
        (store.revision(), store.cluster_id()),
        (last, cluster_id.as_str())
    );
    assert_eq!(value(&store.get(&pods(), "default", "a").unwrap()), "one");
    assert_eq!(
        value(&store.get(&"apps/deployments".into(), "default", "a").unwrap()),
        "deployment"
    );
    assert_eq!(value(&store.get(&"/nodes".into(), "", "node").unwrap()), "node");
    assert!(store.get(&pods(), "default", "gone").is_none());
    assert_eq!(
        revision(store.create(&pods(), key("b"), body("next")).await),
        last + 1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_writers_with_the_same_expectation_exactly_one_wins() {
    let place = Place::new();
    let store = place.open();
    let mut current = revision(store.create(&pods(), key("a"), body("start")).await);
    for _ in 0..20 {
        let attempts: Vec<_> = (0..16)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move { store.update(&pods(), key("a"), current, body("x")).await })
            })
            .collect();
        let mut winners = Vec::new();
        for attempt in attempts {
            winners.extend(attempt.await.unwrap().ok());
        }
        assert_eq!(winners.len(), 1);
        current = winners[0].revision();
    }
}

#[tokio::test]
async fn dropping_a_collection_deletes_its_objects_for_good() {
    let place = Place::new();
    let store = place.open();
    for name in ["a", "b"] {
        revision(store.create(&pods(), key(name), body(name)).await);
    }
    let kept = revision(
        store
            .create(&"/nodes".into(), Key::new("", "node"), body("node"))
            .await,
    );
    assert_eq!(store.drop_collection(&pods()).await.unwrap(), kept + 2);
    assert_eq!(store.drop_collection(&"/unknown".into()).await.unwrap(), kept + 2);
    assert!(store.list(&pods(), None, None, None).items.is_empty());
    assert_eq!(store.collections(), ["/nodes".into()]);
    revision(store.create(&pods(), key("a"), body("new")).await);
    store.close().await;

    let store = place.open();
    let values: Vec<_> = store
        .list(&pods(), None, None, None)
        .items
        .iter()
        .map(|pod| value(pod))
        .collect();
    assert_eq!(values, ["new"]);
}
