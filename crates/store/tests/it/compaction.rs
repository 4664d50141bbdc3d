//! The file is kept short while it is written to, where there is room for that.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use store::{OpenError, Options, Store, WriteError};

use crate::child;
use crate::samples::{Place, body, key, pods, revision};

const SLACK: u64 = 64 << 10;

fn with_little_slack() -> Options {
    Options {
        slack: SLACK,
        ..Options::default()
    }
}

/// Writes until the file is smaller than a limit.
async fn write_until_smaller(store: &Store, place: &Place, limit: u64) {
    for number in 0..10_000 {
        let name = format!("small-{}", number % 10);
        let _ = store.delete(&pods(), key(&name), None).await;
        revision(store.create(&pods(), key(&name), body(&number.to_string())).await);
        if fs::metadata(place.path()).unwrap().len() < limit {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("the file was never compacted");
}

#[tokio::test]
async fn space_left_by_deleted_objects_is_given_back_while_others_are_written() {
    let place = Place::new();
    let store = place.open();
    let large = "x".repeat(900_000);
    for number in 0..30 {
        revision(
            store
                .create(&pods(), key(&number.to_string()), body(&large))
                .await,
        );
    }
    for number in 1..30 {
        revision(store.delete(&pods(), key(&number.to_string()), None).await);
    }
    // Twice what is current, and the slack.
    write_until_smaller(&store, &place, 10 << 20).await;
    let expected = names_and_revisions(&store);
    revision(store.create(&pods(), key("last"), body("last")).await);
    store.close().await;
    assert_eq!(place.files(), ["store.db"]);
    let store = place.open();
    revision(store.delete(&pods(), key("last"), None).await);
    assert_eq!(names_and_revisions(&store), expected);
    let error = Store::open(&place.path(), Options::default()).err().unwrap();
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
}

fn names_and_revisions(store: &Store) -> Vec<(String, u64)> {
    let list = store.list(&pods(), None, None, None);
    list.items
        .iter()
        .map(|object| (object.key().to_string(), object.revision()))
        .collect()
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

/// Replaces one object until the file has a size. Space may be short now and then.
async fn grow(store: &Store, path: &Path, until: impl Fn(u64) -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    for number in 0.. {
        let current = store.get(&pods(), "default", "changing");
        let text = body(&format!("{number}-").repeat(1000));
        let written = match current {
            Some(current) => {
                store
                    .update(&pods(), key("changing"), current.revision(), text)
                    .await
            }
            None => store.create(&pods(), key("changing"), text).await,
        };
        match written {
            Ok(_) => {}
            Err(WriteError::Disk(error)) if error.is_full() => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
        if until(size(path)) {
            return;
        }
        assert!(Instant::now() < deadline, "the file has {} bytes", size(path));
    }
}

#[tokio::test]
async fn a_file_that_could_not_be_compacted_is_tried_again_before_it_has_grown_much() {
    let place = Place::in_memory();
    let store = place.open_with(with_little_slack());
    // No draft can be written where a folder is; afterwards this is the draft.
    let obstacle = place.path().with_file_name("store.db.compacted");
    fs::create_dir(&obstacle).unwrap();
    grow(&store, &place.path(), |size| size > 30 * SLACK).await;
    fs::remove_dir(&obstacle).unwrap();
    grow(&store, &place.path(), |size| {
        assert!(size < 33 * SLACK || obstacle.exists(), "it was not tried again");
        size < 5 * SLACK
    })
    .await;
    store.close().await;
    assert_eq!(place.files(), ["store.db"]);
}

/// Runs a test on a file system of its own with 8 MB of space. Where this user may not mount one, there is
/// nothing to be seen.
fn on_a_small_disk(test: &str) {
    let place = Place::new();
    let mut command = child::on_small_disk(test, place.path().parent().unwrap());
    let status = command.status();
    if status
        .as_ref()
        .is_ok_and(|status| status.code() != Some(child::NO_DISK))
    {
        assert!(status.unwrap().success());
    }
}

#[test]
fn a_compaction_without_enough_space_leaves_nothing_behind_and_is_done_later() {
    on_a_small_disk("compaction::compacts_when_there_is_space_again");
}

#[test]
fn a_compaction_that_is_done_makes_room_for_commits() {
    on_a_small_disk("compaction::makes_room_by_compacting");
}

/// A store with a megabyte of objects on a small disk.
async fn stocked(path: &Path) -> Store {
    let store = Store::open(path, with_little_slack()).unwrap();
    for number in 0..10 {
        let large = body(&"x".repeat(100 << 10));
        revision(store.create(&pods(), key(&number.to_string()), large).await);
    }
    store
}

/// Takes the space of a disk but for so many bytes.
fn fill(path: &Path, but: u64) {
    let disk = rustix::fs::statvfs(path).unwrap();
    let free = disk.f_bavail * disk.f_frsize;
    fs::write(path.with_file_name("filler"), vec![1; (free - but) as usize]).unwrap();
}

fn block_on(task: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(task);
}

async fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !condition() {
        assert!(Instant::now() < deadline, "it took too long");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether this process has a thread of a name, of which the system keeps 15 characters.
fn is_running(thread: &str) -> bool {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let names = threads.filter_map(|entry| fs::read_to_string(entry.unwrap().path().join("comm")).ok());
    names.into_iter().any(|name| name.trim_end() == &thread[..15])
}

const WORTHWHILE: u64 = (2 << 20) + 3 * SLACK;

#[test]
fn compacts_when_there_is_space_again() {
    let Some(path) = child::path() else { return };
    block_on(async {
        let store = stocked(&path).await;
        grow(&store, &path, |size| size > 3 << 19).await;
        // Enough for the commits until then, but not for a second file.
        fill(&path, 1 << 20);
        grow(&store, &path, |size| size > WORTHWHILE).await;
        let draft = path.with_file_name("store.db.compacted");
        until(|| !draft.exists()).await;
        assert!(size(&path) > WORTHWHILE, "it cannot have been compacted");
        fs::remove_file(path.with_file_name("filler")).unwrap();
        grow(&store, &path, |size| size < 3 << 19).await;
        store.close().await;
        let store = Store::open(&path, Options::default()).unwrap();
        assert_eq!(store.list(&pods(), None, None, None).items.len(), 11);
    });
}

#[test]
fn makes_room_by_compacting() {
    let Some(path) = child::path() else { return };
    block_on(async {
        let store = stocked(&path).await;
        let draft = path.with_file_name("store.db.compacted");
        grow(&store, &path, |_| draft.exists()).await;
        until(|| size(&draft) > 1_000_000 && !is_running("store-compaction")).await;
        fill(&path, 0);
        grow(&store, &path, |size| size < 3 << 19).await;
        store.close().await;
    });
}
